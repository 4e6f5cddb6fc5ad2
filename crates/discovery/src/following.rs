//! A source that is asked on and on: for what changes, for the whole list every so often, and again when it was lost.

use std::future::pending;
use std::time::Duration;

use evenkeel_core::Nanos;
use tokio::time::{sleep, timeout};

use crate::backoff::Backoff;
use crate::listing::{Listing, SourceError};
use crate::source::Source;

/// A source that is asked on and on.
#[derive(Debug)]
pub struct Following {
    source: Source,
    refresh: Nanos,
    next_read: Nanos,
    backoff: Backoff,
    is_lost: bool,
    /// The list is known from it, and every change since.
    is_known: bool,
}

/// What a source says.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard {
    /// The whole list.
    pub listing: Listing,
    /// It was read to see whether its changes have led to the same: another one than the last is a disagreement.
    pub is_check: bool,
}

impl Following {
    /// Reads the whole list first, and then every `refresh`. `seed`: so that gateways do not come in step.
    #[must_use]
    pub fn new(source: Source, refresh: Nanos, seed: u64) -> Self {
        Self {
            source,
            refresh,
            next_read: Nanos(0),
            backoff: Backoff::new(seed),
            is_lost: false,
            is_known: false,
        }
    }

    /// Waits for the next list. `clock` says what time it is.
    ///
    /// # Errors
    ///
    /// When there is none at the moment. The next call waits a while before it asks again.
    pub async fn next(&mut self, clock: impl Fn() -> Nanos) -> Result<Heard, SourceError> {
        if self.is_lost {
            sleep(self.backoff.wait()).await;
            self.next_read = clock();
        }
        let until = self.next_read.since(clock());
        let (said, is_whole) = match timeout(duration(until), self.change(until)).await {
            Ok(changed) => (changed, false),
            Err(_) => {
                self.next_read = clock() + self.refresh;
                (self.source.read().await, true)
            }
        };
        self.is_lost = said.is_err();
        let was_known = std::mem::replace(&mut self.is_known, said.is_ok());
        match said {
            Ok(listing) => {
                self.backoff.answered(clock());
                let is_check = is_whole && was_known && self.source.tells_of_changes();
                Ok(Heard { listing, is_check })
            }
            Err(error) => {
                self.backoff.lost(clock());
                Err(error)
            }
        }
    }

    /// What changes until the whole list is read again; nothing when that is due.
    async fn change(&mut self, until: Nanos) -> Result<Listing, SourceError> {
        match until {
            Nanos(0) => pending().await,
            _ => self.source.change().await,
        }
    }

    /// The last list is held: the whole one is read again when a second one would be believed.
    pub fn was_held(&mut self, now: Nanos) {
        self.next_read = now + self.refresh;
    }
}

fn duration(span: Nanos) -> Duration {
    Duration::from_nanos(span.0)
}
