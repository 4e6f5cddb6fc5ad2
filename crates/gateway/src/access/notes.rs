//! What is noted of a request while it is carried out.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_core::{Nanos, Priority};
use evenkeel_http1::{ProxyError, RequestHead};

use super::AccessWriter;
use super::line::{Asked, Attempt, Line, Source};
use crate::clock::time_of_day;
use crate::span::{Context, Parent, SpanWriter, trace_digits};

/// The status of a request whose client left before it got one; no answer has it, and log readers
/// know it from nginx.
const CLIENT_LEFT: u16 = 499;

/// What is noted of the request in hand on a connection; its memory serves the next one too.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The request in hand is logged.
    wanted: bool,
    /// The span of the request in hand, if it is in a trace that is recorded.
    span: Option<Context>,
    /// Its head has been read.
    begun: bool,
    /// It is no request, but a connection whose bytes are passed on.
    is_connection: bool,
    asked: Asked,
    started: Nanos,
    cluster: Option<Arc<str>>,
    priority: Priority,
    attempts: Vec<Attempt>,
    /// The place of the try that was heard last.
    heard: usize,
    status: Option<u16>,
    error: Option<&'static str>,
    source: Option<Source>,
    /// Bytes of a tunnel to the endpoint, beside those of the body.
    bytes_in: u64,
    bytes_out: u64,
}

impl Notes {
    /// Notes what is asked for.
    pub(crate) fn begin(
        &mut self,
        head: &RequestHead<'_, '_>,
        http2: bool,
        wanted: bool,
        span: Option<Context>,
    ) {
        (self.begun, self.wanted, self.span) = (true, wanted, span);
        if !wanted && span.is_none() {
            return;
        }
        let asked = &mut self.asked;
        replace(&mut asked.method, Some(head.method_bytes()));
        replace(&mut asked.target, Some(head.target()));
        replace(&mut asked.host, head.authority().map(str::as_bytes));
        replace(&mut asked.user_agent, head.field("user-agent"));
        replace(&mut asked.referer, head.field("referer"));
        let trace = match span {
            Some(span) => Some(span.trace),
            None => head.field("traceparent").and_then(trace_of),
        };
        let digits = trace.map(trace_digits);
        replace(
            &mut asked.trace_id,
            digits.as_ref().map(|digits| &digits[..]),
        );
        (asked.version, asked.http2) = (head.version, http2);
    }

    /// Notes a connection whose bytes are passed on, in place of a request.
    pub(crate) fn connects(&mut self, wanted: bool) {
        (self.begun, self.wanted, self.is_connection) = (true, wanted, true);
    }

    /// Notes when the request began, the cluster it goes to, and how important it is there.
    pub(crate) fn goes_to(
        &mut self,
        cluster: Option<Arc<str>>,
        priority: Priority,
        started: Nanos,
    ) {
        (self.cluster, self.priority, self.started) = (cluster, priority, started);
    }

    /// Notes a try, and gives its place.
    pub(crate) fn tries(&mut self, endpoint: &Arc<str>, now: Nanos) -> usize {
        self.attempts.push(Attempt {
            endpoint: Arc::clone(endpoint),
            started: now,
            connect: Nanos(0),
            first_byte: None,
            total: None,
            status: None,
            error: None,
        });
        self.heard = self.attempts.len() - 1;
        self.heard
    }

    fn attempt(&mut self, place: usize, note: impl FnOnce(&mut Attempt)) {
        // A place was given for each.
        if let Some(attempt) = self.attempts.get_mut(place) {
            note(attempt);
        }
    }

    /// Notes that a try has its connection.
    pub(crate) fn connected(&mut self, place: usize, took: Nanos) {
        self.attempt(place, |attempt| attempt.connect = took);
    }

    /// Notes that something of an answer has come.
    pub(crate) fn answer_begins(&mut self, place: usize, now: Nanos) {
        self.attempt(place, |attempt| {
            let since = now.since(attempt.started);
            attempt.first_byte.get_or_insert(since);
        });
    }

    /// Notes the status of an answer.
    pub(crate) fn has_status(&mut self, place: usize, status: u16) {
        self.heard = place;
        self.attempt(place, |attempt| attempt.status = Some(status));
    }

    /// Notes why a try failed.
    pub(crate) fn failed(&mut self, place: usize, error: Option<&'static str>) {
        self.attempt(place, |attempt| attempt.error = error);
    }

    /// Notes that a try has ended.
    pub(crate) fn ended(&mut self, place: usize, now: Nanos) {
        self.attempt(place, |attempt| {
            attempt.total = Some(now.since(attempt.started));
        });
    }

    /// Notes how many bytes of an answer's body were passed on.
    pub(crate) fn passed_on(&mut self, bytes: u64) {
        self.bytes_out = bytes;
    }

    /// Notes how many bytes went through a tunnel to the endpoint, and how many to the client.
    pub(crate) fn tunnelled(&mut self, [to_endpoint, to_client]: [u64; 2]) {
        self.bytes_in = to_endpoint;
        self.bytes_out += to_client;
    }

    /// Notes that the answer of an endpoint was relayed to its end.
    pub(crate) fn answered(&mut self, status: u16) {
        self.status = Some(status);
        self.source = (status >= 500).then_some(Source::Endpoint);
    }

    /// Notes that the client went away, with or without a part of an answer.
    pub(crate) fn cancelled(&mut self) {
        self.cut("cancelled", Source::Client);
    }

    /// Notes that an answer was cut.
    pub(crate) fn cut(&mut self, error: &'static str, source: Source) {
        let heard = self.attempts.get(self.heard);
        let begun = heard.and_then(|attempt| attempt.status);
        self.status = Some(begun.unwrap_or(CLIENT_LEFT));
        (self.error, self.source) = (Some(error), Some(source));
    }

    /// Notes an answer of the gateway's own.
    pub(crate) fn refused(&mut self, status: u16, error: ProxyError) {
        self.status = Some(status);
        (self.error, self.source) = (Some(error.word()), Some(Source::of(error)));
    }

    /// Notes that the client was sent elsewhere.
    pub(crate) fn redirected(&mut self, status: u16) {
        self.status = Some(status);
    }

    /// Whether the head of the request in hand has been read.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Writes the line of the request, if it is logged, and its spans, if it has any; and is ready for the
    /// next one.
    pub(crate) fn finish(
        &mut self,
        log: Option<&AccessWriter>,
        spans: Option<&SpanWriter>,
        ending: &Ending<'_>,
    ) {
        let log = log.filter(|_| self.wanted || !self.begun);
        let spans = spans.zip(self.span.take());
        if log.is_some() || spans.is_some() {
            self.end_attempts(ending.now);
            let line = self.line(ending);
            if let Some(log) = log {
                log.write(&line);
            }
            if let Some((spans, span)) = spans {
                spans.write(&line, &span);
            }
        }
        (self.begun, self.wanted, self.is_connection) = (false, false, false);
        self.attempts.clear();
        (self.status, self.error, self.source) = (None, None, None);
        (self.bytes_in, self.bytes_out) = (0, 0);
        (self.cluster, self.priority) = (None, Priority::Default);
    }

    /// A try that was overtaken by another one was dropped, and nobody spoke of it.
    fn end_attempts(&mut self, now: Nanos) {
        let open = |attempt: &&mut Attempt| attempt.total.is_none();
        for attempt in self.attempts.iter_mut().filter(open) {
            attempt.total = Some(now.since(attempt.started));
            attempt.error.get_or_insert("cancelled");
        }
    }

    fn line<'a>(&'a self, ending: &'a Ending<'_>) -> Line<'a> {
        let started = if self.begun { self.started } else { ending.now };
        let total = ending.now.since(started);
        let first = self.attempts.first();
        let heard = self.attempts.get(self.heard);
        let first_byte = heard.and_then(|attempt| {
            let since = attempt.started.since(started);
            attempt.first_byte.map(|span| since + span)
        });
        Line {
            time: time_of_day() - Duration::from(total),
            started,
            request_id: ending.request_id,
            listener: ending.listener,
            client: ending.client,
            asked: (self.begun && !self.is_connection).then_some(&self.asked),
            is_connection: self.is_connection,
            cluster: self.cluster.as_deref(),
            priority: self.priority.as_str(),
            heard,
            attempts: &self.attempts,
            status: match self.is_connection {
                true => None,
                false => Some(self.status.unwrap_or(CLIENT_LEFT)),
            },
            error: self.error,
            source: self.source,
            bytes_in: ending.bytes_in + self.bytes_in,
            bytes_out: self.bytes_out,
            queue: first.map_or(total, |attempt| attempt.started.since(started)),
            first_byte,
            total,
        }
    }
}

/// What is known of a request where it ends.
#[derive(Debug)]
pub(crate) struct Ending<'a> {
    pub(crate) now: Nanos,
    pub(crate) request_id: &'a str,
    pub(crate) listener: &'a str,
    pub(crate) client: Option<IpAddr>,
    pub(crate) bytes_in: u64,
}

fn trace_of(parent: &[u8]) -> Option<u128> {
    Parent::read(parent).map(|parent| parent.trace)
}

fn replace(text: &mut Vec<u8>, with: Option<&[u8]>) {
    text.clear();
    text.extend_from_slice(with.unwrap_or_default());
}

/// Where what happens to a request is noted, if anybody wants to know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noted(Option<Rc<RefCell<Notes>>>);

impl Noted {
    /// Notes are taken from now on.
    pub(crate) fn on() -> Self {
        Self(Some(Rc::default()))
    }

    /// Takes a note: a branch when nobody wants any.
    #[inline]
    pub(crate) fn note(&self, note: impl FnOnce(&mut Notes)) {
        if let Some(notes) = &self.0 {
            note(&mut notes.borrow_mut());
        }
    }
}
