//! What an upstream does about a request.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use evenkeel_core::unpoisoned;

use crate::deadline::PATIENCE;

/// One thing that an upstream does.
#[derive(Clone, Debug)]
pub enum Act {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Waits.
    Wait(Duration),
    /// Waits until a test opens the gate.
    Await(Gate),
    /// Ends the connection in order unless another request begins within this time.
    Idle(Duration),
    /// Ends the connection in order.
    Close,
    /// Tears the connection down with a RST.
    Reset,
    /// Sends back whatever comes, no HTTP any more, until the peer ends its side; then it ends too.
    Echo,
    /// Reads on without a word until the peer ends.
    Listen,
    /// Does nothing at all, not even read.
    Sleep,
}

/// What an upstream does about a request, step by step. Unless it ends the connection, the next
/// request is read after it.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub(super) acts: Vec<Act>,
    pub(super) is_interim: bool,
}

/// Holds an upstream until a test lets it go on. Copies are the same.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    open: Arc<(Mutex<bool>, Condvar)>,
}

impl Answer {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// These bytes.
    #[must_use]
    pub fn raw(bytes: impl AsRef<[u8]>) -> Self {
        Self::new().send(bytes)
    }

    /// 200 with this body and its length.
    #[must_use]
    pub fn ok(body: impl AsRef<[u8]>) -> Self {
        Self::status(200, body)
    }

    /// This status with this body and its length.
    #[must_use]
    pub fn status(status: u16, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut bytes = format!(
            "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        Self::raw(bytes)
    }

    /// 200 with this body in chunks, one for each piece.
    #[must_use]
    pub fn chunks<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for piece in pieces {
            bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            bytes.extend_from_slice(piece);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        Self::raw(bytes)
    }

    /// An interim response, when it is given at a request's head: the final one comes later.
    #[must_use]
    pub fn interim(bytes: impl AsRef<[u8]>) -> Self {
        Self {
            is_interim: true,
            ..Self::raw(bytes)
        }
    }

    /// The end of the connection without a word.
    #[must_use]
    pub fn close() -> Self {
        Self::new().then(Act::Close)
    }

    /// A reset without a word.
    #[must_use]
    pub fn reset() -> Self {
        Self::new().then(Act::Reset)
    }

    /// No answer, ever.
    #[must_use]
    pub fn never() -> Self {
        Self::new().then(Act::Listen)
    }

    /// Goes on with this.
    #[must_use]
    pub fn then(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }

    /// Goes on by sending this.
    #[must_use]
    pub fn send(self, bytes: impl AsRef<[u8]>) -> Self {
        self.then(Act::Send(bytes.as_ref().to_vec()))
    }

    /// Goes on by sending back whatever comes.
    #[must_use]
    pub fn echo(self) -> Self {
        self.then(Act::Echo)
    }

    /// Goes on after a while.
    #[must_use]
    pub fn wait(self, span: Duration) -> Self {
        self.then(Act::Wait(span))
    }

    /// Goes on once the gate is open.
    #[must_use]
    pub fn await_gate(self, gate: &Gate) -> Self {
        self.then(Act::Await(gate.clone()))
    }

    /// Does all of this a while later.
    #[must_use]
    pub fn after(mut self, span: Duration) -> Self {
        self.acts.insert(0, Act::Wait(span));
        self
    }

    /// Does all of this once the gate is open.
    #[must_use]
    pub fn behind(mut self, gate: &Gate) -> Self {
        self.acts.insert(0, Act::Await(gate.clone()));
        self
    }
}

impl Gate {
    /// A gate that is closed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it for good.
    pub fn open(&self) {
        let (open, opened) = &*self.open;
        *unpoisoned(open.lock()) = true;
        opened.notify_all();
    }

    /// Waits until it is open, with a patience that no test outlasts.
    pub(super) fn pass(&self) {
        let (open, opened) = &*self.open;
        let open = unpoisoned(open.lock());
        let patience = 3 * PATIENCE;
        let _ = opened.wait_timeout_while(open, patience, |open| !*open);
    }
}
