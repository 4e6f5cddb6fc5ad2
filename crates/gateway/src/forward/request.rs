//! A request as it is carried through the gateway.

use evenkeel_core::Nanos;
use evenkeel_http1::{Asked, Forward, Framing, Method, Reject, RequestHead, Slots, Version};

use super::client::Client;
use super::pump::{Pump, PumpError};
use super::retry::Repeatable;
use crate::access::Notes;
use crate::cluster::Policies;
use crate::route::{Destination, Way};
use crate::span::Text;
use crate::stream::Stream;
use crate::upstream::Silence;
use crate::worker::{Entry, Worker};

/// A time that does not come.
const NEVER: Nanos = Nanos(u64::MAX);

/// A request whose head has been read, and what is to be sent for it.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) version: Version,
    /// The client is willing to go on with this connection.
    pub(super) keep_alive: bool,
    /// It has a body that its method gives no meaning to: an endpoint may leave it unread and take it
    /// for the next request.
    pub(super) body_unexpected: bool,
    pub(super) started: Nanos,
    /// How long its body is at least: its length if that was said, else 0.
    pub(super) at_least: u64,
    /// When the head of its answer is due, however often it is tried; [`NEVER`] before it has been
    /// sent.
    pub(super) due: Nanos,
    pub(super) way: Way,
    /// The protocol that the client asks to switch to, which was passed on.
    pub(super) upgrade: Option<Box<[u8]>>,
    /// The head for the endpoint and the body behind it.
    pub(super) upload: Pump,
}

impl Request {
    /// Room for a request.
    pub(super) fn none() -> Self {
        Self {
            method: Method::Other,
            version: Version::Http11,
            keep_alive: false,
            body_unexpected: false,
            started: Nanos(0),
            at_least: 0,
            due: NEVER,
            way: Way::nowhere(),
            upgrade: None,
            upload: Pump::new(Vec::new()),
        }
    }

    /// Keeps nothing of a request that is not carried out.
    pub(super) fn forget(&mut self) {
        *self = Self::none();
    }

    /// Reads a request from the start of what the client sent; false when more is needed.
    ///
    /// # Errors
    ///
    /// When it cannot be read in one way only, or is larger than it may be. What is known of it by then
    /// stands in the client's id and notes and in the way.
    pub(super) fn read(&mut self, client: &mut Client) -> Result<bool, Reject> {
        let mut slots = Slots::new();
        client.request_id.clear();
        let listener = &*client.entry.listener;
        let data = client.inbox.data();
        let Some(head) = RequestHead::parse(data, &listener.limits, &mut slots)? else {
            return Ok(false);
        };
        let most = listener.config.limits.body;
        // What is behind a body would have to wait for its end, and nobody asks like this.
        let upgrade = head.upgrade.filter(|_| !head.framing.has_body());
        let worker = &client.worker;
        name(&mut client.request_id, &head, worker);
        let parent = begin_notes(client, &head);
        begin_trace(client, &head);
        let mut out = worker.buffers.output();
        let via = Forward {
            client: &client.peer,
            proto: client.proto,
            trusted: client.trusted,
            request_id: &client.request_id,
            fallback_host: "localhost",
            upgrade: upgrade.is_some(),
            trace: parent.as_ref().map(Text::as_str),
            ..Forward::default()
        };
        let encoding = self
            .way
            .begin(worker, &client.entry, &head, &via, &mut out)?;
        self.upload = Pump::new(out);
        self.upload.frame(head.body_decoder(), encoding, most);
        self.take_in(&head);
        self.upgrade = upgrade.map(Box::from);
        self.started = worker.now();
        client
            .notes
            .note(|notes| self.note_way(notes, &client.entry));
        if most.is_some_and(|most| self.at_least > most) {
            return Err(too_large());
        }
        let length = head.len;
        client.inbox.consume(length);
        // What of the body has come with the head leaves with it, in one write.
        let staged = self.upload.stage_first(&mut client.inbox);
        staged.map(|()| true).map_err(|error| reject(&error))
    }

    /// Notes what is needed of the head once it has been sent.
    #[inline]
    fn take_in(&mut self, head: &RequestHead<'_, '_>) {
        self.method = head.method;
        self.version = head.version;
        self.keep_alive = head.keep_alive;
        self.body_unexpected = head.body_unexpected;
        self.at_least = match head.framing {
            Framing::Length(length) => length,
            _ => 0,
        };
        self.due = NEVER;
    }

    /// Notes when it began, and where it goes.
    fn note_way(&self, notes: &mut Notes, entry: &Entry) {
        let cluster = match self.way.to {
            Destination::Cluster(place) => Some(&entry.plan.clusters[place].cluster),
            _ => None,
        };
        let cluster = cluster.map(|cluster| cluster.shared_name());
        notes.goes_to(cluster, self.way.priority, self.started);
    }

    /// What the answer's reader has to know of the question.
    pub(super) fn asked(&self) -> Asked {
        Asked {
            head: self.method == Method::Head,
            upgrade: self.upgrade.is_some(),
        }
    }

    /// Whether that is the protocol that the client asks to switch to.
    pub(super) fn switches_to(&self, protocol: &[u8]) -> bool {
        let asked = self.upgrade.as_ref();
        asked.is_some_and(|asked| asked.eq_ignore_ascii_case(protocol))
    }

    /// Whether it may be sent a second time.
    pub(super) fn repeatable(&self) -> Repeatable {
        Repeatable {
            idempotent: self.method.is_idempotent(),
            unsent: !self.upload.has_sent(),
            whole: self.upload.is_repeatable(),
        }
    }

    /// Whether a copy of it can be sent beside it: it does no harm, and all of it is here.
    pub(super) fn can_be_doubled(&self) -> bool {
        let what = self.repeatable();
        what.idempotent && what.whole && self.is_read() && self.upgrade.is_none()
    }

    /// How long the head of its answer may take from `now` on, and whether that is the time for this
    /// one try: it may be what is left of the time for all of them.
    pub(super) fn time_for_head(&mut self, policies: &Policies, now: Nanos) -> (Nanos, bool) {
        let most = self.way.timeout.unwrap_or(policies.response_timeout);
        if self.due == NEVER {
            self.due = now + most;
        }
        let left = self.due.since(now);
        let own = policies.retry.per_try_timeout;
        let own = own.filter(|own| *own < left);
        (own.unwrap_or(left), own.is_some())
    }

    /// Counts the time for the head of its answer from the request on, since it waits for an endpoint; and
    /// says when it is over.
    pub(super) fn wait_counts(&mut self, response_timeout: Nanos) -> Nanos {
        let most = self.way.timeout.unwrap_or(response_timeout);
        if self.due == NEVER {
            self.due = self.started + most;
        }
        self.due
    }

    /// Keeps what is sent if it may have to be sent again; what is known to be too long is not.
    ///
    /// An endpoint of HTTP/2 may say that it has not begun with a request when all of it is sent.
    pub(super) fn keep(&mut self, policies: &Policies) {
        let most = policies.retry.body;
        if self.may_be_kept(most) || (policies.http2 && self.at_least <= most) {
            self.upload.keep(most);
        }
    }

    fn may_be_kept(&self, most: u64) -> bool {
        self.method.is_idempotent() && self.at_least <= most
    }

    /// How sure it must be that a kept connection stands: a request that cannot be sent once more is
    /// lost with it.
    #[inline]
    pub(super) fn needs(&self, policies: &Policies) -> Silence {
        if self.may_be_kept(policies.retry.body) {
            Silence::AsNoticed
        } else {
            Silence::AsAsked
        }
    }

    /// Whether the client's connection can carry another request: its body has been read.
    pub(super) fn is_read(&self) -> bool {
        self.upload.is_staged()
    }
}

/// The id of a request: the one that it came with, or a new one.
#[inline]
fn name(id: &mut String, head: &RequestHead<'_, '_>, worker: &Worker) {
    id.clear();
    match head.request_id() {
        Some(given) => id.push_str(given),
        None => worker.make_request_id(id),
    }
}

/// Begins the notes of a request, if anybody wants them; and says what its `traceparent` is from here on, if it
/// is in a trace that we record.
#[inline]
fn begin_notes(client: &Client, head: &RequestHead<'_, '_>) -> Option<Text> {
    let (worker, id) = (&client.worker, &client.request_id);
    let spans = worker.spans.as_ref();
    let span = spans.and_then(|spans| spans.enter(head.field("traceparent"), id));
    client.notes.note(|notes| {
        let log = worker.access.as_ref();
        let wanted = log.is_some_and(|log| log.wants(id));
        let http2 = matches!(client.stream, Stream::Incoming(_));
        notes.begin(head, http2, wanted, span);
    });
    span.map(|span| span.text())
}

/// Begins the record of its decisions, if anybody wants it.
#[inline]
fn begin_trace(client: &Client, head: &RequestHead<'_, '_>) {
    if let Some(recorder) = &client.worker.recorder
        && let Some(header) = recorder.header()
        && head.field(header).is_some()
    {
        client.trace.ask();
    }
    client.trace.watch(head);
}

/// What the client is told of a body of its own that did not get through.
pub(super) fn reject(error: &PumpError) -> Reject {
    match error {
        PumpError::Chunk(bad) => (*bad).into(),
        PumpError::TooLarge => too_large(),
        PumpError::Ended | PumpError::Read | PumpError::Write(_) => Reject {
            status: 400,
            reason: "the request ended before its body did",
        },
    }
}

fn too_large() -> Reject {
    Reject {
        status: 413,
        reason: "request body is larger than the limit",
    }
}

/// What a client is told that did not send its request in time.
pub(super) const TOO_SLOW: Reject = Reject {
    status: 408,
    reason: "the request did not arrive in time",
};
