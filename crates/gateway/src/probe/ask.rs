//! One check of one endpoint, on a connection of its own.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use evenkeel_config::{HealthCheck, Probe};
use evenkeel_core::Nanos;
use evenkeel_preface::{ProxyHeader, ProxyVersion};
use tokio::io::AsyncWriteExt as _;

use super::http2::Whom;
use super::wire::{Secured, Wire, open};
use super::{grpc, http, http2};
use crate::cluster::Target;
use crate::lifecycle::Shared;
use crate::tls::{ClientTls, Speaks};

/// Where an endpoint is.
#[derive(Debug)]
pub(super) struct At {
    pub(super) target: Arc<Target>,
    /// Its address as configured.
    pub(super) host: Arc<str>,
    /// The PROXY header that it is sent first.
    pub(super) proxy_protocol: Option<ProxyVersion>,
    /// How its connections are secured.
    pub(super) tls: Option<Arc<ClientTls>>,
    /// Whether it speaks HTTP/2.
    pub(super) http2: bool,
}

/// What a check came to.
#[derive(Debug)]
pub(super) struct Asked {
    /// The body of its answer, if it was one with a body; or what is wrong in a line.
    pub(super) seen: Result<Vec<u8>, String>,
    pub(super) took: Nanos,
}

/// Checks an endpoint; nothing when no check could be made, which is not the endpoint's fault.
///
/// # Cancel safety
///
/// Dropped, it closes its connection.
pub(super) async fn ask(check: &HealthCheck, at: &At, shared: &Shared) -> Option<Asked> {
    let asking = carry_out(&check.probe, at);
    asked(&at.target.id, check.policy.timeout, shared, asking).await
}

/// What asking `whom` comes to within `timeout`; nothing when there is no descriptor for it.
pub(super) async fn asked(
    whom: &str,
    timeout: Nanos,
    shared: &Shared,
    asking: impl Future<Output = Result<Vec<u8>, String>>,
) -> Option<Asked> {
    let Some(_held) = shared.descriptors.hold_for_check() else {
        tracing::debug!(whom, "no descriptor for a check");
        return None;
    };
    let began = shared.clock.now();
    let seen = within(timeout, shared, asking).await;
    let took = shared.clock.now().since(began);
    let late = || format!("no answer within {:?}", Duration::from(timeout));
    Some(Asked {
        seen: seen.unwrap_or_else(|| Err(late())),
        took,
    })
}

/// What `asking` comes to within `timeout`.
///
/// When this thread was not run at the end of the time, for want of a processor, the endpoint has had
/// no chance to be heard: it gets as much longer as we are late, up to its time once more.
async fn within<T>(timeout: Nanos, shared: &Shared, asking: impl Future<Output = T>) -> Option<T> {
    let mut asking = pin!(asking);
    let mut deadline = shared.clock.now() + timeout;
    let last = deadline + timeout;
    let mut sleep = pin!(tokio::time::sleep(Duration::from(timeout)));
    std::future::poll_fn(|cx| {
        loop {
            if let Poll::Ready(done) = asking.as_mut().poll(cx) {
                return Poll::Ready(Some(done));
            }
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            let now = shared.clock.now();
            let late = now.since(deadline);
            if late < Nanos(timeout.0 / LATE_PART) || now >= last {
                return Poll::Ready(None);
            }
            deadline = (now + late).min(last);
            let more = Duration::from(deadline.since(now));
            sleep.set(tokio::time::sleep(more));
        }
    })
    .await
}

/// From this part of its time on we count as late.
const LATE_PART: u64 = 10;

async fn carry_out(probe: &Probe, at: &At) -> Result<Vec<u8>, String> {
    let place = at.target.place().ok_or("its name does not resolve")?;
    let stream = open(&place).await;
    let mut stream = stream.map_err(|error| format!("no connection: {error}"))?;
    if let Some(version) = at.proxy_protocol {
        let sent = stream.write_all(&greeting(version)).await;
        sent.map_err(|error| format!("the connection broke off: {error}"))?;
    }
    let secured = |stream: Box<dyn Wire>, speaks: Speaks| -> Result<Box<dyn Wire>, String> {
        let Some(tls) = &at.tls else {
            return Ok(stream);
        };
        let begun = tls.begin_speaking(&at.target, speaks);
        let begun = begun.map_err(|error| format!("no TLS: {error}"))?;
        Ok(Box::new(Secured::new(stream, begun)))
    };
    let whom = Whom {
        host: &at.host,
        is_secured: at.tls.is_some(),
    };
    match probe {
        Probe::Tcp => Ok(Vec::new()),
        Probe::Http(probe) if at.http2 => {
            http2::ask(secured(stream, Speaks::Http2)?, probe, whom).await
        }
        Probe::Http(probe) => http::ask(secured(stream, Speaks::Http1)?, probe, &at.host).await,
        Probe::Grpc(service) => {
            let served = grpc::ask(secured(stream, Speaks::Http2)?, service, whom).await;
            served.map(|()| Vec::new())
        }
    }
}

/// The PROXY header of a connection that is nobody's but the gateway's own.
fn greeting(version: ProxyVersion) -> Vec<u8> {
    let mut greeting = Vec::new();
    ProxyHeader { addresses: None }.write(version, &mut greeting);
    greeting
}
