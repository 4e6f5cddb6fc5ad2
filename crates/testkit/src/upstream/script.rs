//! What an upstream answers to which request.

use std::fmt;

use super::answer::Answer;
use super::log::Received;

type AtAccept = Box<dyn Fn(usize) -> Option<Answer> + Send + Sync>;
type AtHead = Box<dyn Fn(&Received) -> Option<Answer> + Send + Sync>;
type AtEnd = Box<dyn Fn(&Received) -> Answer + Send + Sync>;

/// What an upstream answers to which request.
pub struct Script {
    at_accept: Option<AtAccept>,
    at_head: Option<AtHead>,
    at_end: AtEnd,
}

impl Script {
    /// Answers a request that has come whole.
    #[must_use]
    pub fn new(answer: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Self {
        Self {
            at_accept: None,
            at_head: None,
            at_end: Box::new(answer),
        }
    }

    /// Does something to a connection, by its number, before a byte of it is read.
    #[must_use]
    pub fn at_accept(
        mut self,
        act: impl Fn(usize) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        self.at_accept = Some(Box::new(act));
        self
    }

    /// Answers a request before its body is read. An answer that is not interim is the only one;
    /// the body is read behind it and dropped.
    #[must_use]
    pub fn at_head(
        mut self,
        answer: impl Fn(&Received) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        self.at_head = Some(Box::new(answer));
        self
    }

    pub(super) fn accepted(&self, connection: usize) -> Option<Answer> {
        self.at_accept.as_ref().and_then(|act| act(connection))
    }

    pub(super) fn begun(&self, request: &Received) -> Option<Answer> {
        self.at_head.as_ref().and_then(|answer| answer(request))
    }

    pub(super) fn ended(&self, request: &Received) -> Answer {
        (self.at_end)(request)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").finish_non_exhaustive()
    }
}
