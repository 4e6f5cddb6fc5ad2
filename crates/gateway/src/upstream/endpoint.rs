//! What one worker keeps of an endpoint: idle connections and counters.

use std::cell::{Cell, RefCell};
use std::io;
use std::mem::MaybeUninit;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use evenkeel_core::{Nanos, Serial, Signal, SignalSum};
use socket2::SockRef;

use super::connect::{ConnectError, Connected, Dial, connect};
use super::keeping::Keeping;
use super::streams::SharedConnections;
use crate::cluster::{EndpointCounters, Target};
use crate::descriptors::Descriptors;
use crate::stream::Stream;

/// How many idle connections a worker keeps to one endpoint.
const IDLE_MAX: usize = 256;

/// An endpoint as one worker uses it.
#[derive(Debug)]
pub(crate) struct LocalEndpoint {
    pub(crate) target: Arc<Target>,
    pub(crate) counters: Arc<EndpointCounters>,
    /// The identity of its record.
    pub(crate) serial: Serial,
    /// What was heard of its load since the worker's last pulse.
    heard: Cell<SignalSum>,
    /// Whether it is being asked for its load.
    is_asked: Cell<bool>,
    /// The most recently used one last.
    idle: RefCell<Vec<Idle>>,
    keeping: Cell<Keeping>,
    /// Where it speaks HTTP/2.
    shared: SharedConnections,
}

#[derive(Debug)]
struct Idle {
    connected: Connected,
    since: Nanos,
}

impl LocalEndpoint {
    pub(crate) fn new(
        target: Arc<Target>,
        counters: Arc<EndpointCounters>,
        serial: Serial,
    ) -> Self {
        Self {
            target,
            counters,
            serial,
            heard: Cell::default(),
            is_asked: Cell::new(false),
            idle: RefCell::new(Vec::new()),
            keeping: Cell::default(),
            shared: SharedConnections::default(),
        }
    }

    /// Opens a connection for a request, or a stream on one.
    ///
    /// # Errors
    ///
    /// When there is none. Nothing was sent.
    pub(crate) async fn open(
        &self,
        dial: &Dial,
        descriptors: &Arc<Descriptors>,
    ) -> Result<Connected, ConnectError> {
        if dial.http2 {
            return Box::pin(self.shared.open(&self.target, dial, descriptors)).await;
        }
        connect(&self.target, dial, descriptors).await
    }

    /// Adds up what is heard of its load.
    pub(crate) fn hear(&self, signal: Signal) {
        let mut heard = self.heard.get();
        heard.add(signal);
        self.heard.set(heard);
    }

    /// Begins to ask it for its load, unless that is under way.
    pub(crate) fn begin_asking(&self) -> bool {
        !self.is_asked.replace(true)
    }

    pub(crate) fn end_asking(&self) {
        self.is_asked.set(false);
    }

    /// Hands what was heard to the control side.
    pub(crate) fn pour(&self) {
        let heard = self.heard.take();
        if !heard.is_empty() {
            self.counters.pour(heard);
        }
    }

    /// The connection used last, within `timeout`, that is still silent: one on which bytes or an end
    /// wait is useless.
    pub(crate) fn take_idle(
        self: &Rc<Self>,
        now: Nanos,
        timeout: Nanos,
        silence: Silence,
    ) -> Option<Carrier> {
        loop {
            let idle = {
                let mut idle = self.idle.borrow_mut();
                let age = now.since(idle.last()?.since);
                if silence == Silence::AsAsked && !self.keeping.get().trusts(age, now) {
                    // It is left to those that can do without it.
                    return None;
                }
                idle.pop()?
            };
            self.counters.connections(-1, 0);
            let (age, stream) = (now.since(idle.since), &idle.connected.stream);
            if age >= timeout {
                continue;
            }
            if is_silent(stream) && (silence == Silence::AsNoticed || is_silent_now(stream)) {
                return Some(Carrier::new(self, idle.connected));
            }
            self.keeping.set(self.keeping.get().ended(age, now));
        }
    }

    fn put_idle(&self, connected: Connected, now: Nanos) {
        let mut idle = self.idle.borrow_mut();
        if idle.len() < IDLE_MAX {
            idle.push(Idle {
                connected,
                since: now,
            });
            self.counters.connections(1, 0);
        }
    }

    /// Closes connections that have been idle for `timeout`, and those that their endpoint closed.
    pub(crate) fn close_stale(&self, now: Nanos, timeout: Nanos) {
        self.shared.close_stale(now, timeout);
        let mut idle = self.idle.borrow_mut();
        let before = idle.len();
        idle.retain(|idle| {
            let age = now.since(idle.since);
            let is_silent = is_silent(&idle.connected.stream);
            if !is_silent {
                self.keeping.set(self.keeping.get().ended(age, now));
            }
            is_silent && age < timeout
        });
        let closed = before - idle.len();
        self.counters.connections(-(closed as i64), 0);
    }
}

impl Drop for LocalEndpoint {
    fn drop(&mut self) {
        let idle = self.idle.get_mut().len() as i64;
        self.counters.connections(-idle, 0);
    }
}

/// How sure it must be that an endpoint has not ended an idle connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// As far as the runtime knows, from the last time that it asked the system about all connections.
    /// For requests that another connection may carry if this one turns out to have ended.
    AsNoticed,
    /// The system is asked about this connection now, by one call, and one that has been idle for about
    /// as long as the endpoint keeps them is not used.
    ///
    /// Always, however short it was idle: endpoints that close early are the ones that lose requests,
    /// and the call costs a fiftieth of what the request does.
    AsAsked,
}

/// Whether nothing has come in since the last answer, as far as the system knows.
fn is_silent_now(stream: &Stream) -> bool {
    let peek = |socket: SockRef<'_>| socket.peek(&mut [MaybeUninit::uninit()]);
    let peeked = stream.socket().and_then(peek);
    peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// Whether nothing has come in since the last answer, as far as the runtime knows: no system call.
fn is_silent(stream: &Stream) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    stream.poll_read_ready(&mut cx).is_pending()
}

/// A connection that carries a request. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Carrier {
    connected: Connected,
    count: ActiveCount,
}

/// Counts a connection that carries a request.
#[derive(Debug)]
struct ActiveCount(Rc<LocalEndpoint>);

impl Drop for ActiveCount {
    fn drop(&mut self) {
        self.0.counters.connections(0, -1);
    }
}

impl Carrier {
    pub(crate) fn new(endpoint: &Rc<LocalEndpoint>, connected: Connected) -> Self {
        endpoint.counters.connections(0, 1);
        Self {
            connected,
            count: ActiveCount(Rc::clone(endpoint)),
        }
    }

    #[inline]
    pub(crate) fn stream(&mut self) -> &mut Stream {
        &mut self.connected.stream
    }

    /// Keeps the connection for the next request.
    pub(crate) fn give_back(self, now: Nanos) {
        if matches!(self.connected.stream, Stream::Outgoing(_)) {
            // It carries one; its connection carries more.
            return;
        }
        self.count.0.put_idle(self.connected, now);
    }
}
