//! One attempt: a connection to the endpoint that was chosen, and the relay over it.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, ready};

use evenkeel_core::Nanos;

use super::client::Client;
use super::hedge::Found;
use super::relay::{Failure, Finished, Relay};
use super::request::Request;
use super::retry::Point;
use super::tries::{Tries, Try};
use crate::cluster::Policies;
use crate::descriptors::Side;
use crate::upstream::{Carrier, Connected, LocalEndpoint};

/// Sends the request over an idle connection or a new one, and relays the answer.
///
/// A kept-alive connection may die just as it is used. When it does before a byte of the answer, and
/// the request may be repeated or was not sent, a new one to the same endpoint takes its place.
///
/// # Errors
///
/// When no answer has been relayed to its end; the error says whose fault it is, and where.
pub(super) async fn attempt<'v>(
    client: &mut Client,
    request: &mut Request,
    at: &Try<'v>,
    tries: &Tries<'v>,
) -> Result<Finished, Failure> {
    let (endpoint, policies) = (at.endpoint(), at.policies());
    if at.is_retry() {
        stays(client).await?;
    }
    let now = client.worker.alarms.now();
    let (timeout, silence) = (policies.pool_idle_timeout, request.needs(policies));
    if let Some(carrier) = endpoint.take_idle(now, timeout, silence) {
        match relay(client, request, carrier, at, tries).await {
            Err(Failure::Endpoint(_, Point::Silent)) if request.repeatable().may_be_replaced() => {
                request.upload.rewind();
            }
            result => return result,
        }
    }
    let connected = connect_for(client, endpoint, policies).await?;
    at.connected(&client.worker, now);
    let carrier = Carrier::new(endpoint, connected);
    relay(client, request, carrier, at, tries).await
}

/// Fails when the client has gone: nothing is tried again for nobody.
async fn stays(client: &mut Client) -> Result<(), Failure> {
    let gone = poll_fn(|cx| Poll::Ready(client.poll_gone(cx).is_ready())).await;
    if gone {
        Err(Failure::ClientGone)
    } else {
        Ok(())
    }
}

/// Opens a connection, unless the client goes away in the meantime.
pub(super) async fn connect_for(
    client: &mut Client,
    endpoint: &LocalEndpoint,
    policies: &Policies,
) -> Result<Connected, Failure> {
    let descriptors = &Arc::clone(&client.worker.shared.descriptors);
    if !descriptors.has_room(Side::Endpoint) {
        // Connections that idle are worth less than a request.
        client.worker.close_idle();
    }
    let dial = client.dial(policies);
    let mut connecting = pin!(endpoint.open(&dial, descriptors));
    poll_fn(|cx| {
        if let Poll::Ready(result) = connecting.as_mut().poll(cx) {
            return Poll::Ready(result.map_err(|error| {
                tracing::debug!(endpoint = &*endpoint.target.id, %error, "no connection");
                if error.is_ours() {
                    return Failure::Gateway(error.proxy_error());
                }
                Failure::Endpoint(error.proxy_error().into(), Point::Connect)
            }));
        }
        ready!(client.poll_gone(cx));
        Poll::Ready(Err(Failure::ClientGone))
    })
    .await
}

async fn relay<'v>(
    client: &mut Client,
    request: &mut Request,
    mut carrier: Carrier,
    at: &Try<'v>,
    tries: &Tries<'v>,
) -> Result<Finished, Failure> {
    let finished = {
        let mut relay = Relay::new(client, carrier.stream(), request, at, tries);
        poll_fn(|cx| relay.poll(cx)).await?
    };
    give_back(client, carrier, finished, at.policies());
    Ok(finished)
}

/// Relays an answer that has begun.
pub(super) async fn relay_found<'v>(
    client: &mut Client,
    request: &mut Request,
    found: Found,
    at: &Try<'v>,
    tries: &Tries<'v>,
) -> Result<Finished, Failure> {
    let Found { mut carrier, inbox } = found;
    let finished = {
        let relay = Relay::new(client, carrier.stream(), request, at, tries);
        let mut relay = relay.reading(inbox);
        poll_fn(|cx| relay.poll(cx)).await?
    };
    give_back(client, carrier, finished, at.policies());
    Ok(finished)
}

/// Keeps the connection if it can carry another request, or goes on in another protocol.
fn give_back(client: &mut Client, carrier: Carrier, finished: Finished, policies: &Policies) {
    if finished.switched {
        client.switched = Some(Box::new(carrier));
        return;
    }
    let keeps = policies.pool_idle_timeout > Nanos(0);
    if finished.endpoint_goes_on && keeps {
        carrier.give_back(client.worker.alarms.now());
    }
}
