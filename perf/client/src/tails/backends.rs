//! Six endpoints, and what is wrong with one of them or with each in turn.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tower::{BoxError, Service};

/// How many there are.
pub(super) const COUNT: usize = 6;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// One is 60 times slower than the others.
    Gray,
    /// One fails at once.
    FastFailing,
    /// Each refuses for a second, one after the other.
    Rolling,
    /// One joins after a third of the run, and takes long as long as it is cold.
    Cold,
}

impl Trouble {
    pub(super) const ALL: [Self; 4] = [Self::Gray, Self::FastFailing, Self::Rolling, Self::Cold];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gray => "gray failure",
            Self::FastFailing => "fast failing",
            Self::Rolling => "rolling restart",
            Self::Cold => "cold start",
        }
    }
}

/// How long an endpoint takes in good order, and how many calls it works on at once.
const TAKES: Duration = Duration::from_millis(10);
const WORKERS: usize = 8;

/// A cold endpoint has one worker, takes this long at first, and is warm after so many calls.
const COLD_TAKES: Duration = Duration::from_millis(200);
const COLD_CALLS: u64 = 60;

/// How long an endpoint is away when it is begun anew.
const AWAY: Duration = Duration::from_secs(1);

/// All endpoints of a run.
#[derive(Debug)]
pub(super) struct Backends {
    trouble: Trouble,
    lasts: Duration,
    begun: Mutex<Instant>,
    workers: Vec<Semaphore>,
    cold: Semaphore,
    calls: Vec<AtomicU64>,
}

impl Backends {
    pub(super) fn new(trouble: Trouble, lasts: Duration) -> Arc<Self> {
        Arc::new(Self {
            trouble,
            lasts,
            begun: Mutex::new(Instant::now()),
            workers: (0..COUNT).map(|_| Semaphore::new(WORKERS)).collect(),
            cold: Semaphore::new(1),
            calls: (0..COUNT).map(|_| AtomicU64::new(0)).collect(),
        })
    }

    pub(super) fn begin(&self) {
        *self.begun.lock().expect("whole") = Instant::now();
    }

    fn elapsed(&self) -> Duration {
        self.begun.lock().expect("whole").elapsed()
    }

    /// When the last endpoint joins, if it does not from the start.
    pub(super) fn joins_after(&self) -> Option<Duration> {
        (self.trouble == Trouble::Cold).then_some(self.lasts / 3)
    }

    /// Calls of the endpoint that something is wrong with: the last one.
    pub(super) fn at_sick(&self) -> u64 {
        self.calls[COUNT - 1].load(Ordering::Relaxed)
    }

    fn is_away(&self, number: usize) -> bool {
        if self.trouble != Trouble::Rolling {
            return false;
        }
        // One after the other, with as much time between.
        let from = AWAY * (2 * number as u32);
        let elapsed = self.elapsed();
        elapsed >= from && elapsed < from + AWAY
    }

    async fn work(self: Arc<Self>, number: usize) -> Result<(), BoxError> {
        let count = self.calls[number].fetch_add(1, Ordering::Relaxed);
        let is_sick = number == COUNT - 1;
        match self.trouble {
            Trouble::FastFailing if is_sick => {
                tokio::time::sleep(Duration::from_millis(1)).await;
                return Err("failed".into());
            }
            Trouble::Cold if is_sick && count < COLD_CALLS => {
                let _one = self.cold.acquire().await?;
                tokio::time::sleep(COLD_TAKES * (COLD_CALLS - count) as u32 / COLD_CALLS as u32)
                    .await;
            }
            trouble => {
                let _one = self.workers[number].acquire().await?;
                let slower = if is_sick && trouble == Trouble::Gray {
                    60
                } else {
                    1
                };
                tokio::time::sleep(TAKES * slower).await;
            }
        }
        Ok(())
    }
}

/// The service of one endpoint.
#[derive(Clone, Debug)]
pub(super) struct One {
    pub(super) all: Arc<Backends>,
    pub(super) number: usize,
}

impl Service<()> for One {
    type Response = ();
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // An address that refuses: nothing was sent.
        match self.all.is_away(self.number) {
            true => Poll::Ready(Err("refused".into())),
            false => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, (): ()) -> Self::Future {
        Box::pin(Arc::clone(&self.all).work(self.number))
    }
}
