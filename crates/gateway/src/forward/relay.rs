//! The relay of one request and its answer between a client and an endpoint.

use std::io;
use std::task::{Context, Poll, ready};

use evenkeel_http1::{Asked, BadResponse, Limits, ProxyError, Reject, Reply, ResponseHead, Slots};

use super::client::Client;
use super::pace::Pace;
use super::pump::{Pump, PumpError};
use super::request::{self, Request, TOO_SLOW};
use super::retry::Point;
use super::tries::{Tries, Try};
use crate::cluster::Policies;
use crate::stream::Stream;
use crate::worker::buffer::Inbox;

/// How large the head of an answer may be.
const RESPONSE_LIMITS: Limits = Limits {
    header_bytes: 64 * 1024,
    headers: 128,
};

/// How a relay failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The client's connection failed, or it stopped reading.
    ClientGone,
    /// The client broke the rules within its body, or was too slow with it; and whether it has a part
    /// of an answer.
    Client(Reject, bool),
    /// The endpoint failed, and where.
    Endpoint(Fault, Point),
    /// The gateway itself lacks something. Nothing was sent.
    Gateway(ProxyError),
    /// Its answer was given up for another try.
    Unwanted,
}

impl Failure {
    /// The word for it in logs; none for an answer that has a status of its own.
    pub(super) fn word(&self) -> Option<&'static str> {
        match self {
            Self::ClientGone => Some("cancelled"),
            Self::Client(..) => Some(ProxyError::HttpRequestError.word()),
            Self::Endpoint(fault, _) => Some(fault.error.word()),
            Self::Gateway(error) => Some(error.word()),
            Self::Unwanted => None,
        }
    }
}

/// What an endpoint did wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) error: ProxyError,
    /// In a few words for an operator.
    pub(super) details: Option<&'static str>,
}

/// A 101 to what nobody asked for.
const OTHER_PROTOCOL: Fault = Fault {
    error: ProxyError::HttpUpgradeFailed,
    details: Some("101 to another protocol than the one that was asked for"),
};

impl From<ProxyError> for Fault {
    fn from(error: ProxyError) -> Self {
        Self {
            error,
            details: None,
        }
    }
}

impl From<BadResponse> for Fault {
    fn from(bad: BadResponse) -> Self {
        Self {
            error: bad.into(),
            details: Some(bad.reason),
        }
    }
}

/// A relay that came to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finished {
    pub(super) status: u16,
    /// The client's connection can carry another request.
    pub(super) client_goes_on: bool,
    /// The endpoint's connection can carry another request.
    pub(super) endpoint_goes_on: bool,
    /// It was a 101: both connections go on in another protocol.
    pub(super) switched: bool,
}

/// The answer as far as it has come.
#[derive(Debug)]
struct Answer {
    status: u16,
    keep_alive: bool,
    close_client: bool,
}

/// A relay under way. It owns nothing that would be lost with it but buffers.
#[derive(Debug)]
pub(super) struct Relay<'r, 'v> {
    client: &'r mut Client,
    endpoint: &'r mut Stream,
    request: &'r mut Request,
    at: &'r Try<'v>,
    policies: &'r Policies,
    tries: &'r Tries<'v>,
    inbox: Inbox,
    download: Pump,
    answer: Option<Answer>,
    uploaded: bool,
    upload_error: Option<io::Error>,
    moved: u64,
    /// How much of an incomplete head has been looked at, in bytes.
    seen: usize,
    /// A byte of the answer has come.
    answered: bool,
    /// The time for this one try ends before that for all of them.
    hurries: bool,
    /// Whether the body of the request keeps up.
    pace: Pace,
    /// How long the interim answers are that were staged for the client.
    interim: usize,
}

impl<'r, 'v> Relay<'r, 'v> {
    pub(super) fn new(
        client: &'r mut Client,
        endpoint: &'r mut Stream,
        request: &'r mut Request,
        at: &'r Try<'v>,
        tries: &'r Tries<'v>,
    ) -> Self {
        let policies = at.policies();
        let buffers = &client.worker.buffers;
        let listener = client.listener();
        let (now, body) = (client.worker.alarms.now(), request.upload.body_bytes());
        let relay = Self {
            pace: Pace::new(listener.body_share, now, listener.header_timeout, body),
            inbox: Inbox::new(buffers),
            download: Pump::new(buffers.output()),
            client,
            endpoint,
            at,
            policies,
            tries,
            answer: None,
            uploaded: false,
            upload_error: None,
            // What an earlier try moved is no progress of this one.
            moved: request.upload.moved,
            request,
            seen: 0,
            answered: false,
            hurries: false,
            interim: 0,
        };
        relay.client.alarm.set(policies.idle_timeout);
        relay
    }

    /// Goes on from what has come of the answer.
    pub(super) fn reading(mut self, inbox: Inbox) -> Self {
        self.inbox = inbox;
        self.answered = true;
        self.at.answer_begins(&self.client.worker);
        self
    }

    /// Whether the client has been sent a part of an answer. Interim ones that are whole are none.
    fn has_answered_client(&self) -> bool {
        self.download.has_sent_beside(self.interim)
    }

    /// Drives both directions as far as they go.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Finished, Failure>> {
        if !self.uploaded
            && self.upload_error.is_none()
            && let Poll::Ready(result) = self.poll_upload(cx)
        {
            result?;
        }
        if let Poll::Ready(result) = self.poll_download(cx) {
            return Poll::Ready(result);
        }
        self.mind_progress();
        if self.awaits_endpoint() && self.client.poll_gone(cx).is_ready() {
            return Poll::Ready(Err(Failure::ClientGone));
        }
        if self.pace.is_set() && !self.uploaded && self.is_behind() {
            return Poll::Ready(Err(self.timed_out()));
        }
        ready!(self.client.alarm.poll_due(cx));
        Poll::Ready(Err(self.timed_out()))
    }

    /// Whether nothing is read from the client at the moment.
    fn awaits_endpoint(&self) -> bool {
        self.uploaded || !self.request.upload.is_flushed()
    }

    fn poll_upload(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let client = &mut *self.client;
        let upload = &mut self.request.upload;
        match ready!(upload.poll_run(&mut client.stream, &mut client.inbox, self.endpoint, cx)) {
            Ok(()) => {
                self.uploaded = true;
                self.await_head();
            }
            // It may have answered before it stopped reading.
            Err(PumpError::Write(error)) => self.upload_error = Some(error),
            Err(PumpError::Ended | PumpError::Read) => {
                return Poll::Ready(Err(Failure::ClientGone));
            }
            Err(error @ (PumpError::Chunk(_) | PumpError::TooLarge)) => {
                let reject = request::reject(&error);
                return Poll::Ready(Err(Failure::Client(reject, self.has_answered_client())));
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Sets the alarm for the head of the answer.
    fn await_head(&mut self) {
        let now = self.client.worker.alarms.now();
        let (span, hurries) = self.request.time_for_head(self.policies, now);
        self.hurries = hurries;
        self.client.alarm.set(span);
    }

    fn poll_download(&mut self, cx: &mut Context<'_>) -> Poll<Result<Finished, Failure>> {
        if self.answer.is_none() {
            ready!(self.poll_head(cx))?;
        }
        let result = ready!(self.download.poll_run(
            self.endpoint,
            &mut self.inbox,
            &mut self.client.stream,
            cx
        ));
        Poll::Ready(match result {
            Ok(()) => Ok(self.finished()),
            Err(PumpError::Write(_)) => Err(Failure::ClientGone),
            Err(PumpError::Ended | PumpError::Read) => {
                Err(self.failure(ProxyError::HttpResponseIncomplete.into()))
            }
            Err(PumpError::Chunk(bad)) => Err(self.failure(BadResponse::from(bad).into())),
            Err(PumpError::TooLarge) => Err(self.failure(ProxyError::HttpProtocolError.into())),
        })
    }

    /// Reads heads up to the final one and stages them.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        loop {
            while self.may_read_head() {
                match self.read_head() {
                    Ok(Head::Final) => return Poll::Ready(Ok(())),
                    Ok(Head::Interim) => self.seen = 0,
                    Ok(Head::Partial) => break,
                    Ok(Head::Unwanted) => return Poll::Ready(Err(Failure::Unwanted)),
                    Err(fault) => return Poll::Ready(Err(self.failure(fault))),
                }
            }
            if !self.download.is_flushed() {
                let client = &mut self.client.stream;
                if let Err(_gone) = ready!(self.download.poll_flush(&mut self.inbox, client, cx)) {
                    return Poll::Ready(Err(Failure::ClientGone));
                }
                // However many there are, they are not all held.
                self.download.forget_sent();
                self.interim = 0;
            }
            self.seen = self.inbox.data().len();
            match ready!(self.inbox.poll_fill(self.endpoint, cx)) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    let fault = ProxyError::ConnectionTerminated.into();
                    return Poll::Ready(Err(self.unseen(fault)));
                }
                Ok(0) | Err(_) => {
                    let error = ProxyError::ConnectionTerminated;
                    return Poll::Ready(Err(self.failure(error.into())));
                }
                Ok(_) => {
                    self.answered = true;
                    self.tries.answer_begins();
                    self.at.answer_begins(&self.client.worker);
                }
            }
        }
    }

    /// Whether another look at the head may show more: a dripping one is not read over and over.
    fn may_read_head(&self) -> bool {
        let data = self.inbox.data();
        !data.is_empty() && (self.seen == 0 || RESPONSE_LIMITS.may_be_complete(data, self.seen))
    }

    fn read_head(&mut self) -> Result<Head, Fault> {
        let mut slots = Slots::new();
        let asked: Asked = self.request.asked();
        let data = self.inbox.data();
        let Some(head) = ResponseHead::parse(data, &RESPONSE_LIMITS, &mut slots, asked)? else {
            return Ok(Head::Partial);
        };
        if !head.is_interim() {
            self.hear(&head);
        }
        if head.status >= 400 && self.is_unwanted(head.status) {
            return Ok(Head::Unwanted);
        }
        if let Some(protocol) = head.upgrade
            && !self.request.switches_to(protocol)
        {
            return Err(OTHER_PROTOCOL);
        }
        let reply = Reply {
            client_version: self.request.version,
            keep_alive: self.keeps_client(),
            request_id: &self.client.request_id,
            ..Reply::default()
        };
        let way = &self.request.way;
        let body = way.write_answer(&head, &reply, self.download.pending());
        let length = head.len;
        if head.is_interim() {
            self.interim = self.download.pending().len();
            self.inbox.consume(length);
            return Ok(Head::Interim);
        }
        let switched = head.upgrade.is_some();
        let answer = Answer {
            status: head.status,
            keep_alive: head.keep_alive,
            close_client: body.close,
        };
        self.download
            .frame(head.body_decoder(), body.encoding, None);
        self.inbox.consume(length);
        if let Err(PumpError::Chunk(bad)) = self.download.stage_first(&mut self.inbox) {
            return Err(BadResponse::from(bad).into());
        }
        self.answer = Some(answer);
        if switched {
            self.download.stage_rest(&mut self.inbox);
        }
        Ok(Head::Final)
    }

    /// Takes note of what a final head says of the endpoint.
    #[inline]
    fn hear(&self, head: &ResponseHead<'_, '_>) {
        self.at.has_status(head.status);
        if self.at.hears() {
            let now = self.client.worker.alarms.now();
            self.tries.hear(self.at, head, now);
        }
    }

    /// Whether an answer of this status is given up for another try.
    fn is_unwanted(&self, status: u16) -> bool {
        let now = self.client.worker.alarms.now();
        !self.has_answered_client() && self.tries.refuses(status, self.request, self.policies, now)
    }

    /// Whether the client's connection may be kept, as far as client and gateway go.
    #[inline]
    fn keeps_client(&self) -> bool {
        self.request.keep_alive && self.request.is_read() && !self.client.is_leaving()
    }

    fn finished(&self) -> Finished {
        let (status, keep_alive, close_client) =
            self.answer.as_ref().map_or((502, false, true), |answer| {
                (answer.status, answer.keep_alive, answer.close_client)
            });
        Finished {
            status,
            switched: status == 101,
            client_goes_on: !close_client && self.request.is_read(),
            endpoint_goes_on: keep_alive
                && self.uploaded
                && self.inbox.is_empty()
                && !self.request.body_unexpected,
        }
    }

    fn failure(&self, fault: Fault) -> Failure {
        let point = match self.answered {
            _ if self.has_answered_client() => Point::Begun,
            true => Point::Broken,
            false => Point::Silent,
        };
        Failure::Endpoint(fault, point)
    }

    /// The endpoint has said that it has not come to the request, and nothing of it will be done.
    #[cold]
    fn unseen(&self, fault: Fault) -> Failure {
        match self.failure(fault) {
            Failure::Endpoint(fault, Point::Silent) => Failure::Endpoint(fault, Point::Connect),
            failure => failure,
        }
    }

    /// Sets the alarm anew when bytes have moved. A head that is waited for has its own time.
    fn mind_progress(&mut self) {
        let moved = self.request.upload.moved + self.download.moved;
        let waits_for_head = self.uploaded && self.answer.is_none();
        if moved != self.moved && !waits_for_head {
            self.client.alarm.set(self.policies.idle_timeout);
        }
        self.moved = moved;
    }

    /// Whether the client sends its body too slowly. One that has not begun waits for a word, maybe, and
    /// has the time of those that stand still.
    #[cold]
    fn is_behind(&mut self) -> bool {
        let client = &*self.client;
        let (now, span) = (client.worker.alarms.now(), client.listener().header_timeout);
        let (upload, body) = (&self.request.upload, self.request.upload.body_bytes());
        if body == 0 || !upload.is_flushed() {
            self.pace.is_held_up();
        }
        let is_behind = self.pace.is_behind(now, span, body);
        client.alarm.looks_in(self.pace.ends().since(now));
        is_behind
    }

    fn timed_out(&self) -> Failure {
        // Either side may be the one that stands still. An endpoint may well wait for the rest of a
        // request before it goes on.
        let awaits_upload = !self.uploaded && self.request.upload.is_flushed();
        match self.answer {
            Some(_) if awaits_upload || !self.download.is_flushed() => Failure::ClientGone,
            None if awaits_upload => Failure::Client(TOO_SLOW, self.has_answered_client()),
            None if self.hurries && self.uploaded && !self.answered => {
                Failure::Endpoint(ProxyError::HttpResponseTimeout.into(), Point::Late)
            }
            _ => match self.failure(ProxyError::HttpResponseTimeout.into()) {
                // It may be at work on it.
                Failure::Endpoint(fault, Point::Silent) => Failure::Endpoint(fault, Point::Broken),
                failure => failure,
            },
        }
    }
}

impl Drop for Relay<'_, '_> {
    fn drop(&mut self) {
        self.at.passed_on(self.download.body_bytes());
        let pending = std::mem::take(self.download.pending());
        self.client.worker.buffers.recycle(pending);
    }
}

/// What was read of an answer's head.
enum Head {
    Final,
    Interim,
    Partial,
    /// Given up for another try.
    Unwanted,
}
