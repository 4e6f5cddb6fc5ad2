//! What a client's connection begins with, before anything is served on it: the PROXY header, and the
//! handshake of TLS.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::Poll;

use evenkeel_config::Protocol;
use evenkeel_preface::ProxyHeader;

use super::client::Client;
use super::{http2, tcp};
use crate::listener::TurnedAway;
use crate::stream::Stream;
use crate::tls::{Hello, ServerTls, TlsStream};
use crate::worker::buffer::Inbox;

/// Serves a connection that does not begin with HTTP.
pub(super) async fn open(mut client: Client) {
    let config = &client.listener().config;
    let protocol = config.protocol;
    client.alarm.set(client.listener().header_timeout);
    if config.proxy_protocol && !Box::pin(introduce(&mut client)).await {
        return;
    }
    if let Some(tls) = client.listener().tls.clone()
        && !Box::pin(secure(&mut client, &tls)).await
    {
        return;
    }
    match protocol {
        Protocol::Http if client.stream.speaks_http2() => http2::serve(client).await,
        Protocol::Http => client.run().await,
        Protocol::Tcp => tcp::serve(client).await,
    }
}

/// Reads the PROXY header, and takes the peer for who it says; false when there is none in time.
async fn introduce(client: &mut Client) -> bool {
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
                refuse(client, TurnedAway::ProxyHeader, &error);
                return false;
            }
        }
        if !more(client).await {
            return false;
        }
    }
}

/// Secures the connection, with the certificate for the name that the client asks for; false when the
/// two do not come together in time.
async fn secure(client: &mut Client, tls: &ServerTls) -> bool {
    let mut hello = Hello::default();
    let answer = loop {
        match hello.read(&mut client.inbox, tls) {
            Ok(None) => {}
            Ok(Some(connection)) => break Ok(connection),
            Err(refusal) => break Err(refusal),
        }
        if !more(client).await {
            return false;
        }
    };
    let result = match answer {
        Ok(connection) => {
            let buffers = Rc::clone(&client.worker.buffers);
            let wire = std::mem::replace(&mut client.inbox, Inbox::new(&buffers));
            let below = std::mem::replace(&mut client.stream, Stream::Taken);
            let mut stream = Box::new(TlsStream::new(below, connection, wire));
            let result = poll_fn(|cx| match stream.poll_handshake(cx) {
                Poll::Ready(result) => Poll::Ready(Some(result)),
                Poll::Pending => client.alarm.poll_due(cx).map(|()| None),
            })
            .await;
            client.stream = Stream::Tls(stream);
            client.proto = "https";
            // One that was too slow is closed without a word.
            result.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
        }
        Err(refusal) => {
            // Best effort: it is a few bytes on a new connection.
            let _ = client.stream.try_write(&refusal.alert);
            Err(refusal.error)
        }
    };
    if let Err(error) = &result {
        refuse(client, TurnedAway::Handshake, error);
    }
    result.is_ok()
}

fn refuse(client: &Client, why: TurnedAway, error: &dyn std::error::Error) {
    let (listener, peer) = (client.listener(), &client.peer);
    tracing::debug!(listener = listener.name(), %peer, %error, "connection refused");
    listener.door().turn_away(why);
}

/// Waits for more bytes of the client; false when it has gone or its time is over.
pub(super) async fn more(client: &mut Client) -> bool {
    poll_fn(|cx| match client.inbox.poll_fill(&mut client.stream, cx) {
        Poll::Ready(count) => Poll::Ready(count.is_ok_and(|count| count > 0)),
        Poll::Pending if client.worker.closing.get() => Poll::Ready(false),
        Poll::Pending => client.alarm.poll_due(cx).map(|()| false),
    })
    .await
}
