//! The bytes of a body of HTTP/1, on a stream.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use evenkeel_http1::{BodyDecoder, Piece};
use h2::SendStream;

use super::{broken, fields, invalid};

/// An empty body in chunks.
const EMPTY_CHUNKS: &[u8] = b"0\r\n\r\n";

/// Sends a body that comes in the bytes of HTTP/1, as far as the peer takes it.
#[derive(Debug)]
pub(super) struct BodyWriter {
    send: SendStream<Bytes>,
    decoder: BodyDecoder,
    done: bool,
}

impl BodyWriter {
    /// `done`: the head was all there is, and ended the stream.
    pub(super) fn new(send: SendStream<Bytes>, decoder: BodyDecoder, done: bool) -> Self {
        Self {
            send,
            decoder,
            done,
        }
    }

    /// Whether the stream has been ended.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Ends the stream, if it has not ended.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.done, true) {
            self.send.send_data(Bytes::new(), true).map_err(broken)?;
        }
        Ok(())
    }

    pub(super) fn stream(&mut self) -> &mut SendStream<Bytes> {
        &mut self.send
    }

    /// Sends all of the body, if the peer takes it at once; else nothing.
    pub(super) fn send_all(&mut self, body: Bytes) -> io::Result<bool> {
        self.send.reserve_capacity(body.len());
        if self.send.capacity() < body.len() {
            return Ok(false);
        }
        self.send.send_data(body, true).map_err(broken)?;
        self.done = true;
        Ok(true)
    }

    /// Sends the next of `data`, and says how much of it that was.
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.done || data.is_empty() {
            let result = match data.len() {
                0 => Ok(0),
                _ => Err(io::ErrorKind::BrokenPipe.into()),
            };
            return Poll::Ready(result);
        }
        let room = match self.poll_room(cx, data.len()) {
            Poll::Ready(room) => room?,
            // What is not data needs no window: a last chunk does not wait for one.
            Poll::Pending => match self.without_data(data)? {
                Some(piece) => return Poll::Ready(self.pass_on(&piece, data)),
                None => return Poll::Pending,
            },
        };
        let piece = self.decoder.decode(&data[..room]).map_err(invalid)?;
        Poll::Ready(self.pass_on(&piece, data))
    }

    /// How many bytes the peer takes now, at least one and at most so many.
    fn poll_room(&mut self, cx: &mut Context<'_>, most: usize) -> Poll<io::Result<usize>> {
        self.send.reserve_capacity(most);
        loop {
            let room = self.send.capacity();
            if room > 0 {
                return Poll::Ready(Ok(room.min(most)));
            }
            match ready!(self.send.poll_capacity(cx)) {
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Err(broken(error))),
                None => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            }
        }
    }

    /// Reads on where no data is next.
    #[cold]
    fn without_data(&mut self, data: &[u8]) -> io::Result<Option<Piece>> {
        let mut ahead = self.decoder.clone();
        let piece = ahead.decode(data).map_err(invalid)?;
        if !piece.data.is_empty() {
            return Ok(None);
        }
        self.decoder = ahead;
        Ok(Some(piece))
    }

    fn pass_on(&mut self, piece: &Piece, data: &[u8]) -> io::Result<usize> {
        let data = &data[piece.data.clone()];
        let trailers = self.decoder.trailers();
        let ends_with_data = piece.done && trailers.is_empty();
        if !data.is_empty() || ends_with_data {
            let data = Bytes::copy_from_slice(data);
            self.send.send_data(data, ends_with_data).map_err(broken)?;
        }
        if piece.done && !trailers.is_empty() {
            let trailers = fields::trailers(trailers);
            self.send.send_trailers(trailers).map_err(broken)?;
        }
        self.done = piece.done;
        Ok(piece.consumed)
    }
}

/// Whether a head ends its stream, and how many bytes behind it belong to that: where no body comes
/// there is no frame for it.
pub(super) fn ends_with_head(decoder: &mut BodyDecoder, behind: &[u8]) -> (bool, usize) {
    if decoder.is_done() {
        return (true, 0);
    }
    if decoder.remaining().is_none() && behind == EMPTY_CHUNKS {
        return (true, EMPTY_CHUNKS.len());
    }
    (false, 0)
}
