//! A client's connection of which a part was read already.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use evenkeel_core::Nanos;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::watch::Watch;
use super::{PREFACE, Streams};
use crate::stream::Stream;
use crate::worker::alarm::Alarm;
use crate::worker::buffer::Inbox;

/// How much is read at once where bytes are held back, or dropped.
const PIECE: usize = 4 * 1024;

/// How long a connection is read on behind its last words, and how much is dropped: closed at once, the
/// client's system might throw those words away.
const LINGER: Nanos = Nanos::from_secs(1);
const LINGER_BYTES: usize = 1 << 20;

/// A client's connection of which a part was read already, which comes first. Its frames are watched.
#[derive(Debug)]
pub(crate) struct Wire {
    inbox: Inbox,
    stream: Stream,
    watch: Watch,
    /// The beginning of a frame of which not enough has come to let it pass.
    held: Vec<u8>,
    /// What has been looked at and comes next.
    passed: Vec<u8>,
    streams: Rc<Streams>,
    /// Until when what still comes is dropped.
    alarm: Alarm,
    dropped: Option<usize>,
}

impl Wire {
    pub(crate) fn new(inbox: Inbox, stream: Stream, streams: &Rc<Streams>, alarm: Alarm) -> Self {
        Self {
            inbox,
            stream,
            watch: Watch::new(PREFACE.len()),
            held: Vec::new(),
            passed: Vec::new(),
            streams: Rc::clone(streams),
            alarm,
            dropped: None,
        }
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>, space: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.inbox.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, space);
        }
        let data = self.inbox.data();
        let count = data.len().min(space.remaining());
        space.put_slice(&data[..count]);
        self.inbox.consume(count);
        Poll::Ready(Ok(()))
    }

    /// Lets pass what may, and holds back the rest.
    fn look(&mut self, data: &[u8]) -> usize {
        let count = self.watch.pass(data);
        self.held.extend_from_slice(&data[count..]);
        let noise = std::mem::take(&mut self.watch.noise);
        if noise > 0 {
            self.streams.hear(noise);
        }
        count
    }

    /// Reads and drops what still comes, up to the client's end or the end of our patience.
    fn poll_drop(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.dropped.is_none() {
            self.alarm.set(LINGER);
        }
        let dropped = self.dropped.get_or_insert(0);
        let mut piece = [0; PIECE];
        loop {
            let mut space = ReadBuf::new(&mut piece);
            match Pin::new(&mut self.stream).poll_read(cx, &mut space) {
                Poll::Ready(Ok(())) if !space.filled().is_empty() => {
                    *dropped += space.filled().len();
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.alarm.poll_due(cx),
            }
            if *dropped > LINGER_BYTES {
                return Poll::Ready(());
            }
        }
    }

    /// Reads behind what was held back. What may pass then stands in `passed`; nothing does at the end.
    #[cold]
    fn poll_held(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.passed.is_empty() {
            if let Some(length) = Watch::mark(&self.held, &mut self.passed) {
                let rest = self.held.split_off(length);
                self.held.clear();
                let count = self.look(&rest);
                self.passed.extend_from_slice(&rest[..count]);
                break;
            }
            let mut piece = [0; PIECE];
            let mut space = ReadBuf::new(&mut piece);
            ready!(self.poll_fill(cx, &mut space))?;
            if space.filled().is_empty() {
                // Cut within a frame.
                std::mem::swap(&mut self.held, &mut self.passed);
                break;
            }
            let mut data = std::mem::take(&mut self.held);
            data.extend_from_slice(space.filled());
            let count = self.look(&data);
            self.passed.extend_from_slice(&data[..count]);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = space.filled().len();
        if this.held.is_empty() && this.passed.is_empty() {
            ready!(this.poll_fill(cx, space))?;
            let fresh = &space.filled()[before..];
            let count = this.look(fresh);
            if count == fresh.len() {
                return Poll::Ready(Ok(()));
            }
            space.set_filled(before + count);
            if count > 0 {
                return Poll::Ready(Ok(()));
            }
        }
        if this.passed.is_empty() {
            ready!(this.poll_held(cx))?;
        }
        let count = this.passed.len().min(space.remaining());
        space.put_slice(&this.passed[..count]);
        this.passed.drain(..count);
        if this.passed.is_empty() {
            // It is seldom needed, and a connection that idles holds nothing.
            this.passed = Vec::new();
            this.held.shrink_to_fit();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, data)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        matches!(self.stream, Stream::Tcp(_) | Stream::Unix(_))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
        this.poll_drop(cx).map(Ok)
    }
}
