//! What a client's connection begins with, before anything is served on it: the PROXY header.

use std::future::poll_fn;
use std::task::Poll;

use evenkeel_config::Protocol;
use evenkeel_preface::ProxyHeader;

use super::client::Client;
use super::tcp;
use crate::listener::TurnedAway;

/// Serves a connection that does not begin with HTTP.
pub(super) async fn open(mut client: Client) {
    let config = &client.listener().config;
    let protocol = config.protocol;
    if config.proxy_protocol && !Box::pin(introduce(&mut client)).await {
        return;
    }
    match protocol {
        Protocol::Http => client.run().await,
        Protocol::Tcp => tcp::serve(client).await,
    }
}

/// Reads the PROXY header, and takes the peer for who it says; false when there is none in time.
async fn introduce(client: &mut Client) -> bool {
    client.alarm.set(client.listener().header_timeout);
    loop {
        match ProxyHeader::parse(client.inbox.data()) {
            Ok(None) => {}
            Ok(Some((header, length))) => {
                client.inbox.consume(length);
                if let Some(addresses) = header.addresses {
                    client.name(Some(addresses.source));
                    client.destination = Some(Box::new(addresses.destination));
                }
                return true;
            }
            Err(error) => {
                let (listener, peer) = (client.listener().name(), &client.peer);
                tracing::debug!(listener, %peer, %error, "connection refused");
                client.listener().door().turn_away(TurnedAway::ProxyHeader);
                return false;
            }
        }
        if !more(client).await {
            return false;
        }
    }
}

/// Waits for more bytes of the client; false when it has gone or its time is over.
async fn more(client: &mut Client) -> bool {
    poll_fn(|cx| match client.inbox.poll_fill(&mut client.stream, cx) {
        Poll::Ready(count) => Poll::Ready(count.is_ok_and(|count| count > 0)),
        Poll::Pending if client.worker.closing.get() => Poll::Ready(false),
        Poll::Pending => client.alarm.poll_due(cx).map(|()| false),
    })
    .await
}
