//! Promises on whole exchanges: requests and their answer through parse, forward, decode and encode.

use super::fields::nominated;
use super::pieces::{Cut, pieces};
use super::reader::{Body, Ends, Form, Head, Start};
use crate::body_decoder::BodyDecoder;
use crate::body_encoder::{BodyEncoder, Encoding};
use crate::framing::Framing;
use crate::limits::{Limits, Slots};
use crate::method::Method;
use crate::request_forward::Forward;
use crate::request_head::RequestHead;
use crate::response_forward::Reply;
use crate::response_head::{Asked, ResponseHead};
use crate::version::Version;

/// What stands between the requests and the answer in an input.
const SEPARATOR: &[u8] = b"\n%%\n";

/// Most messages that are read from one side of an input.
const MESSAGES_MAX: usize = 16;

/// What one side sent, and what was passed on of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// The messages that were passed on, the last one maybe in part.
    pub messages: Vec<Sent>,
    /// Why no more was read: nothing when the input ended.
    pub refusal: Option<&'static str>,
    /// Bytes of the input that belong to no message that was passed on.
    pub rest: usize,
}

/// One message that was passed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Its head as it was received.
    pub received: Vec<u8>,
    /// Its head as it was passed on.
    pub head: Vec<u8>,
    /// The data of its body.
    pub data: Vec<u8>,
    /// The lines of its trailer section.
    pub trailers: Vec<u8>,
    /// Its body came to its end.
    pub complete: bool,
    /// Its body in the form in which it was passed on. Depends on the splits.
    pub wire: Vec<u8>,
    /// How its body was passed on.
    encoding: Encoding,
    /// What its answer depends on.
    asked: Asked,
    version: Version,
}

/// Takes an input apart: the way in which it is to be handled, the requests, and the answer.
///
/// An input is two bytes, requests, a line `%%`, and an answer. Of the first byte, bit 0 says that
/// the peer is trusted, bit 1 that upgrades are passed on, bit 2 that the client's connection stays
/// open. The second one tells where to cut.
#[must_use]
pub fn split_input(bytes: &[u8]) -> Option<(u8, u8, &[u8], &[u8])> {
    let [way, seed, text @ ..] = bytes else {
        return None;
    };
    let (requests, answer) = text
        .windows(SEPARATOR.len())
        .position(|four| four == SEPARATOR)
        .map_or((text, &[][..]), |at| {
            (&text[..at], &text[at + SEPARATOR.len()..])
        });
    Some((*way, *seed, requests, answer))
}

/// Relays requests to an endpoint and its answer to the client.
///
/// Splits change nothing. An endpoint that reads plainly sees as many requests as were passed on,
/// each with the body that was read; the client sees one answer with the body that the endpoint
/// sent, and sees when it was cut short. Fields that Connection names leave in neither section.
///
/// # Panics
///
/// When a promise is broken.
#[doc(hidden)]
pub fn fuzz_exchange(bytes: &[u8]) {
    let seed = bytes.get(1).copied().unwrap_or_default();
    check(bytes, [Cut::Bytes, Cut::Seeded(seed)].into_iter());
}

/// The same, with both sides cut in two at each byte in turn. Too slow for a fuzzer.
///
/// # Panics
///
/// When a promise is broken.
#[doc(hidden)]
pub fn check_every_split(bytes: &[u8]) {
    check(bytes, (1..bytes.len()).map(Cut::At));
}

/// Checks an input whole and cut in each of these ways.
fn check(bytes: &[u8], cuts: impl Iterator<Item = Cut>) {
    let Some((way, _, requests, answer)) = split_input(bytes) else {
        return;
    };
    let upload = Exchange::of_requests(requests, way, Cut::Whole);
    upload.assert_received(Start::Request);
    upload.assert_sent(Start::Request);
    let (asked, version) = upload
        .messages
        .first()
        .map_or_else(Default::default, |first| (first.asked, first.version));
    let download = Exchange::of_answer(answer, asked, version, way, Cut::Whole);
    download.assert_received(Start::Response);
    download.assert_sent(Start::Response);
    let (upload, download) = (upload.without_wire(), download.without_wire());
    for cut in cuts {
        let other = Exchange::of_requests(requests, way, cut);
        other.assert_sent(Start::Request);
        assert_eq!(upload, other.without_wire(), "{cut:?} changes nothing");
        let other = Exchange::of_answer(answer, asked, version, way, cut);
        other.assert_sent(Start::Response);
        assert_eq!(download, other.without_wire(), "{cut:?} changes nothing");
    }
}

impl Exchange {
    /// Passes on requests until the input ends, one is refused or one may end HTTP.
    #[must_use]
    pub fn requests(bytes: &[u8], way: u8) -> Self {
        Self::of_requests(bytes, way, Cut::Whole)
    }

    /// Relays an answer, to HEAD or not, to a client that speaks HTTP/1.1.
    #[must_use]
    pub fn answer(bytes: &[u8], head: bool, way: u8) -> Self {
        let asked = Asked {
            head,
            upgrade: false,
        };
        Self::of_answer(bytes, asked, Version::Http11, way, Cut::Whole)
    }

    fn of_requests(bytes: &[u8], way: u8, cut: Cut) -> Self {
        Reading::new(|bytes| read_request(bytes, way)).all(bytes, cut)
    }

    fn of_answer(bytes: &[u8], asked: Asked, version: Version, way: u8, cut: Cut) -> Self {
        Reading::new(|bytes| read_response(bytes, asked, version, way)).all(bytes, cut)
    }

    /// The same without what depends on splits.
    fn without_wire(&self) -> Self {
        let mut same = self.clone();
        for message in &mut same.messages {
            message.wire = Vec::new();
        }
        if same.refusal.is_some() {
            // The data before a bad byte comes with it or before it.
            same.rest = 0;
            if let Some(last) = same.messages.last_mut().filter(|last| !last.complete) {
                last.data = Vec::new();
            }
        }
        same
    }

    /// Every received head is one that a plain reader takes, too.
    fn assert_received(&self, start: Start) {
        for message in &self.messages {
            let head = Head::read(&message.received, start, Form::Received)
                .expect("what is accepted is well-formed")
                .expect("what is accepted is complete");
            assert_eq!(head.len, message.received.len(), "one end of the head");
            let named = nominated(&head);
            for line in message.trailers.split(|&byte| byte == b'\n') {
                let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
                assert!(
                    !named.contains(&name.to_ascii_lowercase()),
                    "{} was named by Connection",
                    name.escape_ascii()
                );
            }
        }
    }

    /// The other side reads just the messages that were passed on.
    fn assert_sent(&self, start: Start) {
        let parts = self
            .messages
            .iter()
            .map(|sent| [&sent.head[..], &sent.wire].concat());
        let wire = parts.collect::<Vec<_>>().concat();
        let mut at = 0;
        for (index, message) in self.messages.iter().enumerate() {
            if message.head.is_empty() {
                continue;
            }
            let head = Head::read(&wire[at..], start, Form::Sent)
                .expect("what is passed on is canonical")
                .expect("what is passed on is complete");
            at += head.len;
            let mut ends = head.ends().expect("one framing");
            let open = ends == Ends::Unsaid && message.encoding == Encoding::Identity;
            if start == Start::Response {
                ends = message.seen_by_client(&head, ends, &wire[at..]);
            }
            let body = Body::read(&wire[at..], ends, Form::Sent).expect("a canonical body");
            at += body.used;
            assert_eq!(body.data, message.data, "the body is untouched");
            // A body that ends with the connection has no end that a cut could take away. Only an
            // HTTP/1.0 client gets one.
            if !open || message.complete {
                assert_eq!(body.complete, message.complete, "one end of the body");
            }
            if !body.complete {
                assert_eq!(index + 1, self.messages.len(), "nothing follows a part");
                return;
            }
        }
        assert_eq!(at, wire.len(), "nothing is left over");
    }
}

impl Sent {
    /// How the client finds the end of an answer's body (RFC 9112 section 6.3).
    fn seen_by_client(&self, head: &Head<'_>, ends: Ends, behind: &[u8]) -> Ends {
        let bodiless = matches!(head.start[1], [b'1', ..] | b"204" | b"304");
        if self.asked.head || bodiless {
            return Ends::Unsaid;
        }
        if ends == Ends::Unsaid {
            assert_eq!(
                head.values("connection"),
                [b"close"],
                "the end must be told"
            );
            return Ends::Length(behind.len() as u64);
        }
        ends
    }
}

/// What a reader of heads found.
enum Step {
    /// More bytes are needed.
    More,
    Refused(&'static str),
    /// A head of so many bytes; what is to become of its body; whether another message follows.
    Head(usize, Box<Sent>, BodyDecoder, bool),
}

/// Reads messages from bytes that come in pieces.
struct Reading<F> {
    read_head: F,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were looked at in vain.
    seen: usize,
    body: Option<(BodyDecoder, BodyEncoder)>,
    last: bool,
    found: Exchange,
}

impl<F: Fn(&[u8]) -> Step> Reading<F> {
    fn new(read_head: F) -> Self {
        Self {
            read_head,
            buffer: Vec::new(),
            seen: 0,
            body: None,
            last: false,
            found: Exchange::default(),
        }
    }

    fn all(mut self, bytes: &[u8], cut: Cut) -> Exchange {
        for piece in pieces(bytes, cut) {
            self.buffer.extend_from_slice(piece);
            while self.found.refusal.is_none() && self.step(false) {}
        }
        // A head that never ends is looked at once more when its time is over.
        while self.found.refusal.is_none() && self.step(true) {}
        if let Some((decoder, encoder)) = self.body.take()
            && decoder.is_done_at_close()
            && self.found.refusal.is_none()
        {
            self.finish(&decoder, encoder);
        }
        self.found.rest = self.buffer.len();
        self.found
    }

    /// Takes what it can from the buffer; false when that was nothing.
    fn step(&mut self, ended: bool) -> bool {
        match self.body.take() {
            Some((decoder, encoder)) => self.step_body(decoder, encoder),
            None => self.step_head(ended),
        }
    }

    fn step_head(&mut self, ended: bool) -> bool {
        let due = ended || Limits::default().may_be_complete(&self.buffer, self.seen);
        if self.last || self.buffer.is_empty() || !due {
            self.seen = self.buffer.len();
            return false;
        }
        match (self.read_head)(&self.buffer) {
            Step::More => {
                self.seen = self.buffer.len();
                false
            }
            Step::Refused(reason) => {
                self.found.refusal = Some(reason);
                false
            }
            Step::Head(len, mut sent, decoder, last) => {
                sent.received = self.buffer.drain(..len).collect();
                let encoder = BodyEncoder::new(sent.encoding);
                self.found.messages.push(*sent);
                self.last = last || self.found.messages.len() == MESSAGES_MAX;
                self.seen = 0;
                if decoder.is_done() {
                    self.finish(&decoder, encoder);
                } else {
                    self.body = Some((decoder, encoder));
                }
                true
            }
        }
    }

    fn step_body(&mut self, mut decoder: BodyDecoder, encoder: BodyEncoder) -> bool {
        if self.buffer.is_empty() {
            self.body = Some((decoder, encoder));
            return false;
        }
        let step = match decoder.decode(&self.buffer) {
            Ok(step) => step,
            Err(bad) => {
                self.found.refusal = Some(bad.reason);
                return false;
            }
        };
        assert!(step.consumed > 0, "a step makes progress");
        let message = self.found.messages.last_mut().expect("a body has a head");
        encoder.data(&self.buffer[step.data.clone()], &mut message.wire);
        message.data.extend_from_slice(&self.buffer[step.data]);
        self.buffer.drain(..step.consumed);
        if decoder.is_done() {
            self.finish(&decoder, encoder);
        } else {
            self.body = Some((decoder, encoder));
        }
        true
    }

    fn finish(&mut self, decoder: &BodyDecoder, encoder: BodyEncoder) {
        let message = self.found.messages.last_mut().expect("a body has a head");
        message.complete = true;
        message.trailers = decoder.trailers().lines().to_vec();
        encoder.finish(decoder.trailers(), &mut message.wire);
    }
}

fn read_request(bytes: &[u8], way: u8) -> Step {
    let mut slots = Slots::new();
    let head = match RequestHead::parse(bytes, &Limits::default(), &mut slots) {
        Ok(Some(head)) => head,
        Ok(None) => return Step::More,
        Err(reject) => return Step::Refused(reject.reason),
    };
    let via = Forward {
        client: "192.0.2.7",
        proto: "http",
        trusted: way & 1 != 0,
        upgrade: way & 2 != 0,
        request_id: "r",
        fallback_host: "e",
        ..Forward::default()
    };
    let mut out = Vec::new();
    let encoding = head.forward(&via, &mut out);
    let upgrade = via.upgrade && head.upgrade.is_some();
    let sent = Sent {
        head: out,
        encoding,
        asked: Asked {
            head: head.method == Method::Head,
            upgrade,
        },
        version: head.version,
        ..Sent::default()
    };
    Step::Head(head.len, Box::new(sent), head.body_decoder(), upgrade)
}

fn read_response(bytes: &[u8], asked: Asked, version: Version, way: u8) -> Step {
    let mut slots = Slots::new();
    let head = match ResponseHead::parse(bytes, &Limits::default(), &mut slots, asked) {
        Ok(Some(head)) => head,
        Ok(None) => return Step::More,
        Err(bad) => return Step::Refused(bad.reason),
    };
    let to = Reply {
        client_version: version,
        keep_alive: way & 4 != 0,
        request_id: "r",
        ..Reply::default()
    };
    let mut out = Vec::new();
    let body = head.forward(&to, &mut out);
    let sent = Sent {
        head: out,
        encoding: body.encoding,
        asked,
        version,
        ..Sent::default()
    };
    let bodiless = head.framing == Framing::None;
    assert_eq!(
        bodiless,
        body.encoding == Encoding::None,
        "no body, no form of one"
    );
    Step::Head(
        head.len,
        Box::new(sent),
        head.body_decoder(),
        !head.is_interim(),
    )
}
