//! One attempt: a connection to the endpoint that was chosen, and the relay over it.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, ready};

use evenkeel_core::Nanos;

use super::client::Client;
use super::relay::{Failure, Finished, Relay};
use super::request::Request;
use crate::cluster::Policies;
use crate::stream::Stream;
use crate::upstream::{Carrier, ConnectError, LocalEndpoint, connect};

/// How an attempt failed.
#[derive(Debug)]
pub(super) enum AttemptError {
    /// Nothing was sent.
    Connect(ConnectError),
    /// The relay failed; whether the client has a part of an answer.
    Relay(Failure, bool),
}

/// Sends the request over an idle connection or a new one, and relays the answer.
///
/// A kept-alive connection may die just as it is used. When it does before a byte of the answer, and
/// the request may be repeated or was not sent, a new one to the same endpoint takes its place.
pub(super) async fn attempt(
    client: &mut Client,
    request: &mut Request,
    endpoint: &Rc<LocalEndpoint>,
    policies: &Policies,
) -> Result<Finished, AttemptError> {
    let now = client.worker.alarms.now();
    if let Some(carrier) = endpoint.take_idle(now, policies.pool_idle_timeout) {
        match relay(client, request, carrier, policies).await {
            Err(AttemptError::Relay(Failure::Silent(_), false)) if may_repeat(request) => {
                request.upload.rewind();
            }
            result => return result,
        }
    }
    let stream = connect_for(client, endpoint, policies).await?;
    let carrier = Carrier::new(endpoint, stream);
    relay(client, request, carrier, policies).await
}

/// Opens a connection, unless the client goes away in the meantime.
async fn connect_for(
    client: &mut Client,
    endpoint: &LocalEndpoint,
    policies: &Policies,
) -> Result<Stream, AttemptError> {
    let mut connecting = pin!(connect(&endpoint.target, policies.connect_timeout));
    poll_fn(|cx| {
        if let Poll::Ready(result) = connecting.as_mut().poll(cx) {
            return Poll::Ready(result.map_err(AttemptError::Connect));
        }
        ready!(client.poll_gone(cx));
        Poll::Ready(Err(AttemptError::Relay(Failure::ClientGone, false)))
    })
    .await
}

/// Whether sending it a second time does no harm, and all of it is still here.
fn may_repeat(request: &Request) -> bool {
    let unsent = !request.upload.has_sent();
    unsent || (request.method.is_idempotent() && request.upload.can_rewind())
}

async fn relay(
    client: &mut Client,
    request: &mut Request,
    mut carrier: Carrier,
    policies: &Policies,
) -> Result<Finished, AttemptError> {
    let (result, answered) = {
        let mut relay = Relay::new(client, carrier.stream(), request, policies);
        let result = poll_fn(|cx| relay.poll(cx)).await;
        (result, relay.has_answered_client())
    };
    match result {
        Ok(finished) => {
            if finished.endpoint_goes_on && policies.pool_idle_timeout > Nanos(0) {
                carrier.give_back(client.worker.alarms.now());
            }
            Ok(finished)
        }
        Err(failure) => Err(AttemptError::Relay(failure, answered)),
    }
}
