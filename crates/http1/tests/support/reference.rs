//! hyper as an endpoint and as a client: does it read what we pass on as we meant it?
//!
//! The fuzz target `reference` includes this file too, so it stands alone.

use evenkeel_http1::{Exchange, Limits, RequestHead, Sent, Slots};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

/// More than any input here, so that nothing waits for a reader.
const PIPE_BYTES: usize = 4 << 20;

/// A message as hyper reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The method, or the status.
    pub(crate) start: String,
    /// The target; nothing for responses.
    pub(crate) target: String,
    /// Names in lower case, values of one name in their order.
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    pub(crate) data: Vec<u8>,
    pub(crate) trailers: Vec<(String, Vec<u8>)>,
    /// The body came to its end.
    pub(crate) complete: bool,
}

/// The requests that hyper's server reads from these bytes before it gives up or they end.
pub(crate) fn read_requests(bytes: &[u8]) -> Vec<Seen> {
    let found: Rc<RefCell<Vec<Seen>>> = Rc::default();
    let service = service_fn(|request: Request<Incoming>| {
        let found = Rc::clone(&found);
        async move {
            let (parts, body) = request.into_parts();
            let mut seen = Seen {
                start: parts.method.to_string(),
                target: parts.uri.to_string(),
                fields: listed(&parts.headers),
                ..Seen::default()
            };
            collect(body, &mut seen).await;
            found.borrow_mut().push(seen);
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        }
    });
    run(bytes, First::We, async |ours| {
        let mut server = hyper::server::conn::http1::Builder::new();
        server.half_close(true).max_headers(300);
        // What it answers to broken requests is no matter here.
        let _ = server.serve_connection(TokioIo::new(ours), service).await;
    });
    found.take()
}

/// The answer that hyper's client reads from these bytes; nothing when it refuses them.
pub(crate) fn read_response(bytes: &[u8], head: bool) -> Option<Seen> {
    let mut found = None;
    run(bytes, First::Hyper, async |ours| {
        let mut client = hyper::client::conn::http1::Builder::new();
        client.max_headers(300);
        let shaken = client.handshake(TokioIo::new(ours)).await;
        let (mut sender, connection) = shaken.expect("nothing is sent before a request");
        let method = if head { "HEAD" } else { "GET" };
        let request = Request::builder()
            .method(method)
            .uri("/")
            .header("host", "a");
        let request = request
            .body(Full::<Bytes>::default())
            .expect("a plain request");
        let ask = async {
            if let Ok(response) = sender.send_request(request).await {
                let (parts, body) = response.into_parts();
                let mut seen = Seen {
                    start: parts.status.as_u16().to_string(),
                    fields: listed(&parts.headers),
                    ..Seen::default()
                };
                collect(body, &mut seen).await;
                found = Some(seen);
            }
            drop(sender);
        };
        let _ = tokio::join!(ask, connection);
    });
    found
}

/// Checks what is passed on of these requests against hyper.
///
/// # Panics
///
/// When hyper reads another message than the one we meant, or refuses it without a
/// [known reason](refusal_is_known).
pub(crate) fn assert_requests_agree(bytes: &[u8], way: u8) {
    let ours = Exchange::requests(bytes, way);
    let meant: Vec<_> = ours.messages.iter().filter(|sent| sent.complete).collect();
    let wire: Vec<u8> = meant
        .iter()
        .flat_map(|sent| [&sent.head[..], &sent.wire].concat())
        .collect();
    let seen = read_requests(&wire);
    for (index, sent) in meant.iter().enumerate() {
        let Some(seen) = seen.get(index) else {
            assert!(
                refusal_is_known(&sent.head),
                "hyper refuses {}",
                sent.head.escape_ascii()
            );
            return;
        };
        assert_same_request(sent, seen);
    }
    assert_eq!(
        seen.len(),
        meant.len(),
        "hyper sees a request that we did not"
    );
    // A request that we take is the same one to hyper as it came.
    let original = read_requests(bytes);
    for (index, sent) in meant.iter().enumerate() {
        let Some(seen) = original.get(index) else {
            assert!(
                refusal_is_known(&sent.head),
                "hyper refuses {} as it came",
                sent.received.escape_ascii()
            );
            return;
        };
        assert_eq!(seen.data, sent.data, "the body of the original");
        if !stays_open(sent) {
            return;
        }
    }
}

/// Whether hyper reads another request behind this one.
fn stays_open(sent: &Sent) -> bool {
    let mut slots = Slots::new();
    let head = RequestHead::parse(&sent.received, &Limits::default(), &mut slots);
    head.is_ok_and(|head| head.is_some_and(|head| head.keep_alive))
}

/// Where hyper refuses a request that we pass on.
///
/// Its `http::Uri` takes none of `"<>` and the like in a target. Browsers escape them and other
/// clients do not; nginx and HAProxy pass them, and the path is not ours to change. They frame
/// nothing.
fn refusal_is_known(head: &[u8]) -> bool {
    let target = head.split(|&byte| byte == b' ').nth(1).unwrap_or_default();
    std::str::from_utf8(target).is_ok_and(|target| target.parse::<hyper::Uri>().is_err())
}

fn assert_same_request(sent: &Sent, seen: &Seen) {
    let mut slots = Slots::new();
    let head = RequestHead::parse(&sent.received, &Limits::default(), &mut slots)
        .expect("accepted before")
        .expect("complete before");
    assert_eq!(seen.start.as_bytes(), head.method_bytes(), "one method");
    let query = head.query().map(|query| format!("?{query}"));
    let target = format!("{}{}", head.path(), query.unwrap_or_default());
    assert_eq!(seen.target, target, "one target");
    let host = head.authority().unwrap_or("e");
    assert_eq!(values(seen, "host"), [host.as_bytes()], "one host");
    for field in head.passing_fields() {
        let same_name = head.passing_fields().filter(|other| other.is(field.name));
        let expected: Vec<_> = same_name.map(|field| field.value).collect();
        let name = field.name.to_ascii_lowercase();
        assert_eq!(values(seen, &name), expected, "{name}");
    }
    assert_eq!(seen.data, sent.data, "one body");
    assert!(seen.complete, "one end of the body");
    assert_eq!(
        lines(&seen.trailers),
        sorted(&sent.trailers),
        "one trailer section"
    );
}

/// Checks what the client gets of these bytes against hyper.
///
/// # Panics
///
/// When hyper reads another answer than the one we meant.
pub(crate) fn assert_answer_agrees(bytes: &[u8], head: bool, way: u8) {
    let ours = Exchange::answer(bytes, head, way);
    let Some(last) = ours.messages.last() else {
        return;
    };
    let status = last.head.get(9..12).unwrap_or_default();
    if status[0] == b'1' {
        return;
    }
    let wire: Vec<u8> = ours
        .messages
        .iter()
        .flat_map(|sent| [&sent.head[..], &sent.wire].concat())
        .collect();
    let seen = read_response(&wire, head);
    let Some(seen) = seen else {
        panic!("hyper refuses {}", wire.escape_ascii());
    };
    assert_eq!(seen.start.as_bytes(), status, "one status");
    assert_eq!(seen.data, last.data, "one body");
    assert_eq!(seen.complete, last.complete, "a part looks like a part");
    assert_eq!(values(&seen, "x-request-id"), [b"r"], "one id");
    if last.complete {
        assert_eq!(
            lines(&seen.trailers),
            sorted(&last.trailers),
            "one trailer section"
        );
    }
}

fn values<'s>(seen: &'s Seen, name: &str) -> Vec<&'s [u8]> {
    let fields = seen.fields.iter().filter(|(other, _)| other == name);
    fields.map(|(_, value)| value.as_slice()).collect()
}

/// Trailer fields as sorted lines.
fn lines(trailers: &[(String, Vec<u8>)]) -> Vec<Vec<u8>> {
    let line = |(name, value): &(String, Vec<u8>)| [name.as_bytes(), b": ", value].concat();
    let mut lines: Vec<_> = trailers.iter().map(line).collect();
    lines.sort();
    lines
}

/// Our trailer lines, sorted, names in lower case.
fn sorted(text: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<_> = text
        .split(|&byte| byte == b'\n')
        .filter_map(|line| line.strip_suffix(b"\r"))
        .map(|line| {
            let name = line
                .iter()
                .position(|&byte| byte == b':')
                .unwrap_or(line.len());
            [&line[..name].to_ascii_lowercase(), &line[name..]].concat()
        })
        .collect();
    lines.sort();
    lines
}

fn listed(fields: &HeaderMap) -> Vec<(String, Vec<u8>)> {
    fields
        .iter()
        .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
        .collect()
}

async fn collect(mut body: Incoming, seen: &mut Seen) {
    loop {
        match body.frame().await {
            None => {
                seen.complete = true;
                return;
            }
            Some(Err(_)) => return,
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    seen.data.extend_from_slice(data);
                } else if let Some(trailers) = frame.trailers_ref() {
                    seen.trailers = listed(trailers);
                }
            }
        }
    }
}

/// Who speaks first on a pipe.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    We,
    Hyper,
}

/// Sends bytes and an end to one side of a pipe, and gives the other side to `with`.
fn run(bytes: &[u8], first: First, with: impl AsyncFnOnce(DuplexStream)) {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime without drivers").block_on(async {
        let (mut theirs, ours) = duplex(PIPE_BYTES);
        let speak = async {
            let mut heard = Vec::new();
            while first == First::Hyper && !heard.ends_with(b"\r\n\r\n") {
                let byte = theirs.read_u8().await.expect("a request ends");
                heard.push(byte);
            }
            theirs.write_all(bytes).await.expect("the pipe has room");
            theirs.shutdown().await.expect("the pipe is open");
            let _ = theirs.read_to_end(&mut heard).await;
        };
        tokio::join!(with(ours), speak);
    });
}
