//! A connection whose bytes are passed on as they come: an endpoint is chosen as for a request, and is
//! the connection's to its end.

use std::rc::Rc;

use evenkeel_core::{Nanos, NoEndpoint, Outcome, PickContext, ShedReason};
use evenkeel_http1::ProxyError;
use evenkeel_preface::{Asked, asked_name};

use super::attempt::connect_for;
use super::client::Client;
use super::opening::more;
use super::relay::Failure;
use super::tries::{Tries, Try};
use super::tunnel::{self, TunnelEnd};
use super::views::Views;
use super::wait::{Unserved, wait};
use crate::access::{Notes, Source};
use crate::cluster::CodeClass;
use crate::route::{Destination, Way};
use crate::upstream::Carrier;
use crate::worker::ClusterWorker;

/// Passes a connection on. When no endpoint takes it, it ends with a reset.
pub(super) async fn serve(mut client: Client) {
    client.refresh();
    let name = match client.listener().routes.needs_hello() {
        false => None,
        true => match Box::pin(peek(&mut client)).await {
            Ok(name) => name,
            Err(Gone) => return,
        },
    };
    let peer = client.address.map(|peer| peer.ip());
    let way = Way::of_connection(&client.worker, &client.entry, name.as_deref(), peer);
    let Destination::Cluster(place) = way.to else {
        return client.reset_at_end();
    };
    let cluster = Rc::clone(&client.entry.plan.clusters[place]);
    client.begin_notes();
    run(&mut client, &way, &cluster).await;
    client.log_request(0);
    client.trace.conclude(&client.request_id);
}

/// The client left, or sent no hello in time.
struct Gone;

/// Waits for the hello of a client, and leaves it where it is. What is no hello asks for nobody.
async fn peek(client: &mut Client) -> Result<Option<Box<str>>, Gone> {
    loop {
        match asked_name(client.inbox.data()) {
            Asked::More => {}
            Asked::Name(name) => return Ok(Some(name)),
            Asked::Nobody | Asked::NoHello => return Ok(None),
        }
        if !more(client).await {
            return Err(Gone);
        }
    }
}

async fn run(client: &mut Client, way: &Way, cluster: &ClusterWorker) {
    let started = client.worker.now();
    cluster.counters.requests.count(started);
    client
        .notes
        .note(|notes| notes.goes_to(Some(cluster.cluster.shared_name()), way.priority, started));
    let views = Views::default();
    let mut ctx = PickContext::at(started);
    ctx.key = way.key;
    let (notes, trace) = (client.notes.clone(), client.trace.clone());
    let tries = Tries::new(cluster, &views, ctx, notes, trace);
    let first = match tries.first(way) {
        Ok(at) => Some(at),
        Err(reason) => Box::pin(queue(client, way, &tries, reason)).await,
    };
    let Some(mut at) = first else {
        client.trace.refused(ProxyError::DestinationUnavailable);
        return refuse(client, cluster, started);
    };
    loop {
        let asked = client.worker.alarms.now();
        let failure = match connect_for(client, at.endpoint(), at.policies()).await {
            Ok(connected) => {
                at.connected(&client.worker, asked);
                let carrier = Carrier::new(at.endpoint(), connected);
                if at.is_retry() {
                    tries.ended(true);
                }
                return pass_on(client, at, carrier, started).await;
            }
            Err(failure) => failure,
        };
        at.failed(&failure);
        let now = client.worker.now();
        if !matches!(failure, Failure::Endpoint(..)) {
            return give_up(client, cluster, at, &failure, started);
        }
        client.worker.shared.resolver.ask();
        let next = tries.after_connect(way, at.policies(), now);
        at.note_failure(&tries);
        at.finish(Outcome::Failure, now);
        let Some(next) = next else {
            return refuse(client, cluster, started);
        };
        at = next;
    }
}

/// Ends what failed by no fault of the endpoint.
fn give_up(
    client: &Client,
    cluster: &ClusterWorker,
    at: Try<'_>,
    failure: &Failure,
    started: Nanos,
) {
    let now = client.worker.now();
    let counters = &at.endpoint().counters;
    at.finish(Outcome::Cancelled, now);
    if !matches!(failure, Failure::ClientGone) {
        return refuse(client, cluster, started);
    }
    client.notes.note(Notes::cancelled);
    counters.finish(CodeClass::Cancelled, now.since(started));
}

/// Waits for a slot where all endpoints are full, if the cluster has a queue.
async fn queue<'v>(
    client: &mut Client,
    way: &Way,
    tries: &Tries<'v>,
    reason: NoEndpoint,
) -> Option<Try<'v>> {
    let served = match reason {
        NoEndpoint::AllFull if tries.has_queue() => wait(client, way, tries, Nanos(u64::MAX)).await,
        NoEndpoint::AllFull => Err(Unserved::shed(ShedReason::Capacity)),
        reason => Err(Unserved::Nobody(reason)),
    };
    if let Err(Unserved::Shed(refused)) = &served {
        tries.shed(way, refused.reason);
    }
    served.ok()
}

/// Ends a connection that no endpoint takes.
fn refuse(client: &Client, cluster: &ClusterWorker, started: Nanos) {
    let took = client.worker.now().since(started);
    cluster.counters.own.finish(CodeClass::ServerError, took);
    let error = ProxyError::DestinationUnavailable;
    client
        .notes
        .note(|notes| notes.refused(error.status(), error));
    client.reset_at_end();
}

/// Passes bytes on to the end of the connection. What the endpoint is blamed for is a reset before it
/// said a word; how long it took to take the connection is its latency.
async fn pass_on(client: &mut Client, at: Try<'_>, carrier: Carrier, started: Nanos) {
    at.answered(client.worker.now());
    let passed = tunnel::pass_on(client, carrier, at.policies().idle_timeout).await;
    let now = client.worker.now();
    at.ended(&client.worker);
    client.notes.note(|notes| {
        notes.tunnelled([passed.up, passed.down]);
        match passed.end {
            TunnelEnd::InOrder | TunnelEnd::Idle => {}
            TunnelEnd::Client => notes.cancelled(),
            TunnelEnd::Endpoint => {
                notes.cut(ProxyError::ConnectionTerminated.word(), Source::Endpoint);
            }
        }
    });
    let class = match passed.end {
        TunnelEnd::InOrder | TunnelEnd::Idle => CodeClass::Success,
        TunnelEnd::Client => CodeClass::Cancelled,
        TunnelEnd::Endpoint => CodeClass::ServerError,
    };
    at.endpoint().counters.finish(class, now.since(started));
    if class == CodeClass::ServerError && passed.down == 0 {
        at.finish(Outcome::Failure, now);
    } else {
        at.passed(class, now);
    }
}
