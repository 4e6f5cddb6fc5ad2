//! Hedging: another endpoint is asked too when one has been silent for a while, and the one that
//! speaks first is heard.
//!
//! The second try sends a copy of the request and waits for a byte of the answer; whatever that says
//! is for the relay, which takes its connection over. The one that comes second is dropped with its
//! connection and blames nobody.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use evenkeel_core::{Nanos, Outcome};
use evenkeel_http1::ProxyError;
use tokio::io::AsyncWrite;
use tokio::time::Sleep;

use super::attempt::{attempt, relay_found};
use super::client::Client;
use super::relay::{Failure, Finished};
use super::request::Request;
use super::retry::Point;
use super::tries::{Tries, Try};
use crate::cluster::Policies;
use crate::upstream::{Carrier, Dial, LocalEndpoint, Silence};
use crate::worker::Worker;
use crate::worker::buffer::Inbox;

/// A connection on which an answer has begun, with what has come of it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) carrier: Carrier,
    pub(super) inbox: Inbox,
}

type Scouting = Pin<Box<dyn Future<Output = Result<Found, Failure>>>>;

/// After how long another endpoint is asked too, where the cluster says so and the request may be
/// doubled.
pub(super) fn hedge_after(request: &Request, at: &Try<'_>) -> Option<Nanos> {
    let after = at.policies().retry.hedge_after;
    after.filter(|_| request.can_be_doubled())
}

/// Sends the request to one endpoint, and to another one beside it if it takes too long. `at` is the
/// one that was heard in the end.
///
/// To be boxed, so that what does not hedge has no room for it in its task.
///
/// # Errors
///
/// As [`attempt`].
pub(super) async fn race<'v>(
    client: &mut Client,
    request: &mut Request,
    at: &mut Try<'v>,
    tries: &Tries<'v>,
    after: Nanos,
) -> Result<Finished, Failure> {
    let mut second = Second::new(client, request, at, tries, after);
    let first = {
        let mut first = pin!(attempt(client, request, at, tries));
        poll_fn(|cx| match first.as_mut().poll(cx) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending => second.poll(cx).map(|()| None),
        })
        .await
    };
    let now = client.worker.now();
    if let Some(result) = first {
        let Err(
            failure @ Failure::Endpoint(_, point @ (Point::Connect | Point::Silent | Point::Late)),
        ) = &result
        else {
            return result;
        };
        let Some(next) = second.take_try() else {
            return result;
        };
        // It is paid for and under way, so it goes on alone.
        let failed = std::mem::replace(at, next);
        failed.failed(failure);
        failed.note_failure(tries);
        failed.finish(Outcome::Failure, now);
        if *point == Point::Connect {
            client.worker.shared.resolver.ask();
        }
        second.wait_alone(client, request).await?;
    } else if let Some(next) = second.take_try() {
        let overtaken = std::mem::replace(at, next);
        overtaken.failed(&Failure::ClientGone);
        overtaken.finish(Outcome::Cancelled, now);
    }
    let Some(found) = second.found.take() else {
        // Only what was found ends the waiting.
        return Err(lost(ProxyError::ConnectionTerminated, Point::Silent));
    };
    at.note(&mut request.way);
    request.upload.was_sent_elsewhere();
    relay_found(client, request, found, at, tries).await
}

/// The second try, from before it is made up to the first byte of its answer.
struct Second<'t, 'v> {
    worker: Rc<Worker>,
    tries: &'t Tries<'v>,
    /// Those of the first try.
    policies: &'v Policies,
    delay: Pin<Box<Sleep>>,
    /// How its connection begins.
    dial: Dial,
    /// What is sent; gone once it is.
    copy: Option<Vec<u8>>,
    scout: Option<(Option<Try<'v>>, Scouting)>,
    found: Option<Found>,
}

impl<'t, 'v> Second<'t, 'v> {
    fn new(
        client: &Client,
        request: &Request,
        first: &Try<'v>,
        tries: &'t Tries<'v>,
        after: Nanos,
    ) -> Self {
        tries.begin();
        let mut copy = client.worker.buffers.output();
        copy.extend_from_slice(request.upload.staged());
        Self {
            worker: Rc::clone(&client.worker),
            tries,
            policies: first.policies(),
            dial: client.dial(first.policies()),
            delay: Box::pin(tokio::time::sleep(Duration::from(after))),
            copy: Some(copy),
            scout: None,
            found: None,
        }
    }

    /// Ready when an answer to it has begun before one to the first try.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.tries.has_begun() {
            self.scout = None;
            self.copy = None;
            return Poll::Pending;
        }
        if self.copy.is_some() {
            ready!(self.delay.as_mut().poll(cx));
            self.start();
        }
        let Some((_, scout)) = &mut self.scout else {
            return Poll::Pending;
        };
        match ready!(scout.as_mut().poll(cx)) {
            Ok(found) => {
                self.found = Some(found);
                Poll::Ready(())
            }
            Err(failure) => {
                self.fail(&failure);
                Poll::Pending
            }
        }
    }

    fn start(&mut self) {
        let (Some(copy), now) = (self.copy.take(), self.worker.now()) else {
            return;
        };
        if let Some(at) = self.tries.hedge(self.policies, now) {
            let worker = Rc::clone(&self.worker);
            let endpoint = Rc::clone(at.endpoint());
            let policies = at.policies();
            let dial = self.dial.clone();
            let scout = scout(worker, endpoint, copy, dial, policies.pool_idle_timeout);
            let scout = Box::pin(scout);
            self.scout = Some((Some(at), scout));
        }
    }

    /// It failed while the first one goes on.
    fn fail(&mut self, failure: &Failure) {
        let Some(at) = self.take_try() else {
            return;
        };
        self.scout = None;
        let now = self.worker.now();
        match failure {
            Failure::Endpoint(..) => {
                at.failed(failure);
                at.note_failure(self.tries);
                at.finish(Outcome::Failure, now);
            }
            _ => at.finish(Outcome::Cancelled, now),
        }
    }

    fn take_try(&mut self) -> Option<Try<'v>> {
        self.scout.as_mut()?.0.take()
    }

    /// Waits for the first byte when there is nobody else to wait for.
    async fn wait_alone(
        &mut self,
        client: &mut Client,
        request: &mut Request,
    ) -> Result<(), Failure> {
        let now = client.worker.now();
        let (span, hurries) = request.time_for_head(self.policies, now);
        client.alarm.set(span);
        poll_fn(|cx| {
            let Some((_, scout)) = &mut self.scout else {
                return Poll::Ready(Ok(()));
            };
            if let Poll::Ready(result) = scout.as_mut().poll(cx) {
                return Poll::Ready(result.map(|found| self.found = Some(found)));
            }
            if client.poll_gone(cx).is_ready() {
                return Poll::Ready(Err(Failure::ClientGone));
            }
            ready!(client.alarm.poll_due(cx));
            let point = if hurries { Point::Late } else { Point::Broken };
            Poll::Ready(Err(lost(ProxyError::HttpResponseTimeout, point)))
        })
        .await
    }
}

fn lost(error: ProxyError, point: Point) -> Failure {
    Failure::Endpoint(error.into(), point)
}

/// Sends the request and waits for a byte of the answer. A kept-alive connection that dies before is
/// replaced by a new one.
async fn scout(
    worker: Rc<Worker>,
    endpoint: Rc<LocalEndpoint>,
    bytes: Vec<u8>,
    dial: Dial,
    pool_idle_timeout: Nanos,
) -> Result<Found, Failure> {
    let mut result = Err(io::ErrorKind::ConnectionReset.into());
    // It is doubled only because that does no harm.
    if let Some(carrier) =
        endpoint.take_idle(worker.alarms.now(), pool_idle_timeout, Silence::AsNoticed)
    {
        result = call(&worker, carrier, &bytes).await;
    }
    if result.is_err() {
        let descriptors = &worker.shared.descriptors;
        let connected = endpoint.open(&dial, descriptors).await;
        let connected = connected.map_err(|error| match error.is_ours() {
            true => Failure::Gateway(error.proxy_error()),
            false => lost(error.proxy_error(), Point::Connect),
        })?;
        let carrier = Carrier::new(&endpoint, connected);
        result = call(&worker, carrier, &bytes).await;
    }
    worker.buffers.recycle(bytes);
    result.map_err(|_| lost(ProxyError::ConnectionTerminated, Point::Silent))
}

async fn call(worker: &Worker, mut carrier: Carrier, bytes: &[u8]) -> io::Result<Found> {
    let mut inbox = Inbox::new(&worker.buffers);
    let mut sent = 0;
    poll_fn(|cx| -> Poll<io::Result<()>> {
        let stream = carrier.stream();
        while sent < bytes.len() {
            match ready!(Pin::new(&mut *stream).poll_write(cx, &bytes[sent..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => sent += count,
            }
        }
        match ready!(inbox.poll_fill(stream, cx))? {
            0 => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
            _ => Poll::Ready(Ok(())),
        }
    })
    .await?;
    Ok(Found { carrier, inbox })
}
