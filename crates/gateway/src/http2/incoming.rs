//! A stream of a client, as a connection that speaks HTTP/1.1 and carries one request.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use evenkeel_http1::{BodyDecoder, Encoding, Framing, Pseudo, Reject, compose_request};
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::request::Parts;
use http::{Method, Request, StatusCode};
use tokio::io::ReadBuf;

use super::answer::Answer;
use super::body_reader::BodyReader;
use super::body_writer::{BodyWriter, ends_with_head};
use super::{Streams, broken, connect};

/// A stream of a client.
#[derive(Debug)]
pub(crate) struct Incoming {
    request: BodyReader,
    respond: SendResponse<Bytes>,
    /// What has come of the head of the answer.
    head: Vec<u8>,
    is_head: bool,
    /// The client wants the stream to become another protocol.
    becomes_another: bool,
    /// The stream speaks another protocol.
    is_switched: bool,
    /// Behind the head.
    answer: Option<BodyWriter>,
    streams: Rc<Streams>,
}

impl Incoming {
    /// Takes a stream over; none if its request breaks the rules, and the stream is reset then. `draw` draws
    /// below a number; `head` is an empty buffer for its head.
    pub(crate) fn accept(
        request: Request<RecvStream>,
        mut respond: SendResponse<Bytes>,
        streams: &Rc<Streams>,
        draw: impl Fn(u32) -> u32,
        mut head: Vec<u8>,
    ) -> Option<Self> {
        let (parts, body) = request.into_parts();
        let has_body = !body.is_end_stream();
        let becomes_another = connect::is_websocket(&parts);
        if let Err(why) = compose(&parts, has_body, draw, &mut head) {
            tracing::debug!(reason = %why, "stream refused");
            respond.send_reset(Reason::PROTOCOL_ERROR);
            streams.note(false);
            return None;
        }
        let length_known = parts.headers.contains_key(http::header::CONTENT_LENGTH);
        let encoding = match (has_body, length_known) {
            _ if becomes_another => Encoding::Identity,
            (false, _) => Encoding::None,
            (true, true) => Encoding::Identity,
            (true, false) => Encoding::Chunked,
        };
        streams.begin();
        let mut request = BodyReader::new(head, body, encoding, has_body);
        // What comes before the protocol has changed is nothing that a request could be made of.
        request.hold(becomes_another);
        Some(Self {
            request,
            respond,
            head: Vec::new(),
            is_head: parts.method == Method::HEAD,
            becomes_another,
            is_switched: false,
            answer: None,
            streams: Rc::clone(streams),
        })
    }

    /// Takes a buffer back that it needs no more, at its end.
    pub(crate) fn take_memory(&mut self) -> Vec<u8> {
        self.request.take_memory()
    }

    /// Ready when the client has given the stream up, or its connection is gone.
    pub(crate) fn poll_reset(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.answer {
            Some(answer) if answer.is_done() => Poll::Pending,
            Some(answer) => answer.stream().poll_reset(cx).map(drop),
            None => self.respond.poll_reset(cx).map(drop),
        }
    }

    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.request.poll_read(cx, space)
    }

    pub(crate) fn has_some(&self) -> bool {
        self.request.has_some()
    }

    /// Nothing more is said: where bytes go in both directions the other one goes on, and elsewhere what the
    /// client still sends is not wanted.
    pub(crate) fn shut_down(&mut self) -> io::Result<()> {
        match &mut self.answer {
            Some(answer) if self.is_switched => answer.finish(),
            _ => {
                self.request.stop();
                Ok(())
            }
        }
    }

    /// Takes the next bytes of the answer.
    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Some(answer) = &mut self.answer {
            return answer.poll_write(cx, data);
        }
        if let Poll::Ready(result) = self.respond.poll_reset(cx) {
            let error = match result {
                Ok(_) => io::ErrorKind::ConnectionReset.into(),
                Err(error) => broken(error),
            };
            return Poll::Ready(Err(error));
        }
        Poll::Ready(self.take_head(data))
    }

    /// Takes what is of the head, and says how many bytes that was; all of it, where it is all of the answer.
    fn take_head(&mut self, data: &[u8]) -> io::Result<usize> {
        let before = self.head.len();
        let whole = match before {
            0 => Bytes::copy_from_slice(data),
            _ => Bytes::from([&self.head, data].concat()),
        };
        let Some(answer) = Answer::read(&whole, self.is_head)? else {
            self.head.extend_from_slice(data);
            return Ok(data.len());
        };
        self.head.clear();
        let taken = answer.len - before;
        if answer.is_interim() {
            self.respond
                .send_informational(answer.response)
                .map_err(broken)?;
            return Ok(taken);
        }
        if self.becomes_another {
            return self.switch(answer).map(|()| taken);
        }
        let mut decoder = BodyDecoder::new(answer.framing);
        let (ends, more) = ends_with_head(&mut decoder, &data[taken..]);
        let send = self.respond.send_response(answer.response, ends);
        let mut writer = BodyWriter::new(send.map_err(broken)?, decoder, ends);
        let is_whole = !ends && answer.framing == Framing::Length((data.len() - taken) as u64);
        let all = is_whole && writer.send_all(whole.slice(answer.len..))?;
        self.answer = Some(writer);
        Ok(if all { data.len() } else { taken + more })
    }

    /// Sends the head that says whether the stream becomes another protocol, and goes by it.
    fn switch(&mut self, answer: Answer) -> io::Result<()> {
        let (mut response, mut framing) = (answer.response, answer.framing);
        self.is_switched = response.status() == StatusCode::SWITCHING_PROTOCOLS;
        if self.is_switched {
            connect::answer(&mut response);
            framing = Framing::UntilClose;
            self.request.hold(false);
        } else if response.status().is_success() {
            return Err(io::Error::other("success without another protocol"));
        } else {
            self.request.stop();
        }
        let decoder = BodyDecoder::new(framing);
        let ends = decoder.is_done();
        let send = self.respond.send_response(response, ends).map_err(broken)?;
        self.answer = Some(BodyWriter::new(send, decoder, ends));
        Ok(())
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        let in_order = self.answer.as_ref().is_some_and(BodyWriter::is_done);
        if !in_order {
            // Says that an answer was cut, where the client is still there to hear it.
            self.respond.send_reset(Reason::INTERNAL_ERROR);
        }
        self.streams.end(in_order);
    }
}

/// Writes the head of a request in the bytes of HTTP/1.
fn compose(
    parts: &Parts,
    has_body: bool,
    draw: impl Fn(u32) -> u32,
    head: &mut Vec<u8>,
) -> Result<(), Reject> {
    let target = parts.uri.path_and_query();
    let pseudo = Pseudo {
        method: parts.method.as_str(),
        path: target.map_or("/", |target| target.as_str()),
        authority: parts
            .uri
            .authority()
            .map_or("", |authority| authority.as_str()),
    };
    let fields = || {
        let fields = parts.headers.iter();
        fields.map(|(name, value)| (name.as_str(), value.as_bytes()))
    };
    match connect::is_websocket(parts) {
        true => connect::compose(&pseudo, fields, draw, head),
        false => compose_request(&pseudo, fields, has_body, head),
    }
}
