//! What may be tried again, by where it failed and what was asked.
//!
//! A request that an endpoint may have acted upon is repeated only when repeating it does no more
//! than sending it once. The whole rule is [`may_repeat`]; the guide prints it as a table, and a
//! test drives a request through each of its cells.

use evenkeel_core::{Attempts, Nanos};

use super::request::Request;
use crate::cluster::RetryRules;
use crate::worker::{ClusterWorker, WorkerView};

/// Where an attempt failed, in the order in which an exchange goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repeatable {
    /// Sending it twice does no more than sending it once.
    pub(super) idempotent: bool,
    /// No byte of it was sent.
    pub(super) unsent: bool,
    /// All that was sent is still here.
    pub(super) whole: bool,
}

/// Whether another endpoint may be sent the same request.
pub(super) fn may_repeat(point: Point, what: Repeatable, rules: &RetryRules) -> bool {
    let harmless = match point {
        Point::Connect => rules.connect,
        Point::Silent if what.unsent => rules.connect || rules.reset,
        Point::Silent => rules.reset && what.idempotent,
        Point::Late => rules.timeout && what.idempotent,
        Point::Status => what.idempotent,
        Point::Broken | Point::Begun => false,
    };
    harmless && what.whole
}

/// Grants further tries of one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again<'c> {
    pub(super) cluster: &'c ClusterWorker,
    pub(super) view: &'c WorkerView,
    /// Where the request has been, this try included.
    pub(super) attempts: &'c Attempts,
}

impl Again<'_> {
    /// Whether the request goes to another endpoint; what is granted is paid for.
    pub(super) fn granted(&self, point: Point, request: &Request, now: Nanos) -> bool {
        let rules = &self.view.view.policies.retry;
        let tried = self.attempts.count();
        tried < rules.attempts
            && usize::from(tried) < self.view.eligible
            && may_repeat(point, request.repeatable(), rules)
            && self.cluster.spend_retry(now)
    }

    /// Keeps what is sent if it may have to be sent again.
    pub(super) fn prepare(&self, request: &mut Request) {
        let rules = &self.view.view.policies.retry;
        if rules.attempts > 1 && request.method.is_idempotent() {
            request.upload.keep(rules.body);
        }
    }

    /// Whether a failure leads to another try. One of a status was granted when it was given up.
    pub(super) fn goes_on(&self, point: Point, request: &Request, now: Nanos) -> bool {
        point == Point::Status || self.granted(point, request, now)
    }

    /// Counts how this try ended, if it was not the first.
    pub(super) fn ended(&self, success: bool) {
        if self.attempts.count() > 1 {
            self.cluster.counters.retry_ended(success);
        }
    }

    /// Whether an answer of this status is given up for another try.
    pub(super) fn refuses(&self, status: u16, request: &Request, now: Nanos) -> bool {
        let rules = &self.view.view.policies.retry;
        rules.lists(status) && self.granted(Point::Status, request, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: RetryRules = RetryRules {
        attempts: 2,
        connect: true,
        reset: true,
        timeout: true,
        statuses: Vec::new(),
        body: 65_536,
        per_try_timeout: None,
    };

    /// Case D02: the table of the guide, idempotent methods first.
    #[test]
    fn d02_the_table() {
        let table = [
            (Point::Connect, [true, true]),
            (Point::Silent, [true, false]),
            (Point::Late, [true, false]),
            (Point::Status, [true, false]),
            (Point::Broken, [false, false]),
            (Point::Begun, [false, false]),
        ];
        for (point, allowed) in table {
            for (idempotent, allowed) in [true, false].into_iter().zip(allowed) {
                let mut what = Repeatable {
                    idempotent,
                    unsent: point == Point::Connect,
                    whole: true,
                };
                assert_eq!(may_repeat(point, what, &ALL), allowed, "{point:?} {what:?}");
                what.whole = false;
                assert!(
                    !may_repeat(point, what, &ALL),
                    "{point:?}: a part is no request"
                );
            }
        }
    }

    #[test]
    fn what_was_not_sent_was_not_processed() {
        let unsent = Repeatable {
            idempotent: false,
            unsent: true,
            whole: true,
        };
        assert!(may_repeat(Point::Silent, unsent, &ALL));
        let none = RetryRules {
            connect: false,
            reset: false,
            ..ALL
        };
        assert!(!may_repeat(Point::Silent, unsent, &none));
        assert!(!may_repeat(Point::Connect, unsent, &none));
    }
}
