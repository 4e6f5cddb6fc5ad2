//! What may be tried again, by where it failed and what was asked.
//!
//! A request that an endpoint may have acted upon is repeated only when repeating it does no more
//! than sending it once. The whole rule is [`RetryRules::allow`].

use std::ops::RangeInclusive;

use crate::clock::Nanos;

/// Where an attempt failed, in the order in which an exchange goes on.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{FailurePoint, Repeatable, RetryRules};
///
/// let rules = RetryRules::default();
/// let post = Repeatable { idempotent: false, unsent: false, whole: true };
/// assert!(rules.allow(FailurePoint::Connect, post));
/// assert!(!rules.allow(FailurePoint::Silent, post), "it may have been acted upon");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePoint {
    /// There was no connection, so nothing was sent.
    Connect,
    /// The connection ended or broke before a byte of the answer.
    Silent,
    /// No answer within the time for one try.
    Late,
    /// The answer has a status that stands for another try; nothing of it was passed on.
    Status,
    /// A part of the answer came, and nothing of it was passed on.
    Broken,
    /// The client has a part of the answer.
    Begun,
}

/// What was asked and how much of it has left, as far as repeating it is concerned.
///
/// # Examples
///
/// ```
/// use evenkeel_core::Repeatable;
///
/// let get = Repeatable { idempotent: true, unsent: false, whole: true };
/// assert!(get.may_be_replaced());
/// assert!(!Repeatable { whole: false, ..get }.may_be_replaced());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeatable {
    /// Sending it twice does no more than sending it once.
    pub idempotent: bool,
    /// No byte of it was sent.
    pub unsent: bool,
    /// All that was sent is still here.
    pub whole: bool,
}

impl Repeatable {
    /// Whether a request that a kept-alive connection took to its death may be sent once more to the same
    /// endpoint: nothing was sent, or sending it twice does no harm; and all of it is still here.
    #[must_use]
    pub fn may_be_replaced(self) -> bool {
        (self.unsent || self.idempotent) && self.whole
    }
}

/// What is tried again, and how often.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{FailurePoint, Repeatable, RetryRules};
///
/// let rules = RetryRules::default();
/// let post = Repeatable { idempotent: false, unsent: false, whole: true };
/// assert!(rules.allow(FailurePoint::Connect, post));
/// assert!(!rules.allow(FailurePoint::Silent, post), "it may have been acted upon");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryRules {
    /// Tries in all, each on another endpoint; 1 is no retries.
    pub attempts: u8,
    /// After a connection that could not be made, for every method.
    pub connect: bool,
    /// After one that ended before a byte of the answer, for idempotent methods.
    pub reset: bool,
    /// After the time for one try, for idempotent methods.
    pub timeout: bool,
    /// After these statuses, both ends included, for idempotent methods.
    pub statuses: Vec<RangeInclusive<u16>>,
    /// The most bytes of a body that are kept to be sent again.
    pub body: u64,
    /// From the request's last byte to the answer's head, for one try.
    pub per_try_timeout: Option<Nanos>,
    /// How long nothing may come of an answer before another endpoint is asked too, for idempotent
    /// methods.
    pub hedge_after: Option<Nanos>,
}

impl RetryRules {
    /// Whether an answer of this status stands for another try.
    #[inline]
    #[must_use]
    pub fn lists(&self, status: u16) -> bool {
        self.statuses
            .iter()
            .any(|statuses| statuses.contains(&status))
    }

    /// Whether an answer of this status is a failure of its endpoint.
    #[inline]
    #[must_use]
    pub fn is_failure(&self, status: u16) -> bool {
        status >= 500 || self.lists(status)
    }

    /// Whether another endpoint may be sent the same request, after a try that failed at this point.
    ///
    /// # Examples
    ///
    /// ```
    /// use evenkeel_core::{FailurePoint, Repeatable, RetryRules};
    ///
    /// let rules = RetryRules::default();
    /// let post = Repeatable { idempotent: false, unsent: false, whole: true };
    /// assert!(!rules.allow(FailurePoint::Silent, post), "it may have been acted upon");
    /// assert!(rules.allow(FailurePoint::Connect, post), "it never left");
    /// ```
    #[must_use]
    pub fn allow(&self, point: FailurePoint, what: Repeatable) -> bool {
        let harmless = match point {
            FailurePoint::Connect => self.connect,
            FailurePoint::Silent if what.unsent => self.connect || self.reset,
            FailurePoint::Silent => self.reset && what.idempotent,
            FailurePoint::Late => self.timeout && what.idempotent,
            FailurePoint::Status => what.idempotent,
            FailurePoint::Broken | FailurePoint::Begun => false,
        };
        harmless && what.whole
    }
}

impl Default for RetryRules {
    /// Two tries in all, after `connect`, `reset` and 503, of bodies up to 64 KiB.
    fn default() -> Self {
        Self {
            attempts: 2,
            connect: true,
            reset: true,
            timeout: false,
            statuses: vec![503..=503],
            body: 64 << 10,
            per_try_timeout: None,
            hedge_after: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_has_begun_to_read_is_not_repeated() {
        let what = Repeatable {
            idempotent: true,
            unsent: false,
            whole: true,
        };
        assert!(!RetryRules::default().allow(FailurePoint::Begun, what));
    }

    #[test]
    fn what_was_not_sent_was_not_processed() {
        let unsent = Repeatable {
            idempotent: false,
            unsent: true,
            whole: true,
        };
        assert!(RetryRules::default().allow(FailurePoint::Silent, unsent));
        let none = RetryRules {
            connect: false,
            reset: false,
            ..RetryRules::default()
        };
        assert!(!none.allow(FailurePoint::Silent, unsent));
        assert!(!none.allow(FailurePoint::Connect, unsent));
    }

    /// Rows are points, columns requests: idempotent, not so but unsent, neither; and one whose body is gone.
    #[test]
    fn what_does_harm_twice_is_repeated_only_where_it_never_arrived() {
        use FailurePoint::{Begun, Broken, Connect, Late, Silent, Status};
        let of = |idempotent, unsent, whole| Repeatable {
            idempotent,
            unsent,
            whole,
        };
        let requests = [
            of(true, false, true),
            of(false, true, true),
            of(false, false, true),
            of(true, true, false),
        ];
        let rules = RetryRules {
            timeout: true,
            ..RetryRules::default()
        };
        for (point, expected) in [
            (Connect, [true, true, true, false]),
            (Silent, [true, true, false, false]),
            (Late, [true, false, false, false]),
            (Status, [true, false, false, false]),
            (Broken, [false; 4]),
            (Begun, [false; 4]),
        ] {
            let allowed = requests.map(|what| rules.allow(point, what));
            assert_eq!(allowed, expected, "{point:?}");
        }
        let by_default = RetryRules::default();
        assert!(!by_default.allow(Late, requests[0]), "not after a timeout");
        let no_reset = RetryRules {
            reset: false,
            ..by_default
        };
        assert!(!no_reset.allow(Silent, requests[0]));
        assert!(
            no_reset.allow(Silent, requests[1]),
            "as if it had not connected"
        );
        let replaced = requests.map(Repeatable::may_be_replaced);
        assert_eq!(replaced, [true, true, false, false]);
    }

    #[test]
    fn from_500_on_it_is_a_failure_and_what_is_listed_too() {
        let rules = RetryRules {
            statuses: vec![429..=429, 502..=504],
            ..RetryRules::default()
        };
        let listed = [428, 429, 430, 501, 502, 504, 505].map(|status| rules.lists(status));
        assert_eq!(listed, [false, true, false, false, true, true, false]);
        let failures = [200, 428, 429, 499, 500, 503, 599].map(|status| rules.is_failure(status));
        assert_eq!(failures, [false, false, true, false, true, true, true]);
    }
}
