//! Spans as OpenTelemetry has them, in the words of its semantic conventions for HTTP.
//!
//! Numbers of fields are those of `opentelemetry/proto/trace/v1/trace.proto` and what it builds on.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use evenkeel_core::Nanos;

use super::Context;
use super::protobuf::{bytes, fixed32, fixed64, message, message_head, number};
use crate::access::{Attempt, Line};

/// What a span is to those around it.
#[derive(Clone, Copy, Debug)]
enum Role {
    /// It took a request.
    Server = 2,
    /// It sent one.
    Client = 3,
}

/// The trace is recorded, and its parent may be of another process.
const FLAGS: u32 = 0x001;
const FLAGS_OF_REMOTE: u32 = 0x301;

/// Statuses from here on are the client's or the endpoint's fault.
const CLIENT_ERROR: u16 = 400;
const SERVER_ERROR: u16 = 500;

/// The place of spans among those of a scope (`ScopeSpans.spans`).
const SPANS: u64 = 2;

/// Appends the span of a request, with one below it for each try; `draw` gives the ids of these.
pub(super) fn write_request(
    line: &Line<'_>,
    context: &Context,
    mut draw: impl FnMut() -> u64,
    out: &mut Vec<u8>,
) {
    let span = Span {
        trace: context.trace,
        parent: context.parent,
        own: context.span,
        flags: match context.parent {
            Some(_) => FLAGS_OF_REMOTE,
            None => FLAGS,
        },
        role: Role::Server,
        name: method(line),
        from: line.time,
        took: line.total,
    };
    message(out, SPANS, |out| {
        span.write(out);
        request_attributes(line, out);
        if line.error.is_some() || line.status.is_some_and(|status| status >= SERVER_ERROR) {
            error_status(line.error, out);
        }
    });
    for (count, attempt) in line.attempts.iter().enumerate() {
        let since = attempt.started.since(line.started);
        let span = Span {
            parent: Some(context.span),
            own: draw(),
            flags: FLAGS,
            role: Role::Client,
            from: line.time + Duration::from_nanos(since.0),
            took: attempt.total.unwrap_or_default(),
            ..span
        };
        message(out, SPANS, |out| {
            span.write(out);
            attempt_attributes(line, attempt, count, out);
            if attempt.error.is_some()
                || attempt.status.is_some_and(|status| status >= CLIENT_ERROR)
            {
                error_status(attempt.error, out);
            }
        });
    }
}

/// What all spans have.
#[derive(Clone, Copy, Debug)]
struct Span<'a> {
    trace: u128,
    parent: Option<u64>,
    own: u64,
    flags: u32,
    role: Role,
    name: &'a str,
    from: SystemTime,
    took: Nanos,
}

impl Span<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        bytes(out, 1, &self.trace.to_be_bytes());
        bytes(out, 2, &self.own.to_be_bytes());
        if let Some(parent) = self.parent {
            bytes(out, 4, &parent.to_be_bytes());
        }
        bytes(out, 5, self.name.as_bytes());
        number(out, 6, self.role as u64);
        let from = self.from.duration_since(UNIX_EPOCH).unwrap_or_default();
        let from = u64::try_from(from.as_nanos()).unwrap_or(u64::MAX);
        fixed64(out, 7, from);
        fixed64(out, 8, from.saturating_add(self.took.0));
        fixed32(out, 16, self.flags);
    }
}

/// The name of a span has few values: the method, or `HTTP` for what is none that is known.
fn method<'a>(line: &Line<'a>) -> &'a str {
    const KNOWN: [&str; 9] = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
    ];
    let asked = line.asked.map(|asked| &*asked.method);
    let known = KNOWN
        .into_iter()
        .find(|known| asked == Some(known.as_bytes()));
    known.unwrap_or("HTTP")
}

fn request_attributes(line: &Line<'_>, out: &mut Vec<u8>) {
    if let Some(asked) = line.asked {
        let (path, query) = split(&asked.target);
        text(out, "http.request.method", &asked.method);
        text(out, "url.path", path);
        if let Some(query) = query {
            text(out, "url.query", query);
        }
        let version = asked.protocol();
        let version = version.strip_prefix("HTTP/").unwrap_or(version);
        text(
            out,
            "network.protocol.version",
            version.trim_end_matches(".0").as_bytes(),
        );
        for (name, value) in [
            ("server.address", &asked.host),
            ("user_agent.original", &asked.user_agent),
        ] {
            if !value.is_empty() {
                text(out, name, value);
            }
        }
    }
    if let Some(client) = line.client {
        text(out, "client.address", client.to_string().as_bytes());
    }
    status(line.status, out);
    if let Some(error) = line.error {
        text(out, "error.type", error.as_bytes());
    }
    int(out, "http.request.body.size", line.bytes_in);
    int(out, "http.response.body.size", line.bytes_out);
    text(out, "evenkeel.request_id", line.request_id.as_bytes());
    text(out, "evenkeel.listener", line.listener.as_bytes());
    text(out, "evenkeel.priority", line.priority.as_bytes());
    if let Some(cluster) = line.cluster {
        text(out, "evenkeel.cluster", cluster.as_bytes());
    }
    if let Some(endpoint) = line.endpoint() {
        text(out, "evenkeel.endpoint", endpoint.as_bytes());
    }
    if let Some(source) = line.source {
        text(out, "evenkeel.error_source", source.as_str().as_bytes());
    }
    millis(out, "evenkeel.queue_ms", line.queue);
    if let Some(first_byte) = line.first_byte {
        millis(out, "evenkeel.first_byte_ms", first_byte);
    }
}

fn attempt_attributes(line: &Line<'_>, attempt: &Attempt, count: usize, out: &mut Vec<u8>) {
    if let Some(asked) = line.asked {
        text(out, "http.request.method", &asked.method);
    }
    if count > 0 {
        int(out, "http.request.resend_count", count as u64);
    }
    status(attempt.status, out);
    if let Some(error) = attempt.error {
        text(out, "error.type", error.as_bytes());
    }
    text(out, "evenkeel.endpoint", attempt.endpoint.as_bytes());
    millis(out, "evenkeel.connect_ms", attempt.connect);
    if let Some(first_byte) = attempt.first_byte {
        millis(out, "evenkeel.first_byte_ms", first_byte);
    }
}

fn split(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    let at = target.iter().position(|byte| *byte == b'?');
    match at {
        Some(at) => (&target[..at], Some(&target[at + 1..])),
        None => (target, None),
    }
}

fn status(status: Option<u16>, out: &mut Vec<u8>) {
    if let Some(status) = status {
        int(out, "http.response.status_code", u64::from(status));
    }
}

/// Says that a span failed (`Span.status`).
fn error_status(error: Option<&str>, out: &mut Vec<u8>) {
    const ERROR: u64 = 2;
    message(out, 15, |out| {
        if let Some(error) = error {
            bytes(out, 2, error.as_bytes());
        }
        number(out, 3, ERROR);
    });
}

/// An attribute (`Span.attributes`): a text of others, of which what is not UTF-8 becomes U+FFFD.
fn text(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    /// The most bytes of a text that are sent.
    const TEXT_MAX: usize = 4096;
    let value = &value[..value.len().min(TEXT_MAX)];
    let value = String::from_utf8_lossy(value);
    attribute(out, ATTRIBUTES, name, |out| bytes(out, 1, value.as_bytes()));
}

fn int(out: &mut Vec<u8>, name: &str, value: u64) {
    attribute(out, ATTRIBUTES, name, |out| number(out, 3, value));
}

/// Milliseconds, as a fraction.
fn millis(out: &mut Vec<u8>, name: &str, span: Nanos) {
    let millis = span.0 as f64 / 1e6;
    attribute(out, ATTRIBUTES, name, |out| {
        fixed64(out, 4, millis.to_bits())
    });
}

const ATTRIBUTES: u64 = 9;

fn attribute(out: &mut Vec<u8>, field: u64, name: &str, value: impl FnOnce(&mut Vec<u8>)) {
    message(out, field, |out| {
        bytes(out, 1, name.as_bytes());
        message(out, 2, value);
    });
}

/// Who sends spans: what stands before them in each post.
#[derive(Debug)]
pub(super) struct Sender {
    resource: Vec<u8>,
    scope: Vec<u8>,
}

impl Sender {
    pub(super) fn new(service: &str) -> Self {
        let (mut resource, mut scope) = (Vec::new(), Vec::new());
        let version = env!("CARGO_PKG_VERSION");
        message(&mut resource, 1, |out| {
            attribute(out, 1, "service.name", |out| {
                bytes(out, 1, service.as_bytes())
            });
            attribute(out, 1, "service.version", |out| {
                bytes(out, 1, version.as_bytes())
            });
        });
        message(&mut scope, 1, |out| {
            bytes(out, 1, b"evenkeel");
            bytes(out, 2, version.as_bytes());
        });
        Self { resource, scope }
    }

    /// A post (`ExportTraceServiceRequest`) of spans that lie behind each other.
    pub(super) fn request(&self, spans: &[u8]) -> Vec<u8> {
        let mut scoped = Vec::new();
        message_head(&mut scoped, 2, self.scope.len() + spans.len());
        let length = self.resource.len() + scoped.len() + self.scope.len() + spans.len();
        let mut out = Vec::with_capacity(length + 16);
        message_head(&mut out, 1, length);
        out.extend([&*self.resource, &scoped, &self.scope, spans].concat());
        out
    }
}
