//! The body of a stream, in the bytes of HTTP/1.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use evenkeel_http1::{BodyEncoder, Encoding, Trailers};
use h2::RecvStream;
use http::HeaderMap;
use tokio::io::ReadBuf;

use super::broken;
use super::watch::MARK;

/// What comes on a stream, as it would come on a connection of HTTP/1: a head, and the body behind it.
///
/// The peer may send more only as what it sent is taken: a window opens as far as bytes leave here.
#[derive(Debug)]
pub(super) struct BodyReader {
    body: RecvStream,
    encoder: BodyEncoder,
    /// A head, the syntax of chunks, trailers.
    text: Vec<u8>,
    told: usize,
    data: Bytes,
    next: Next,
    /// Nothing behind the head is read yet.
    is_held: bool,
}

/// What comes behind the data in hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Data,
    Trailers,
    End,
}

impl BodyReader {
    /// A reader that begins with `head`, which says that the body comes in this form. `has_body` is false where
    /// the head ended the stream.
    pub(super) fn new(head: Vec<u8>, body: RecvStream, encoding: Encoding, has_body: bool) -> Self {
        Self {
            body,
            encoder: BodyEncoder::new(encoding),
            text: head,
            told: 0,
            data: Bytes::new(),
            next: if has_body { Next::Data } else { Next::End },
            is_held: false,
        }
    }

    /// Keeps back what comes behind the head, or lets it go.
    pub(super) fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// Takes the memory that the head was written to.
    pub(super) fn take_memory(&mut self) -> Vec<u8> {
        self.told = 0;
        std::mem::take(&mut self.text)
    }

    /// Nothing more is read.
    pub(super) fn stop(&mut self) {
        self.next = Next::End;
        self.told = self.text.len();
        self.data.clear();
    }

    /// Whether something can be read at once.
    pub(super) fn has_some(&self) -> bool {
        self.told < self.text.len() || !self.data.is_empty()
    }

    /// Reads what is there. No bytes: the end.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = space.filled().len();
        loop {
            self.hand_over(space)?;
            if space.remaining() == 0 || self.next == Next::End {
                return Poll::Ready(Ok(()));
            }
            match self.poll_next(cx) {
                Poll::Ready(result) => result?,
                Poll::Pending if space.filled().len() > before => return Poll::Ready(Ok(())),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Hands over what is in hand, as far as there is space.
    fn hand_over(&mut self, space: &mut ReadBuf<'_>) -> io::Result<()> {
        let text = &self.text[self.told..];
        let count = text.len().min(space.remaining());
        space.put_slice(&text[..count]);
        self.told += count;
        if self.told < self.text.len() || self.data.is_empty() {
            return Ok(());
        }
        let count = self.data.len().min(space.remaining());
        space.put_slice(&self.data[..count]);
        self.data.advance(count);
        let window = self.body.flow_control();
        window.release_capacity(count).map_err(broken)?;
        if self.data.is_empty() && self.encoder.encoding() == Encoding::Chunked {
            self.say(|_, text| text.extend_from_slice(BodyEncoder::CHUNK_END));
            let text = &self.text[..];
            let count = text.len().min(space.remaining());
            space.put_slice(&text[..count]);
            self.told = count;
        }
        Ok(())
    }

    /// Takes what comes next in hand. All that was there has been handed over.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.told < self.text.len() || !self.data.is_empty() {
            return Poll::Ready(Ok(()));
        }
        match self.next {
            // Whoever writes lets it go, and reads then.
            Next::Data if self.is_held => return Poll::Pending,
            Next::Data => match ready!(self.body.poll_data(cx)) {
                Some(Ok(data)) if data.is_empty() => {}
                Some(Ok(data)) => {
                    self.say(|encoder, text| encoder.chunk_start(data.len(), text));
                    self.data = data;
                }
                Some(Err(error)) => return Poll::Ready(Err(broken(error))),
                None => self.next = Next::Trailers,
            },
            Next::Trailers => {
                let fields = ready!(self.body.poll_trailers(cx)).map_err(broken)?;
                let trailers = trailers(&fields.unwrap_or_default());
                self.say(|encoder, text| encoder.finish(&trailers, text));
                self.next = Next::End;
            }
            Next::End => {}
        }
        Poll::Ready(Ok(()))
    }

    fn say(&mut self, write: impl FnOnce(&BodyEncoder, &mut Vec<u8>)) {
        self.text.clear();
        self.told = 0;
        write(&self.encoder, &mut self.text);
    }
}

/// The fields behind a body that may be passed on.
fn trailers(fields: &HeaderMap) -> Trailers {
    let mut trailers = Trailers::new();
    for (name, value) in fields.iter().filter(|(name, _)| *name != MARK) {
        trailers.push(name.as_str(), value.as_bytes());
    }
    trailers
}
