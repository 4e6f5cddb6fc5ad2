//! What is tried again.

use std::ops::RangeInclusive;
use std::time::Duration;

use evenkeel_core::{Nanos, RetryPolicy, RetryRules};

/// What is tried again, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Tries in all, each on another endpoint, 1 to 8; 1: no retries.
    pub attempts: u8,
    /// After what.
    pub on: RetryOn,
    /// The most bytes of a request's body that are kept to be sent again.
    pub body: u64,
    /// How many retries there may be.
    pub budget: RetryPolicy,
    /// How long one try may wait for the head of its answer; none: as long as all of them.
    pub per_try_timeout: Option<Duration>,
    /// After how long without a byte of an answer another endpoint is asked too; none: never.
    pub hedge_after: Option<Duration>,
}

impl Retry {
    /// The same as the rules by which a request is tried again.
    #[must_use]
    pub fn rules(&self) -> RetryRules {
        RetryRules {
            attempts: self.attempts,
            connect: self.on.connect,
            reset: self.on.reset,
            timeout: self.on.timeout,
            statuses: self.on.statuses.clone(),
            body: self.body,
            per_try_timeout: self.per_try_timeout.map(Nanos::from),
            hedge_after: self.hedge_after.map(Nanos::from),
        }
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 2,
            on: RetryOn::default(),
            body: 64 << 10,
            budget: RetryPolicy::default(),
            per_try_timeout: None,
            hedge_after: None,
        }
    }
}

/// After what a request is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryOn {
    /// The connection was not made: surely not processed, so whatever the method.
    pub connect: bool,
    /// The connection ended before a byte of the answer.
    pub reset: bool,
    /// The answer did not come within the time for one try.
    pub timeout: bool,
    /// The answer has one of these statuses.
    pub statuses: Vec<RangeInclusive<u16>>,
}

impl RetryOn {
    /// After nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            connect: false,
            reset: false,
            timeout: false,
            statuses: Vec::new(),
        }
    }
}

impl Default for RetryOn {
    /// After no connection, no answer, and 503.
    fn default() -> Self {
        Self {
            connect: true,
            reset: true,
            statuses: vec![503..=503],
            ..Self::nothing()
        }
    }
}
