//! One request from its head to the end of its answer.

use std::rc::Rc;

use evenkeel_core::{Nanos, NoEndpoint, Outcome, PickContext, ShedReason};
use evenkeel_http1::{GatewayReply, Method, ProxyError, Version, gateway_redirect, gateway_reply};

use super::attempt::attempt;
use super::client::{Client, body_len};
use super::hedge::{hedge_after, race};
use super::relay::{Failure, Fault, Finished};
use super::request::Request;
use super::retry::Point;
use super::tries::{TOO_MANY_REQUESTS, Tries, Try};
use super::tunnel::pass_on;
use super::views::Views;
use super::wait::{Unserved, wait};
use crate::access::{Notes, Source};
use crate::cluster::CodeClass;
use crate::listener::RETRY_AFTER;
use crate::route::{Destination, RedirectTo, Way};
use crate::worker::ClusterWorker;

/// What the client is told when there is no descriptor for a connection to an endpoint.
const NO_DESCRIPTOR: &str = "the gateway has as many connections as it has descriptors for";

/// The most seconds that clients are asked to wait.
const RETRY_AFTER_MAX: u64 = 60;

/// The status of an answer that switches to another protocol.
const SWITCHED: u16 = 101;

/// What becomes of the client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Closed at once: the client is gone, or must see that its answer is cut.
    Abort,
    /// Closed in order.
    Close,
    /// Kept for the next request.
    KeepAlive,
}

/// Chooses an endpoint, sends the request, relays the answer; goes to another endpoint as far as the
/// rules for retries allow.
pub(super) async fn exchange(client: &mut Client, request: &mut Request) -> After {
    let after = match request.way.to {
        Destination::Cluster(place) => {
            let cluster = Rc::clone(&client.entry.plan.clusters[place]);
            cluster.counters.requests.count(request.started);
            run(client, request, &cluster).await
        }
        Destination::Nowhere => {
            let mut reply = GatewayReply::new(ProxyError::DestinationNotFound, "");
            reply.details = Some("no route takes this request");
            client.worker.shared.count_unrouted(reply.status);
            answer(client, request, reply).await
        }
        Destination::Redirect(ref redirect) => send_elsewhere(client, request, redirect).await,
    };
    client.log_request(request.upload.body_bytes());
    client.trace.conclude(&client.request_id);
    client.worker.buffers.recycle(request.upload.take_pending());
    // A connection that idles keeps nothing of a configuration that may be gone by then.
    request.way = Way::nowhere();
    after
}

async fn run(client: &mut Client, request: &mut Request, cluster: &ClusterWorker) -> After {
    let views = Views::default();
    let mut ctx = PickContext::at(request.started);
    ctx.key = request.way.key;
    let (notes, trace) = (client.notes.clone(), client.trace.clone());
    let tries = Tries::new(cluster, &views, ctx, notes, trace);
    let mut at = match tries.first(&request.way) {
        Ok(at) => at,
        Err(reason) => match Box::pin(queue(client, request, &tries, reason)).await {
            Ok(at) => at,
            Err(unserved) => {
                return Box::pin(unavailable(client, request, cluster, unserved)).await;
            }
        },
    };
    request.keep(at.policies());
    loop {
        at.note(&mut request.way);
        let result = match hedge_after(request, &at) {
            Some(after) => Box::pin(race(client, request, &mut at, &tries, after)).await,
            None => attempt(client, request, &at, &tries).await,
        };
        let failure = match result {
            Ok(finished) if finished.switched => {
                return Box::pin(switch(client, request, at, &tries)).await;
            }
            Ok(finished) => return settle(client, request, at, &tries, finished),
            Err(failure) => failure,
        };
        at.failed(&failure);
        let now = client.worker.now();
        if let Failure::Endpoint(_, point) = failure {
            tries.grant(point, request, at.policies(), now);
        }
        let Some(next) = tries.next() else {
            let failed = Failed { failure, now };
            if failed.may_wait(&tries) {
                match Box::pin(failed.wait(client, request, cluster, at, &tries)).await {
                    Ok(next) => at = next,
                    Err(after) => return after,
                }
                continue;
            }
            return Box::pin(failed.settle(client, request, cluster, at, &tries)).await;
        };
        give_up(client, at, &tries, &failure, now);
        request.upload.rewind();
        at = next;
    }
}

/// Lets go of an endpoint in whose place another one is tried.
fn give_up(client: &Client, at: Try<'_>, tries: &Tries<'_>, failure: &Failure, now: Nanos) {
    let point = match failure {
        Failure::Endpoint(_, point) => Some(*point),
        _ => None,
    };
    if point == Some(Point::Connect) {
        client.worker.shared.resolver.ask();
    }
    at.note_failure(tries);
    at.finish(tries.given_up(point), now);
}

/// Waits for a slot where all endpoints are full, if the cluster has a queue.
async fn queue<'v>(
    client: &mut Client,
    request: &mut Request,
    tries: &Tries<'v>,
    reason: NoEndpoint,
) -> Result<Try<'v>, Unserved> {
    let served = match reason {
        NoEndpoint::AllFull if tries.has_queue() => {
            let due = request.wait_counts(tries.response_timeout());
            wait(client, &request.way, tries, due).await
        }
        NoEndpoint::AllFull => Err(Unserved::shed(ShedReason::Capacity)),
        reason => Err(Unserved::Nobody(reason)),
    };
    if let Err(Unserved::Shed(refused)) = &served {
        tries.shed(&request.way, refused.reason);
    }
    served
}

/// The answer has been relayed to its end.
fn settle(
    client: &Client,
    request: &Request,
    at: Try<'_>,
    tries: &Tries<'_>,
    finished: Finished,
) -> After {
    let now = client.worker.now();
    let class = CodeClass::of(finished.status);
    let took = now.since(request.started);
    at.endpoint().counters.finish(class, took);
    client.notes.note(|notes| notes.answered(finished.status));
    let failed = at.policies().retry.is_failure(finished.status);
    if at.is_retry() {
        tries.ended(!failed);
    }
    let outcome = match finished.status {
        TOO_MANY_REQUESTS => Outcome::TooMuch,
        _ if failed => Outcome::Failure,
        _ => Outcome::Success,
    };
    at.finish(outcome, now);
    if finished.client_goes_on {
        After::KeepAlive
    } else {
        After::Close
    }
}

/// The endpoint has switched to another protocol: passes on what the two say to each other.
///
/// The request is counted at once and its latency is what it took up to here, but it stays in flight
/// for as long as they speak: an endpoint with many of them is busy.
async fn switch(client: &mut Client, request: &Request, at: Try<'_>, tries: &Tries<'_>) -> After {
    let now = client.worker.now();
    let took = now.since(request.started);
    at.endpoint()
        .counters
        .finish(CodeClass::Informational, took);
    client.notes.note(|notes| notes.answered(SWITCHED));
    if at.is_retry() {
        tries.ended(true);
    }
    at.answered(now);
    let idle = at.policies().idle_timeout;
    if let Some(carrier) = client.switched.take() {
        let passed = pass_on(client, *carrier, idle).await;
        client
            .notes
            .note(|notes| notes.tunnelled([passed.up, passed.down]));
    }
    at.ended(&client.worker);
    After::Abort
}

/// A failure that ends the exchange.
struct Failed {
    failure: Failure,
    now: Nanos,
}

impl Failed {
    /// Whether another endpoint would be tried if one had a slot, and the request may wait for that.
    fn may_wait(&self, tries: &Tries<'_>) -> bool {
        let lost = matches!(
            self.failure,
            Failure::Endpoint(_, Point::Connect | Point::Silent | Point::Late)
        );
        lost && tries.spend_to_wait(self.now)
    }

    /// Lets go of the endpoint that failed, and waits for another one; the client is told of the failure
    /// if there is none.
    async fn wait<'v>(
        self,
        client: &mut Client,
        request: &mut Request,
        cluster: &ClusterWorker,
        at: Try<'v>,
        tries: &Tries<'v>,
    ) -> Result<Try<'v>, After> {
        let Failure::Endpoint(fault, point) = self.failure else {
            return Err(self.settle(client, request, cluster, at, tries).await);
        };
        if point == Point::Connect {
            client.worker.shared.resolver.ask();
        }
        at.note_failure(tries);
        at.finish(Outcome::Failure, self.now);
        request.upload.rewind();
        match wait(client, &request.way, tries, request.due).await {
            Ok(next) => Ok(next),
            Err(Unserved::Gone) => Err(gone(client, request, cluster)),
            Err(_) => {
                cluster.give_back_retry(self.now);
                let nobody = Some(NoEndpoint::AllFull);
                Err(failed(client, request, cluster, fault, nobody).await)
            }
        }
    }

    async fn settle(
        self,
        client: &mut Client,
        request: &Request,
        cluster: &ClusterWorker,
        at: Try<'_>,
        tries: &Tries<'_>,
    ) -> After {
        let took = self.now.since(request.started);
        let endpoint = at.endpoint();
        let (fault, point) = match self.failure {
            Failure::ClientGone => {
                client.notes.note(Notes::cancelled);
                endpoint.counters.finish(CodeClass::Cancelled, took);
                at.finish(Outcome::Cancelled, self.now);
                return After::Abort;
            }
            Failure::Client(reject, answered) => {
                at.finish(Outcome::Cancelled, self.now);
                if answered {
                    client
                        .notes
                        .note(|notes| notes.cut("http_request_error", Source::Client));
                    endpoint.counters.finish(CodeClass::Cancelled, took);
                    return After::Abort;
                }
                let reply = GatewayReply::refused(reject, "");
                return own_answer(client, request, cluster, reply).await;
            }
            Failure::Gateway(error) => {
                at.finish(Outcome::Cancelled, self.now);
                let mut reply = GatewayReply::new(error, "");
                reply.details = Some(NO_DESCRIPTOR);
                return own_answer(client, request, cluster, reply).await;
            }
            Failure::Endpoint(fault, point) => (fault, point),
            // It is not given up before another try has been granted.
            Failure::Unwanted => (ProxyError::DestinationUnavailable.into(), Point::Status),
        };
        self.settle_endpoint(client, request, at, tries, (fault, point));
        if point == Point::Begun {
            return After::Abort;
        }
        failed(client, request, cluster, fault, tries.nobody()).await
    }

    /// Counts a failure of the endpoint, and what it leaves of an answer that has begun.
    fn settle_endpoint(
        &self,
        client: &Client,
        request: &Request,
        at: Try<'_>,
        tries: &Tries<'_>,
        (fault, point): (Fault, Point),
    ) {
        let endpoint = at.endpoint();
        at.note_failure(tries);
        at.finish(Outcome::Failure, self.now);
        if point == Point::Connect {
            client.worker.shared.resolver.ask();
        }
        if point == Point::Begun {
            client
                .notes
                .note(|notes| notes.cut(fault.error.word(), Source::Endpoint));
            endpoint
                .counters
                .finish(CodeClass::ServerError, self.now.since(request.started));
            if request.version == Version::Http10 {
                client.reset_at_end();
            }
        }
    }
}

/// Tells the client what failed; and, where that says nothing more, why nobody else was asked.
async fn failed(
    client: &mut Client,
    request: &Request,
    cluster: &ClusterWorker,
    fault: Fault,
    nobody: Option<NoEndpoint>,
) -> After {
    let nobody = nobody.map(|reason| reason.to_string());
    let mut reply = GatewayReply::new(fault.error, "");
    reply.details = fault.details.or(nobody.as_deref());
    own_answer(client, request, cluster, reply).await
}

/// The client has gone while it waited for an endpoint.
fn gone(client: &Client, request: &Request, cluster: &ClusterWorker) -> After {
    let took = client.worker.now().since(request.started);
    client.notes.note(Notes::cancelled);
    cluster.counters.own.finish(CodeClass::Cancelled, took);
    After::Abort
}

/// Nothing can be chosen: the reason goes into the answer.
async fn unavailable(
    client: &mut Client,
    request: &Request,
    cluster: &ClusterWorker,
    unserved: Unserved,
) -> After {
    let (error, wait) = match unserved {
        Unserved::Gone => return gone(client, request, cluster),
        Unserved::Nobody(_) => (ProxyError::DestinationUnavailable, None),
        Unserved::Shed(refused) => (ProxyError::ConnectionLimitReached, refused.wait),
    };
    let details = unserved.details();
    client.trace.refused(error);
    let mut reply = GatewayReply::new(error, "");
    reply.details = Some(&details);
    reply.retry_after = wait.map(seconds);
    own_answer(client, request, cluster, reply).await
}

/// Whole seconds after which it is worth trying again.
fn seconds(wait: Nanos) -> u32 {
    let seconds = wait.0.div_ceil(1_000_000_000);
    u32::try_from(seconds.clamp(1, RETRY_AFTER_MAX)).unwrap_or(RETRY_AFTER)
}

/// Answers in the gateway's own name, and counts it.
async fn own_answer(
    client: &mut Client,
    request: &Request,
    cluster: &ClusterWorker,
    mut reply: GatewayReply<'_>,
) -> After {
    reply.cluster = Some(cluster.cluster.name());
    if reply.error == ProxyError::ConnectionLimitReached {
        reply.retry_after.get_or_insert(RETRY_AFTER);
    }
    let took = client.worker.now().since(request.started);
    let class = CodeClass::of(reply.status);
    cluster.counters.own.finish(class, took);
    answer(client, request, reply).await
}

/// Answers with a redirect.
async fn send_elsewhere(client: &mut Client, request: &Request, redirect: &RedirectTo) -> After {
    let RedirectTo { status, location } = redirect;
    let (id, version) = (&client.request_id, request.version);
    let keep_alive = request.keep_alive && request.is_read() && !client.is_leaving();
    client.notes.note(|notes| notes.redirected(*status));
    client.worker.shared.count_unrouted(*status);
    let mut out = client.worker.buffers.output();
    gateway_redirect(&mut out, *status, location, id, version, keep_alive);
    deliver(client, out, keep_alive).await
}

async fn answer(client: &mut Client, request: &Request, mut reply: GatewayReply<'_>) -> After {
    let refused = reply.error == ProxyError::HttpRequestError;
    reply.client_version = request.version;
    reply.head = request.method == Method::Head;
    reply.keep_alive = request.keep_alive && request.is_read() && !refused && !client.is_leaving();
    let keep_alive = reply.keep_alive;
    client.trace.told(reply.status);
    client
        .notes
        .note(|notes| notes.refused(reply.status, reply.error));
    reply.request_id = &client.request_id;
    let mut out = client.worker.buffers.output();
    gateway_reply(&mut out, &reply);
    deliver(client, out, keep_alive).await
}

/// Sends an answer of the gateway's own.
async fn deliver(client: &mut Client, out: Vec<u8>, keep_alive: bool) -> After {
    let sent = client.send(&out).await;
    client.notes.note(|notes| match &sent {
        Ok(()) => notes.passed_on(body_len(&out)),
        Err(_) => notes.cancelled(),
    });
    client.worker.buffers.recycle(out);
    match sent {
        Err(_) => After::Abort,
        Ok(()) if keep_alive => After::KeepAlive,
        Ok(()) => After::Close,
    }
}
