//! Hearing a client: its next request, and whether it is still there while something else is waited for.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use evenkeel_core::Nanos;
use evenkeel_http1::Reject;

use super::client::Client;
use super::request::{Request, TOO_SLOW};
use crate::http2::PREFACE;
use crate::stream::Stream;

/// How often a connection that is not read, because enough of it waits, is asked whether it was reset.
const LOOK_EVERY: Nanos = Nanos::from_secs(1);

/// How much of the next requests is read to see whether the client is still there, in bytes.
const READ_AHEAD: usize = 16 * 1024;

/// What comes next on a connection.
pub(super) enum Next {
    Closed,
    Refused(Reject),
    Request,
    /// It begins as one of HTTP/2.
    Http2,
}

impl Client {
    /// Waits for a request. A fresh connection has as long as a head may take; a kept one may idle.
    pub(super) async fn next(&mut self, fresh: bool, request: &mut Request) -> Next {
        self.refresh();
        let (header, idle) = (self.listener().header_timeout, self.listener().idle_timeout);
        self.alarm.set(if fresh { header } else { idle });
        let mut begun = false;
        let mut seen = 0;
        loop {
            // What breaks the rules early is refused at the first look, before the head is whole.
            let first_look = !begun && !self.inbox.is_empty();
            let limits = &self.listener().limits;
            if first_look || limits.may_be_complete(self.inbox.data(), seen) {
                match request.read(self) {
                    Ok(true) => return Next::Request,
                    Ok(false) => {}
                    Err(reject) if !fresh || !is_preface(self.inbox.data()) => {
                        return Next::Refused(reject);
                    }
                    Err(_) if self.inbox.data().len() >= PREFACE.len() => return Next::Http2,
                    Err(_) => {}
                }
            }
            seen = self.inbox.data().len();
            if !begun && has_begun(self.inbox.data()) {
                begun = true;
                self.alarm.set(header);
            }
            match poll_fn(|cx| self.poll_more(cx)).await {
                Wait::More => self.refresh(),
                Wait::Late if begun => return Next::Refused(TOO_SLOW),
                Wait::Late | Wait::Over => return Next::Closed,
            }
        }
    }

    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<Wait> {
        match self.inbox.poll_fill(&mut self.stream, cx) {
            Poll::Ready(Ok(0) | Err(_)) => Poll::Ready(Wait::Over),
            Poll::Ready(Ok(_)) => Poll::Ready(Wait::More),
            Poll::Pending if self.worker.closing.get() && self.inbox.is_empty() => {
                Poll::Ready(Wait::Over)
            }
            Poll::Pending => {
                // Lets go of what another configuration has no use for.
                self.refresh();
                self.alarm.poll_due(cx).map(|()| Wait::Late)
            }
        }
    }

    /// Ready when the client has torn its connection down. An end of its side alone is no reason to
    /// give up: it may wait for its answer.
    ///
    /// For whoever waits for something else than the client. No system call while it is silent;
    /// what it sends is kept for the next reader. Behind [`READ_AHEAD`], and behind an end of its side,
    /// a reset is noticed within [`LOOK_EVERY`].
    #[inline]
    pub(super) fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Stream::Incoming(stream) = &mut self.stream {
            return stream.poll_reset(cx);
        }
        while self.inbox.data().len() < READ_AHEAD && !self.ended {
            // Says nothing without a buffer; only what is there needs one.
            if ready!(self.stream.poll_read_ready(cx)).is_err() {
                return Poll::Ready(());
            }
            match ready!(self.inbox.poll_fill(&mut self.stream, cx)) {
                Ok(count) => self.ended = count == 0,
                Err(_) => return Poll::Ready(()),
            }
            if self.ended && !self.listener().half_close {
                return Poll::Ready(());
            }
        }
        self.poll_reset(cx)
    }

    /// Ready when the system has noted an error of a connection that is not read at the moment.
    #[cold]
    fn poll_reset(&self, cx: &mut Context<'_>) -> Poll<()> {
        let has_error = || {
            let noted = self.stream.socket().and_then(|socket| socket.take_error());
            !matches!(noted, Ok(None))
        };
        if self.alarm.looks_in(LOOK_EVERY) && has_error() {
            return Poll::Ready(());
        }
        // Sees to it that the look wakes this task.
        let _ = self.alarm.poll_due(cx);
        Poll::Pending
    }
}

/// Whether a connection may be one of HTTP/2, as far as it has come.
#[cold]
fn is_preface(data: &[u8]) -> bool {
    let count = data.len().min(PREFACE.len());
    data[..count] == PREFACE[..count]
}

/// Empty lines before a request are no request.
fn has_begun(data: &[u8]) -> bool {
    data.iter().any(|byte| !matches!(byte, b'\r' | b'\n'))
}

/// What waiting for bytes came to.
enum Wait {
    Late,
    More,
    Over,
}
