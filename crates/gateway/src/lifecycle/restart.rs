//! Tasks that must go on: one that meets a mistake of ours is begun again, and counted.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long to wait before a task is begun again, so that one that cannot run does not spin.
const PAUSE: Duration = Duration::from_secs(1);

/// Counts how often each task of the control side was begun again.
#[derive(Debug, Default)]
pub(crate) struct Restarts([AtomicU64; Task::ALL.len()]);

/// A task of the control side that goes on for as long as the gateway does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Task {
    /// Resolves names of endpoints.
    Resolver,
    /// Follows how long endpoints take to answer.
    Latencies,
    /// Has weights follow the load of endpoints.
    Weights,
    /// Looks for certificates that have been replaced.
    Certificates,
    /// Watches over endpoints: checks, ejections, warm-up.
    Health,
    /// Tells others what happens.
    Notices,
    /// Asks sources for endpoints.
    Discovery,
    /// Shares what operators change with other gateways.
    Fleet,
    /// Sends spans to a collector.
    Spans,
}

impl Task {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Resolver,
        Self::Latencies,
        Self::Weights,
        Self::Certificates,
        Self::Health,
        Self::Notices,
        Self::Discovery,
        Self::Fleet,
        Self::Spans,
    ];

    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resolver => "resolver",
            Self::Latencies => "latencies",
            Self::Weights => "weights",
            Self::Certificates => "certificates",
            Self::Health => "health",
            Self::Notices => "notices",
            Self::Discovery => "discovery",
            Self::Fleet => "fleet",
            Self::Spans => "spans",
        }
    }
}

impl Restarts {
    /// How often each task was begun again.
    pub(crate) fn figures(&self) -> Vec<&AtomicU64> {
        self.0.iter().collect()
    }

    /// How often a task was begun again.
    pub(crate) fn count(&self, task: Task) -> u64 {
        self.0[task as usize].load(Ordering::Relaxed)
    }

    /// Runs a task for ever: when it panics, it is begun again after a second.
    pub(crate) async fn keep<F: Future<Output = ()> + Send + 'static>(
        &self,
        task: Task,
        begin: impl Fn() -> F,
    ) {
        self.keep_pausing(task, PAUSE, begin).await;
    }

    async fn keep_pausing<F: Future<Output = ()> + Send + 'static>(
        &self,
        task: Task,
        pause: Duration,
        begin: impl Fn() -> F,
    ) {
        loop {
            // A panic of a spawned task ends that task alone, and is told by the hook of the process.
            let running = Running(tokio::spawn(begin()));
            running.ended().await;
            self.0[task as usize].fetch_add(1, Ordering::Relaxed);
            tracing::error!(
                task = task.as_str(),
                "a task of the gateway ended, and begins again"
            );
            tokio::time::sleep(pause).await;
        }
    }
}

/// A task that ends with whoever waits for it.
struct Running(tokio::task::JoinHandle<()>);

impl Running {
    async fn ended(mut self) {
        // How it ended makes no difference.
        let _ = (&mut self.0).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_is_begun_again_and_counted() {
        let restarts = Restarts::default();
        let begun = Arc::<AtomicU64>::default();
        let begin = || {
            let begun = Arc::clone(&begun);
            async move {
                if begun.fetch_add(1, Ordering::Relaxed) < 2 {
                    panic!("a mistake of ours");
                }
                std::future::pending().await
            }
        };
        let kept = restarts.keep_pausing(Task::Resolver, Duration::from_millis(1), begin);
        let third = async {
            while begun.load(Ordering::Relaxed) < 3 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            () = kept => panic!("it goes on for ever"),
            () = third => {}
        }
        assert_eq!(restarts.count(Task::Resolver), 2);
        assert_eq!(restarts.count(Task::Latencies), 0);
    }
}
