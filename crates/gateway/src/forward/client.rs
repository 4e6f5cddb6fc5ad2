//! A client's connection: one request after another.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, ready};

use evenkeel_config::Protocol;
use evenkeel_core::{Nanos, Priority};
use evenkeel_http1::{GatewayReply, Reject, gateway_reply};
use evenkeel_preface::{Addresses, ProxyHeader, ProxyVersion};
use tokio::io::AsyncWrite;

use super::desk::Visit;
use super::exchange::After;
use super::hearing::Next;
use super::http2;
use super::opening::open;
use super::request::Request;
use crate::access::{Ending, Noted};
use crate::cluster::{CodeClass, Policies};
use crate::decision::Trace;
use crate::http2::Incoming;
use crate::listener::{Listener, Seat};
use crate::stream::Stream;
use crate::upstream::{Carrier, Dial};
use crate::worker::alarm::Alarm;
use crate::worker::buffer::Inbox;
use crate::worker::{ClusterWorker, Entry, Worker};

/// How long a connection stays half open after an answer that came before the request's end: closed
/// at once, the client's system might throw the answer away.
const LINGER: Nanos = Nanos::from_secs(1);

/// How much of such a request is read and dropped, in bytes.
const LINGER_BYTES: usize = 1 << 20;

/// Serves a connection in a task of its own.
///
/// A peer on a unix socket has no address; it is `unknown`, as RFC 7239 calls one that is there and
/// cannot be named.
pub(crate) fn serve(
    worker: &Rc<Worker>,
    entry: Entry,
    seat: Seat,
    stream: Stream,
    peer: Option<SocketAddr>,
) {
    worker.connections.set(worker.connections.get() + 1);
    let begins_with_http = entry.listener.begins_with_http();
    let mut client = Client {
        worker: Rc::clone(worker),
        trusted: false,
        proto: "http",
        entry,
        address: None,
        destination: None,
        _seat: Some(seat),
        stream,
        inbox: Inbox::new(&worker.buffers),
        alarm: worker.alarms.alarm(),
        peer: Box::default(),
        request_id: String::new(),
        notes: worker.notes(),
        trace: Trace::new(worker.recorder.as_ref()),
        ended: false,
        resting: false,
        switched: None,
    };
    client.name(peer);
    if begins_with_http {
        tokio::task::spawn_local(client.run());
    } else {
        tokio::task::spawn_local(open(client));
    }
}

/// A client's connection.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) worker: Rc<Worker>,
    /// Where the request in hand came in; a newer one is taken over between requests.
    pub(super) entry: Entry,
    /// A stream has none: its connection has.
    _seat: Option<Seat>,
    pub(super) stream: Stream,
    pub(super) inbox: Inbox,
    pub(super) alarm: Alarm,
    pub(super) peer: Box<str>,
    /// Its address; none on a unix socket.
    pub(super) address: Option<SocketAddr>,
    /// Where it connected to, if somebody in front says so.
    pub(super) destination: Option<Box<SocketAddr>>,
    /// The id of the request in hand; its memory serves the next one too.
    pub(super) request_id: String,
    pub(super) trusted: bool,
    /// The decisions made for the request in hand.
    pub(super) trace: Trace,
    /// The scheme that it speaks.
    pub(super) proto: &'static str,
    /// What happens to the request in hand, for the access log.
    pub(super) notes: Noted,
    /// The client has ended its side.
    pub(super) ended: bool,
    /// A client that is kept for the next stream, and counts for nothing until then.
    resting: bool,
    /// The endpoint that it speaks another protocol with from now on.
    pub(super) switched: Option<Box<Carrier>>,
}

impl Client {
    /// Says who the peer is.
    pub(super) fn name(&mut self, peer: Option<SocketAddr>) {
        let ip = peer.map(|peer| peer.ip());
        self.address = peer;
        self.peer = ip.map_or_else(|| "unknown".into(), |ip| ip.to_string().into());
        self.trusted = self.entry.listener.config.trusts(ip);
    }

    /// Serves requests, one after another.
    ///
    /// What is rare is boxed, and requests are served at a desk: a task is as large as its largest state,
    /// for as long as it idles too.
    pub(super) fn run(self) -> impl Future<Output = ()> {
        let request = Request::none();
        let mut visit = Box::new(Visit {
            client: self,
            request,
        });
        async move {
            let mut fresh = true;
            loop {
                let Visit { client, request } = &mut *visit;
                match client.next(fresh, request).await {
                    Next::Closed => return visit.client.stream.part(),
                    Next::Refused(reject) => {
                        let place = request.way.cluster();
                        return Box::pin(visit.client.refuse(reject, place)).await;
                    }
                    Next::Http2 => return http2::serve(visit.client).await,
                    Next::Request => {}
                }
                let after;
                (visit, after) = visit.serve().await;
                match after {
                    After::Abort => return,
                    After::Close => return Box::pin(visit.client.close()).await,
                    After::KeepAlive => fresh = false,
                }
            }
        }
    }

    /// One who sends one request, on a stream of this connection.
    pub(super) fn on_stream(&self, stream: Incoming) -> Self {
        let worker = &self.worker;
        worker.connections.set(worker.connections.get() + 1);
        Self {
            worker: Rc::clone(worker),
            entry: self.entry.clone(),
            _seat: None,
            stream: Stream::Incoming(Box::new(stream)),
            inbox: Inbox::new(&worker.buffers),
            alarm: worker.alarms.alarm(),
            peer: self.peer.clone(),
            address: self.address,
            destination: self.destination.clone(),
            request_id: String::new(),
            trusted: self.trusted,
            trace: Trace::new(worker.recorder.as_ref()),
            proto: self.proto,
            notes: worker.notes(),
            ended: false,
            resting: false,
            switched: None,
        }
    }

    /// Becomes the one who sends the request on a stream of that connection.
    pub(super) fn take_stream(&mut self, of: &Self, stream: Incoming) {
        let connections = &self.worker.connections;
        connections.set(connections.get() + 1);
        self.resting = false;
        self.ended = false;
        self.stream = Stream::Incoming(Box::new(stream));
        if !self.entry.is(&of.entry) {
            self.entry.clone_from(&of.entry);
        }
        self.address = of.address;
        if self.peer != of.peer {
            self.peer.clone_from(&of.peer);
        }
        self.destination.clone_from(&of.destination);
        (self.trusted, self.proto) = (of.trusted, of.proto);
    }

    /// Lets go of a stream, and is ready for the next one.
    pub(super) fn leave_stream(&mut self) {
        let connections = &self.worker.connections;
        connections.set(connections.get() - 1);
        self.resting = true;
        if let Stream::Incoming(stream) = &mut self.stream {
            self.worker.buffers.recycle(stream.take_memory());
        }
        self.stream = Stream::Taken;
        self.switched = None;
        self.inbox.clear();
        self.alarm.rest();
    }

    /// Whether it goes by the newest plan.
    pub(super) fn is_newest(&self) -> bool {
        Rc::ptr_eq(&self.entry.plan, &self.worker.plan.borrow())
    }

    pub(super) fn listener(&self) -> &Listener {
        &self.entry.listener
    }

    /// Whether the connection ends with the answer in hand, because the gateway or its listener goes.
    pub(super) fn is_leaving(&self) -> bool {
        self.worker.draining.get() || self.entry.leaving
    }

    /// How a connection to an endpoint begins for this client.
    pub(super) fn dial(&self, policies: &Policies) -> Dial {
        let greeting = match policies.proxy_protocol {
            None => Box::default(),
            Some(version) => self.greeting(version),
        };
        Dial {
            timeout: policies.connect_timeout,
            greeting,
            tls: policies.tls.clone(),
            http2: policies.http2 && self.listener().config.protocol == Protocol::Http,
            buffers: Rc::clone(&self.worker.buffers),
        }
    }

    /// The PROXY header that says who it is.
    #[cold]
    fn greeting(&self, version: ProxyVersion) -> Box<[u8]> {
        let said = self.destination.as_deref().copied();
        let here = || self.stream.socket().ok()?.local_addr().ok()?.as_socket();
        let both = self.address.zip(said.or_else(here));
        let addresses = both.map(|(source, destination)| Addresses {
            source,
            destination,
        });
        let mut greeting = Vec::new();
        ProxyHeader { addresses }.write(version, &mut greeting);
        greeting.into()
    }

    /// Goes by the newest configuration from here on.
    #[inline]
    pub(super) fn refresh(&mut self) {
        if self.entry.refresh(&self.worker) {
            let ip = self.address.map(|peer| peer.ip());
            self.trusted = self.entry.listener.config.trusts(ip);
        }
    }

    /// The cluster that requests of this connection go to.
    pub(super) fn cluster(&self) -> Option<Rc<ClusterWorker>> {
        let place = self.listener().cluster?;
        self.entry.plan.clusters.get(place).map(Rc::clone)
    }

    /// Answers a request that cannot be read, and closes. It is one for the cluster at this place, if it was
    /// read so far, or for that of the listener.
    pub(super) async fn refuse(&mut self, reject: Reject, place: Option<usize>) {
        let cluster = match place {
            Some(place) => self.entry.plan.clusters.get(place).map(Rc::clone),
            None => self.cluster(),
        };
        if self.request_id.is_empty() {
            self.worker.make_request_id(&mut self.request_id);
        }
        let mut out = self.worker.buffers.output();
        let mut reply = GatewayReply::refused(reject, &self.request_id);
        if let Some(cluster) = &cluster {
            let class = CodeClass::of(reject.status);
            cluster.counters.own.finish(class, Nanos(0));
            reply.cluster = Some(cluster.cluster.name());
        } else {
            self.worker.shared.count_unrouted(reject.status);
        }
        gateway_reply(&mut out, &reply);
        self.notes.note(|notes| {
            if !notes.has_begun() {
                let name = cluster.map(|cluster| cluster.cluster.shared_name());
                notes.goes_to(name, Priority::Default, self.worker.now());
            }
            notes.refused(reply.status, reply.error);
            notes.passed_on(body_len(&out));
        });
        let sent = self.send(&out).await.is_ok();
        self.log_request(0);
        if sent {
            self.close().await;
        }
    }

    /// Begins to take notes of a connection whose bytes are passed on. It has no id of its own, so that
    /// one is made for its line and its receipt.
    pub(super) fn begin_notes(&mut self) {
        let worker = &self.worker;
        if worker.access.is_none() && worker.recorder.is_none() {
            return;
        }
        self.request_id.clear();
        worker.make_request_id(&mut self.request_id);
        let log = worker.access.as_ref();
        let wanted = log.is_some_and(|log| log.wants(&self.request_id));
        self.notes.note(|notes| notes.connects(wanted));
    }

    /// Writes the request in hand to the access log, if there is one.
    #[inline]
    pub(super) fn log_request(&self, bytes_in: u64) {
        self.notes.note(|notes| {
            let ending = Ending {
                now: self.worker.now(),
                request_id: &self.request_id,
                listener: self.listener().name(),
                client: self.address.map(|peer| peer.ip()),
                bytes_in,
            };
            notes.finish(
                self.worker.access.as_ref(),
                self.worker.spans.as_ref(),
                &ending,
            );
        });
    }

    /// Sends an answer of our own.
    pub(super) async fn send(&mut self, data: &[u8]) -> io::Result<()> {
        self.alarm.set(self.listener().idle_timeout);
        let mut sent = 0;
        poll_fn(|cx| {
            while sent < data.len() {
                match Pin::new(&mut self.stream).poll_write(cx, &data[sent..]) {
                    Poll::Ready(count) => sent += count?,
                    Poll::Pending => {
                        ready!(self.alarm.poll_due(cx));
                        return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                    }
                }
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Sees to it that the connection ends with a reset. Nothing else tells a client of HTTP/1.0 that
    /// an answer without a length was cut.
    pub(super) fn reset_at_end(&self) {
        self.stream.reset_at_end();
    }

    /// Ends our side, and reads on for a while so that the answer is not lost.
    pub(super) async fn close(&mut self) {
        self.alarm.set(LINGER);
        let mut dropped = self.inbox.data().len();
        self.inbox.clear();
        poll_fn(|cx| {
            if let Poll::Ready(Err(_)) = Pin::new(&mut self.stream).poll_shutdown(cx) {
                return Poll::Ready(());
            }
            while let Poll::Ready(read) = self.inbox.poll_fill(&mut self.stream, cx) {
                let Ok(count @ 1..) = read else {
                    return Poll::Ready(());
                };
                self.inbox.consume(count);
                dropped += count;
                if dropped > LINGER_BYTES {
                    return Poll::Ready(());
                }
            }
            self.alarm.poll_due(cx)
        })
        .await;
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if !self.resting {
            let connections = &self.worker.connections;
            connections.set(connections.get() - 1);
        }
    }
}

/// How long the body of an answer of the gateway's own is, in bytes.
pub(super) fn body_len(answer: &[u8]) -> u64 {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    end.map_or(0, |end| (answer.len() - end - 4) as u64)
}
