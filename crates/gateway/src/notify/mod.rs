//! Tells others what happens: events are posted to URLs, as lists in JSON.
//!
//! Each URL has its own task, which takes from the feed what it is to tell, gathers for a moment, posts, and
//! tries again until it is taken. Nobody who publishes waits for it: what it cannot keep up with is lost,
//! and counted.

mod post;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_config::Notify;
use evenkeel_core::Rng;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::event::{Event, Missed, Subscription};
use crate::lifecycle::Shared;
#[cfg(feature = "otlp")]
pub(crate) use post::place;
use post::post;

/// How often the configuration is looked at.
const POLL: Duration = Duration::from_millis(500);

/// How long events are gathered after the first one.
const GATHER: Duration = Duration::from_millis(200);

/// How many go at once.
const BATCH: usize = 100;

/// How many wait at most; the oldest are lost then.
const WAITING_MAX: usize = 1000;

/// How long a post may take.
const POST_MAX: Duration = Duration::from_secs(5);

/// Between two tries, doubling from the first to the last of these.
const BACKOFF_MIN: Duration = Duration::from_millis(500);
const BACKOFF_MAX: Duration = Duration::from_secs(60);

/// Tells whoever the configuration names, on and on.
pub(crate) async fn notify(shared: Arc<Shared>) {
    let mut told: Vec<Notify> = Vec::new();
    let mut posters = JoinSet::new();
    loop {
        let wanted = &shared.plan.load().config.notify;
        if told != *wanted {
            // Those that were there go, with what they had not posted yet, and all begin anew.
            posters = JoinSet::new();
            for (place, notify) in wanted.iter().enumerate() {
                let feed = shared.site.events().subscribe();
                posters.spawn(Poster::new(notify.clone(), feed, shared.seed ^ place as u64).run());
            }
            told.clone_from(wanted);
        }
        sleep(POLL).await;
        // One that ended met a mistake of ours: this task does too, and is begun again.
        assert!(
            posters.try_join_next().is_none(),
            "posters go on for as long as they are wanted"
        );
    }
}

/// Posts to one URL.
struct Poster {
    notify: Notify,
    feed: Subscription,
    waiting: VecDeque<Arc<Event>>,
    lost: u64,
    rng: Rng,
}

impl Poster {
    fn new(notify: Notify, feed: Subscription, seed: u64) -> Self {
        Self {
            notify,
            feed,
            waiting: VecDeque::new(),
            lost: 0,
            rng: Rng::new(seed),
        }
    }

    async fn run(mut self) {
        let mut backoff = BACKOFF_MIN;
        loop {
            while self.waiting.is_empty() {
                self.take().await;
            }
            self.take_for(GATHER).await;
            let batch: Vec<Arc<Event>> = self.waiting.iter().take(BATCH).cloned().collect();
            let posted = timeout(POST_MAX, post(&self.notify.url, &batch, self.lost)).await;
            match posted.unwrap_or_else(|_| Err("it took longer than 5 s".to_owned())) {
                Ok(()) => {
                    self.waiting.drain(..batch.len());
                    (self.lost, backoff) = (0, BACKOFF_MIN);
                }
                Err(why) => {
                    let (authority, waiting) = (&*self.notify.url.authority, self.waiting.len());
                    tracing::warn!(
                        "events were not taken by {authority}: {why}; {waiting} wait, again in {backoff:?}"
                    );
                    let wait = self.jittered(backoff);
                    self.take_for(wait).await;
                    backoff = (backoff * 2).min(BACKOFF_MAX);
                }
            }
        }
    }

    /// Up to a quarter more, so that gateways do not come all at once.
    fn jittered(&mut self, span: Duration) -> Duration {
        let quarter = span.as_millis() as u64 / 4;
        span + Duration::from_millis(self.rng.next_u64() % (quarter + 1))
    }

    /// Takes in what happens for so long.
    async fn take_for(&mut self, span: Duration) {
        // That the time is over is how it ends.
        let _ = timeout(span, async {
            loop {
                self.take().await;
            }
        })
        .await;
    }

    /// Takes in the next event, if it is one to tell of.
    async fn take(&mut self) {
        match self.feed.next().await {
            Ok(Some(event)) => {
                if !self.notify.events.contains(&event.event.as_str()) {
                    return;
                }
                if self.waiting.len() == WAITING_MAX {
                    self.waiting.pop_front();
                    self.lost += 1;
                }
                self.waiting.push_back(event);
            }
            Err(Missed(count)) => self.lost += count,
            // The gateway ends, and this with it.
            Ok(None) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::event::EventKind;

    #[test]
    fn the_words_of_the_configuration_are_those_of_events() {
        let words = EventKind::ALL.map(EventKind::as_str);
        assert_eq!(words.as_slice(), evenkeel_config::EVENTS);
    }
}
