//! Checks by gRPC's health service, against a real HTTP/2 server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use bytes::Bytes;
use evenkeel_config::{ClusterTls, HealthCheck, Probe};
use evenkeel_core::health::ActivePolicy;
use evenkeel_core::{Endpoint, Nanos, Standing};
use evenkeel_testkit::{AsyncServer, Authority, Gateway, Upstream, eventually};
use http::{HeaderMap, HeaderValue, Response};

use crate::tls::tls;

/// A strict server: it answers only once a request has ended.
struct Server {
    server: AsyncServer,
    status: Arc<AtomicU8>,
}

impl Server {
    fn start() -> Self {
        let status = Arc::new(AtomicU8::new(1));
        let said = Arc::clone(&status);
        let server = AsyncServer::start(|listener| serve(listener, said));
        Self { server, status }
    }
}

async fn serve(listener: tokio::net::TcpListener, status: Arc<AtomicU8>) {
    while let Ok((stream, _)) = listener.accept().await {
        let status = Arc::clone(&status);
        tokio::spawn(async move {
            let Ok(mut connection) = h2::server::handshake(stream).await else {
                return;
            };
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                let status = Arc::clone(&status);
                tokio::spawn(async move {
                    let path = request.uri().path().to_owned();
                    let kind = request.headers().get("content-type").cloned();
                    let mut body = request.into_body();
                    let mut message = Vec::new();
                    // Ends with END_STREAM, and only then.
                    while let Some(data) = body.data().await {
                        message.extend_from_slice(&data.expect("data"));
                    }
                    let asked_well = path == "/grpc.health.v1.Health/Check"
                        && kind == Some(HeaderValue::from_static("application/grpc"))
                        && message == b"\0\0\0\0\x06\x0a\x04shop";
                    let code = if asked_well { "0" } else { "13" };
                    let answer = Response::builder().header("content-type", "application/grpc");
                    let answer = answer.body(()).expect("right");
                    let mut send = respond.send_response(answer, false).expect("open");
                    let said = status.load(Ordering::Relaxed);
                    let reply = Bytes::copy_from_slice(&[0, 0, 0, 0, 2, 8, said]);
                    send.send_data(reply, false).expect("open");
                    let mut trailers = HeaderMap::new();
                    trailers.insert("grpc-status", HeaderValue::from_static(code));
                    send.send_trailers(trailers).expect("open");
                });
            }
        });
    }
}

fn quick() -> HealthCheck {
    let ms = Nanos::from_millis;
    HealthCheck {
        probe: Probe::Grpc("shop".into()),
        policy: ActivePolicy {
            interval: ms(100),
            fast_interval: ms(50),
            timeout: ms(2_000),
            hold_down: Nanos(0),
            ..ActivePolicy::default()
        },
    }
}

/// C09: the request is complete, so a strict endpoint answers it; what it says counts.
#[test]
fn c09_the_health_service_is_asked_in_full() {
    let server = Server::start();
    let other = Upstream::ok("no HTTP/2");
    let endpoint = server.server.endpoint("a");
    let gateway = Gateway::with([endpoint, other.endpoint("b")], |config| {
        config.clusters[0].health = Some(quick());
    });
    let standing = |id: &str| gateway.endpoint(id).standing;
    eventually("what speaks no HTTP/2 is out", || {
        standing("b") == Standing::Unhealthy
    });
    assert_eq!(
        standing("a"),
        Standing::Ready,
        "{}",
        gateway.endpoint("a").reason
    );
    server.status.store(2, Ordering::Relaxed);
    eventually("it is out", || standing("a") == Standing::Unhealthy);
    let reason = gateway.endpoint("a").reason;
    assert!(reason.contains("NOT_SERVING"), "{reason}");
    server.status.store(1, Ordering::Relaxed);
    eventually("it is back", || standing("a") == Standing::Ready);
}

/// The same over TLS, with HTTP/2 agreed on in the handshake: here behind a gateway that ends it.
#[test]
fn c09_the_health_service_is_asked_over_tls() {
    let authority = Authority::new();
    let server = Server::start();
    let endpoint = server.server.endpoint("server");
    let back = Gateway::with([endpoint], |config| {
        let identity = authority.issue("back", &["back.example"]);
        config.listeners[0].tls = vec![tls(identity)];
        config.clusters[0].http2 = true;
    });
    let endpoint = || Endpoint::new("a", back.address().to_string());
    let front = |name: &str| {
        Gateway::with([endpoint()], |config| {
            let cluster = &mut config.clusters[0];
            cluster.health = Some(quick());
            cluster.tls = Some(ClusterTls {
                server_name: Some(name.into()),
                ca: Some(authority.file().into()),
                identity: None,
            });
        })
    };
    let gateway = front("back.example");
    let told = || gateway.endpoint("a");
    server.status.store(2, Ordering::Relaxed);
    eventually("it is out", || told().standing == Standing::Unhealthy);
    assert!(told().reason.contains("NOT_SERVING"), "{}", told().reason);
    server.status.store(1, Ordering::Relaxed);
    eventually("it is back", || told().standing == Standing::Ready);
    // One that cannot prove who it is has not answered.
    let other = front("other.example");
    let told = || other.endpoint("a");
    eventually("it is out", || told().standing == Standing::Unhealthy);
    assert!(told().reason.contains("no HTTP/2"), "{}", told().reason);
}
