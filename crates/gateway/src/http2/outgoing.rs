//! A stream to an endpoint, as a connection that speaks HTTP/1.1 and carries one request.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use evenkeel_http1::{Encoding, RequestHead, Slots, compose_response};
use h2::RecvStream;
use h2::client::{ResponseFuture, SendRequest};
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderValue, Method, Request, Response, Uri, header};
use tokio::io::ReadBuf;

use super::body_reader::BodyReader;
use super::body_writer::{BodyWriter, ends_with_head};
use super::{OWN_HEADS, broken, fields, invalid};

/// Counts a stream of a connection while it lives.
#[derive(Debug)]
pub(crate) struct Ticket(Rc<Cell<usize>>);

impl Ticket {
    pub(crate) fn take(streams: &Rc<Cell<usize>>) -> Self {
        streams.set(streams.get() + 1);
        Self(Rc::clone(streams))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// A stream to an endpoint. Dropped before its end, it is reset.
#[derive(Debug)]
pub(crate) struct Outgoing {
    requests: SendRequest<Bytes>,
    scheme: Scheme,
    /// What has come of the head of the request.
    head: Vec<u8>,
    sent: Option<Sent>,
    /// There will be no answer, since the request could not be sent.
    failed: bool,
    _ticket: Ticket,
}

/// A request that is on its way.
#[derive(Debug)]
struct Sent {
    request: BodyWriter,
    is_head: bool,
    response: ResponseFuture,
    /// From the head of the answer on, or an interim one that is not read yet.
    answer: Option<BodyReader>,
    interim: Vec<u8>,
    told: usize,
}

impl Outgoing {
    pub(crate) fn new(requests: SendRequest<Bytes>, is_secured: bool, ticket: Ticket) -> Self {
        Self {
            requests,
            scheme: if is_secured {
                Scheme::HTTPS
            } else {
                Scheme::HTTP
            },
            head: Vec::new(),
            sent: None,
            failed: false,
            _ticket: ticket,
        }
    }

    /// Whether something can be read at once.
    pub(crate) fn has_some(&self) -> bool {
        let answer = self.sent.as_ref().and_then(|sent| sent.answer.as_ref());
        answer.is_some_and(BodyReader::has_some)
    }

    /// Takes the next bytes of the request.
    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Some(sent) = &mut self.sent {
            return sent.request.poll_write(cx, data);
        }
        let result = match ready!(self.requests.poll_ready(cx)) {
            Ok(()) => self.take_head(data),
            Err(error) => Err(broken(error)),
        };
        self.failed |= result.is_err();
        Poll::Ready(result)
    }

    /// Takes what is of the head, and says how many bytes that was.
    fn take_head(&mut self, data: &[u8]) -> io::Result<usize> {
        let before = self.head.len();
        self.head.extend_from_slice(data);
        let mut slots = Slots::new();
        let parsed = RequestHead::parse(&self.head, &OWN_HEADS, &mut slots);
        let Some(head) = parsed.map_err(invalid)? else {
            return Ok(data.len());
        };
        let mut taken = head.len - before;
        let request = request(&head, &self.scheme)?;
        let is_head = request.method() == Method::HEAD;
        let mut decoder = head.body_decoder();
        let (ends, more) = ends_with_head(&mut decoder, &data[taken..]);
        let sent = self.requests.send_request(request, ends);
        let (response, send) = sent.map_err(broken)?;
        taken += more;
        self.head = Vec::new();
        self.sent = Some(Sent {
            request: BodyWriter::new(send, decoder, ends),
            is_head,
            response,
            answer: None,
            interim: Vec::new(),
            told: 0,
        });
        Ok(taken)
    }

    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.sent {
            Some(sent) => sent.poll_read(cx, space),
            // Nothing was sent, so that anybody else may be asked.
            None if self.failed => Poll::Ready(Err(io::ErrorKind::ConnectionRefused.into())),
            // Whoever writes is woken.
            None => Poll::Pending,
        }
    }
}

impl Sent {
    fn poll_read(&mut self, cx: &mut Context<'_>, space: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.told < self.interim.len() {
                let text = &self.interim[self.told..];
                let count = text.len().min(space.remaining());
                space.put_slice(&text[..count]);
                self.told += count;
                return Poll::Ready(Ok(()));
            }
            if let Some(answer) = &mut self.answer {
                return answer.poll_read(cx, space);
            }
            if let Poll::Ready(Some(Ok(interim))) = self.response.poll_informational(cx) {
                self.interim.clear();
                self.told = 0;
                compose(&interim, true, self.is_head, &mut self.interim)?;
                continue;
            }
            let response = ready!(Pin::new(&mut self.response).poll(cx)).map_err(broken)?;
            self.answer = Some(answer(response, self.is_head)?);
        }
    }
}

/// A request as HTTP/2 has it.
fn request(head: &RequestHead<'_, '_>, scheme: &Scheme) -> io::Result<Request<()>> {
    let mut request = Request::new(());
    *request.method_mut() = Method::from_bytes(head.method_bytes()).map_err(invalid)?;
    let uri = Uri::builder()
        .scheme(scheme.clone())
        .authority(head.authority().unwrap_or_default())
        .path_and_query(target(head.target())?);
    *request.uri_mut() = uri.build().map_err(invalid)?;
    let list = head.fields().filter(|field| !field.is("host"));
    fields::of_head(list, request.headers_mut());
    // Whatever the client said: trailers are passed on.
    let trailers = HeaderValue::from_static("trailers");
    request.headers_mut().insert(header::TE, trailers);
    Ok(request)
}

/// A target with what has no place in one written as a code: HTTP/1 is read more leniently.
fn target(bytes: &[u8]) -> io::Result<PathAndQuery> {
    if let Ok(target) = PathAndQuery::try_from(bytes) {
        return Ok(target);
    }
    let mut written = String::with_capacity(bytes.len() + 16);
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte) {
            written.push(char::from(byte));
        } else {
            written.push_str(&format!("%{byte:02X}"));
        }
    }
    PathAndQuery::try_from(written).map_err(invalid)
}

/// An answer in the bytes of HTTP/1.
fn answer(response: Response<RecvStream>, is_head: bool) -> io::Result<BodyReader> {
    let (parts, body) = response.into_parts();
    let has_body = !body.is_end_stream();
    let response = Response::from_parts(parts, ());
    let mut head = Vec::with_capacity(512);
    compose(&response, has_body, is_head, &mut head)?;
    let bodiless = is_head || matches!(response.status().as_u16(), 204 | 304);
    let length_known = response.headers().contains_key(header::CONTENT_LENGTH);
    let encoding = match has_body && !bodiless {
        false => Encoding::None,
        true if length_known => Encoding::Identity,
        true => Encoding::Chunked,
    };
    Ok(BodyReader::new(head, body, encoding, has_body))
}

fn compose(
    response: &Response<()>,
    has_body: bool,
    is_head: bool,
    head: &mut Vec<u8>,
) -> io::Result<()> {
    let fields = response.headers().iter();
    let fields = fields.map(|(name, value)| (name.as_str(), value.as_bytes()));
    let status = response.status().as_u16();
    compose_response(status, fields, has_body, is_head, head).map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_keep_their_form_where_they_can() {
        let written = |bytes: &[u8]| target(bytes).expect("legal").to_string();
        assert_eq!(written(b"/a%20b?c={d}"), "/a%20b?c={d}");
        assert_eq!(written(b"/a<b>?c"), "/a%3Cb%3E?c");
        assert_eq!(written(b"*"), "*");
    }
}
