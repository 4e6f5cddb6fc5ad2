//! One request from its head to the end of its answer.

use std::rc::Rc;

use evenkeel_core::{Lease, Nanos, NoEndpoint, Outcome, PickContext};
use evenkeel_http1::{GatewayReply, Method, ProxyError, Version, gateway_redirect, gateway_reply};

use super::attempt::attempt;
use super::client::Client;
use super::relay::{Failure, Fault, Finished};
use super::request::Request;
use super::retry::{Again, Point};
use crate::cluster::CodeClass;
use crate::listener::RETRY_AFTER;
use crate::route::{Destination, RedirectTo};
use crate::upstream::LocalEndpoint;
use crate::worker::ClusterWorker;

/// What the client is told when there is no descriptor for a connection to an endpoint.
const NO_DESCRIPTOR: &str = "the gateway has as many connections as it has descriptors for";

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
pub(super) async fn exchange(client: &mut Client, mut request: Request) -> After {
    let after = match request.way.to {
        Destination::Cluster(place) => {
            let cluster = Rc::clone(&client.entry.plan.clusters[place]);
            run(client, &mut request, &cluster).await
        }
        Destination::Nowhere => {
            let mut reply = GatewayReply::new(ProxyError::DestinationNotFound, "");
            reply.details = Some("no route takes this request");
            answer(client, &request, reply).await
        }
        Destination::Redirect(ref redirect) => send_elsewhere(client, &request, redirect).await,
    };
    let pending = request.upload.into_pending();
    client.worker.buffers.recycle(pending);
    after
}

async fn run(client: &mut Client, request: &mut Request, cluster: &ClusterWorker) -> After {
    let mut ctx = PickContext::at(request.started);
    let mut last: Option<Fault> = None;
    cluster.counters.requests.count(request.started);
    loop {
        let view = cluster.view();
        ctx.affinity = request.way.affinity(&view.view);
        let lease = match cluster.pick(&view, &ctx) {
            Ok(lease) => lease,
            Err(reason) => return unavailable(client, request, cluster, reason, last).await,
        };
        ctx.attempts.push(lease.state().serial());
        let again = Again {
            cluster,
            view: &view,
            attempts: &ctx.attempts,
        };
        if last.is_none() {
            again.prepare(request);
        }
        let endpoint = view.endpoint(lease.index());
        request.way.chosen(&view.view, lease.index());
        let failure = match attempt(client, request, endpoint, again).await {
            Ok(finished) => {
                again.ended(finished.status < 500);
                return settle(client, request, endpoint, lease, finished);
            }
            Err(failure) => failure,
        };
        let now = client.worker.now();
        again.ended(false);
        let fault = match failure {
            Failure::Endpoint(fault, point) if again.goes_on(point, request, now) => fault,
            failure => {
                let failed = Failed { failure, now };
                return failed
                    .settle(client, request, cluster, endpoint, lease)
                    .await;
            }
        };
        lease.finish(Outcome::Failure, now);
        endpoint.counters.fail();
        client.worker.shared.resolver.ask();
        request.upload.rewind();
        ctx.now = now;
        last = Some(fault);
    }
}

/// The answer has been relayed to its end.
fn settle(
    client: &Client,
    request: &Request,
    endpoint: &LocalEndpoint,
    lease: Lease<'_>,
    finished: Finished,
) -> After {
    let now = client.worker.now();
    let class = CodeClass::of(finished.status);
    endpoint.counters.finish(class, now.since(request.started));
    let outcome = if class == CodeClass::ServerError {
        endpoint.counters.fail();
        Outcome::Failure
    } else {
        Outcome::Success
    };
    lease.finish(outcome, now);
    if finished.client_goes_on {
        After::KeepAlive
    } else {
        After::Close
    }
}

/// A failure that ends the exchange.
struct Failed {
    failure: Failure,
    now: Nanos,
}

impl Failed {
    async fn settle(
        self,
        client: &mut Client,
        request: &Request,
        cluster: &ClusterWorker,
        endpoint: &LocalEndpoint,
        lease: Lease<'_>,
    ) -> After {
        let took = self.now.since(request.started);
        match self.failure {
            Failure::ClientGone => {
                endpoint.counters.finish(CodeClass::Cancelled, took);
                lease.finish(Outcome::Cancelled, self.now);
                After::Abort
            }
            Failure::Client(reject, answered) => {
                lease.finish(Outcome::Cancelled, self.now);
                if answered {
                    endpoint.counters.finish(CodeClass::Cancelled, took);
                    return After::Abort;
                }
                own_answer(client, request, cluster, GatewayReply::refused(reject, "")).await
            }
            Failure::Gateway(error) => {
                lease.finish(Outcome::Cancelled, self.now);
                let mut reply = GatewayReply::new(error, "");
                reply.details = Some(NO_DESCRIPTOR);
                own_answer(client, request, cluster, reply).await
            }
            Failure::Endpoint(fault, point) => {
                endpoint.counters.fail();
                lease.finish(Outcome::Failure, self.now);
                if point == Point::Connect {
                    client.worker.shared.resolver.ask();
                }
                if point == Point::Begun {
                    endpoint.counters.finish(CodeClass::ServerError, took);
                    if request.version == Version::Http10 {
                        client.reset_at_end();
                    }
                    return After::Abort;
                }
                let mut reply = GatewayReply::new(fault.error, "");
                reply.details = fault.details;
                own_answer(client, request, cluster, reply).await
            }
        }
    }
}

/// Nothing can be chosen: the reason goes into the answer. After a try that failed that is the reason,
/// not that nobody else is left.
async fn unavailable(
    client: &mut Client,
    request: &Request,
    cluster: &ClusterWorker,
    reason: NoEndpoint,
    last: Option<Fault>,
) -> After {
    let details = reason.to_string();
    let fault = match (reason, last) {
        (NoEndpoint::AllTried, Some(fault)) => fault,
        (NoEndpoint::AllFull, _) => ProxyError::ConnectionLimitReached.into(),
        _ => ProxyError::DestinationUnavailable.into(),
    };
    let mut reply = GatewayReply::new(fault.error, "");
    reply.details = fault.details;
    if reply.status == 503 && fault.details.is_none() {
        reply.details = Some(&details);
    }
    own_answer(client, request, cluster, reply).await
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
        reply.retry_after = Some(RETRY_AFTER);
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
    reply.request_id = &client.request_id;
    let mut out = client.worker.buffers.output();
    gateway_reply(&mut out, &reply);
    deliver(client, out, keep_alive).await
}

/// Sends an answer of the gateway's own.
async fn deliver(client: &mut Client, out: Vec<u8>, keep_alive: bool) -> After {
    let sent = client.send(&out).await;
    client.worker.buffers.recycle(out);
    match sent {
        Err(_) => After::Abort,
        Ok(()) if keep_alive => After::KeepAlive,
        Ok(()) => After::Close,
    }
}
