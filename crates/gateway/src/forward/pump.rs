//! Moves a body from one connection to another, in bounded memory and at the pace of the slower.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use evenkeel_http1::{BadChunk, BodyDecoder, BodyEncoder, Encoding, Framing, Piece};
use tokio::io::AsyncWrite;

use crate::stream::Stream;
use crate::worker::buffer::Inbox;

/// How much of chunk syntax is kept with a body of any size; beside it as much as there is body.
const SYNTAX_MAX: u64 = 4 * 1024;

/// Why a body did not get through.
#[derive(Debug)]
pub(super) enum PumpError {
    /// The sender broke the chunk syntax.
    Chunk(BadChunk),
    /// The sender's connection ended before the body did.
    Ended,
    /// The sender's connection failed.
    Read,
    /// The body is larger than it may be.
    TooLarge,
    /// The receiver's connection failed.
    Write(io::Error),
}

/// One direction of a relay: what is still to be sent, and how more is found.
///
/// What leaves first, a head and as much of the body as came with it, goes out in one write.
#[derive(Debug)]
pub(super) struct Pump {
    decoder: BodyDecoder,
    encoder: BodyEncoder,
    pending: Vec<u8>,
    sent: usize,
    /// Bytes at the front of the inbox that go out as they lie, and syntax behind them.
    direct: usize,
    tail: usize,
    /// The whole body is staged.
    complete: bool,
    /// Nothing but what is in `pending` has been sent.
    rewindable: bool,
    /// Counts bytes in and out: whether it stands still.
    pub(super) moved: u64,
    /// The most bytes of body that may still come.
    allowance: u64,
    /// How many bytes of body have come.
    body: u64,
    /// With a body up to so many bytes, what was sent is kept to be sent again.
    keep: u32,
    /// How many bytes are kept at most, head and syntax and all.
    room: u32,
}

impl Pump {
    /// A pump without a body, which sends `pending`.
    pub(super) fn new(pending: Vec<u8>) -> Self {
        Self {
            decoder: BodyDecoder::new(Framing::None),
            encoder: BodyEncoder::new(Encoding::None),
            pending,
            sent: 0,
            direct: 0,
            tail: 0,
            complete: false,
            rewindable: true,
            moved: 0,
            allowance: u64::MAX,
            body: 0,
            keep: 0,
            room: 0,
        }
    }

    /// Keeps what is sent, to be sent again, as long as the body has at most `most` bytes.
    pub(super) fn keep(&mut self, most: u64) {
        self.keep = u32::try_from(most).unwrap_or(u32::MAX);
        let room = self.pending.len() as u64 + 2 * most + SYNTAX_MAX;
        self.room = u32::try_from(room).unwrap_or(u32::MAX);
    }

    /// Whether all of the body that has come can be sent once more.
    pub(super) fn is_repeatable(&self) -> bool {
        self.rewindable && (self.sent == 0 || self.body <= u64::from(self.keep))
    }

    /// Sets how the body comes and how it is to leave.
    pub(super) fn frame(&mut self, decoder: BodyDecoder, encoding: Encoding, most: Option<u64>) {
        self.decoder = decoder;
        self.encoder = BodyEncoder::new(encoding);
        self.allowance = most.unwrap_or(u64::MAX);
    }

    /// What leaves next; heads are written here.
    pub(super) fn pending(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }

    /// How many bytes of body have come.
    pub(super) fn body_bytes(&self) -> u64 {
        self.body
    }

    /// Whether the whole body has been read.
    pub(super) fn is_staged(&self) -> bool {
        self.complete
    }

    /// Whether everything that was staged has been sent.
    pub(super) fn is_flushed(&self) -> bool {
        self.sent == self.pending.len() && self.direct == 0
    }

    /// Whether any byte has been sent.
    pub(super) fn has_sent(&self) -> bool {
        self.sent > 0 || !self.rewindable
    }

    /// Makes room for what is staged next; everything has been sent.
    pub(super) fn forget_sent(&mut self) {
        debug_assert!(self.is_flushed(), "what is pending is not lost");
        self.pending.clear();
        self.sent = 0;
    }

    /// Whether anything but exactly the first `whole` bytes has been sent.
    pub(super) fn has_sent_beside(&self, whole: usize) -> bool {
        self.has_sent() && (self.sent != whole || !self.rewindable)
    }

    /// Sends everything again, on another connection.
    pub(super) fn rewind(&mut self) {
        debug_assert!(self.is_repeatable(), "what was sent is still here");
        self.sent = 0;
    }

    /// What is staged, sent or not.
    pub(super) fn staged(&self) -> &[u8] {
        &self.pending
    }

    /// A copy of all of it was sent on the connection that is read from now on.
    pub(super) fn was_sent_elsewhere(&mut self) {
        debug_assert!(self.complete && self.rewindable, "nothing is missing");
        self.sent = self.pending.len();
    }

    /// The buffer, to be recycled. Nothing is left to be sent.
    pub(super) fn take_pending(&mut self) -> Vec<u8> {
        self.sent = 0;
        std::mem::take(&mut self.pending)
    }

    /// Copies what of the body has come behind what is pending, so that it leaves with it.
    pub(super) fn stage_first(&mut self, inbox: &mut Inbox) -> Result<(), PumpError> {
        while !self.complete {
            if self.decoder.is_done() {
                self.complete();
            } else if inbox.is_empty() {
                break;
            } else {
                let piece = self.decode(inbox)?;
                self.copy(&piece, inbox);
            }
        }
        Ok(())
    }

    /// Puts what came behind a 101, which is HTTP no more, behind its head.
    #[cold]
    pub(super) fn stage_rest(&mut self, inbox: &mut Inbox) {
        let rest = inbox.data();
        self.pending.extend_from_slice(rest);
        self.body += rest.len() as u64;
        inbox.consume(rest.len());
    }

    /// Stages the next piece of the body; what needs no other form and is not kept stays where it
    /// lies.
    fn stage(&mut self, inbox: &mut Inbox) -> Result<(), PumpError> {
        let has_room =
            self.rewindable && self.pending.len() + inbox.data().len() <= self.room as usize;
        if has_room && self.body + inbox.data().len() as u64 <= u64::from(self.keep) {
            return self.stage_first(inbox);
        }
        if !self.rewindable && !self.encoder.is_identity() {
            self.forget_sent();
            return self.stage_first(inbox);
        }
        let piece = self.decode(inbox)?;
        if has_room && self.body <= u64::from(self.keep) {
            // What is behind it may be the next request, which does not count.
            self.copy(&piece, inbox);
            return Ok(());
        }
        self.rewindable = false;
        self.forget_sent();
        if !self.encoder.is_identity() {
            self.copy(&piece, inbox);
            return self.stage_first(inbox);
        }
        let (start, len) = (piece.data.start, piece.data.len());
        inbox.consume(if len == 0 { piece.consumed } else { start });
        (self.direct, self.tail) = (
            len,
            if len == 0 {
                0
            } else {
                piece.consumed - start - len
            },
        );
        if self.decoder.is_done() {
            self.complete();
        }
        Ok(())
    }

    /// Copies a piece behind what is pending.
    fn copy(&mut self, piece: &Piece, inbox: &mut Inbox) {
        let data = &inbox.data()[piece.data.clone()];
        self.encoder.data(data, &mut self.pending);
        inbox.consume(piece.consumed);
        if piece.done {
            self.complete();
        }
    }

    fn decode(&mut self, inbox: &Inbox) -> Result<Piece, PumpError> {
        let piece = self
            .decoder
            .decode(inbox.data())
            .map_err(PumpError::Chunk)?;
        self.allowance = self
            .allowance
            .checked_sub(piece.data.len() as u64)
            .ok_or(PumpError::TooLarge)?;
        self.body += piece.data.len() as u64;
        Ok(piece)
    }

    fn complete(&mut self) {
        self.encoder
            .finish(self.decoder.trailers(), &mut self.pending);
        self.complete = true;
    }

    /// Sends what is staged.
    pub(super) fn poll_flush(
        &mut self,
        inbox: &mut Inbox,
        to: &mut Stream,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        // Identity data lies before the end of the body, which is empty then.
        while self.direct > 0 {
            let data = &inbox.data()[..self.direct];
            let count = ready!(write(to, data, cx))?;
            self.moved += count as u64;
            self.direct -= count;
            inbox.consume(count);
            if self.direct == 0 {
                inbox.consume(std::mem::take(&mut self.tail));
            }
        }
        while self.sent < self.pending.len() {
            let count = ready!(write(to, &self.pending[self.sent..], cx))?;
            self.moved += count as u64;
            self.sent += count;
        }
        Poll::Ready(Ok(()))
    }

    /// Moves the body until all of it has been sent.
    pub(super) fn poll_run(
        &mut self,
        from: &mut Stream,
        inbox: &mut Inbox,
        to: &mut Stream,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), PumpError>> {
        loop {
            ready!(self.poll_flush(inbox, to, cx)).map_err(PumpError::Write)?;
            if self.complete {
                return Poll::Ready(Ok(()));
            }
            if !inbox.is_empty() {
                self.stage(inbox)?;
                continue;
            }
            let count = ready!(inbox.poll_fill(from, cx)).map_err(|_| PumpError::Read)?;
            self.moved += count as u64;
            if count == 0 {
                self.end()?;
            }
        }
    }

    /// The sender's connection ended: that may be the end of the body.
    fn end(&mut self) -> Result<(), PumpError> {
        if !self.decoder.is_done_at_close() {
            return Err(PumpError::Ended);
        }
        self.pending.clear();
        self.sent = 0;
        self.complete();
        Ok(())
    }
}

/// Writes once; a socket that takes nothing is broken.
fn write(to: &mut Stream, data: &[u8], cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
    match ready!(Pin::new(to).poll_write(cx, data))? {
        0 => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
        count => Poll::Ready(Ok(count)),
    }
}
