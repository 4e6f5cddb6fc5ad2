//! Checks by requests over HTTP/2, against a real HTTP/2 server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

use bytes::Bytes;
use evenkeel_config::{ClusterTls, HealthCheck, HttpProbe, Pattern, Probe};
use evenkeel_core::health::ActivePolicy;
use evenkeel_core::{Endpoint, Nanos, Standing};
use evenkeel_testkit::{AsyncServer, Authority, Gateway, RawClient, Upstream, eventually};
use h2::RecvStream;
use h2::server::SendResponse;
use http::{Request, Response};

use crate::GET;
use crate::tls::tls;

/// A strict server: no HTTP/1, and it answers only once a request has ended.
struct Server {
    server: AsyncServer,
    said: Arc<Said>,
}

struct Said {
    status: AtomicU16,
    /// Checks that came as they should.
    checks: AtomicUsize,
}

impl Server {
    fn start() -> Self {
        let said = Arc::new(Said {
            status: AtomicU16::new(200),
            checks: AtomicUsize::new(0),
        });
        let saying = Arc::clone(&said);
        let server = AsyncServer::start(|listener| serve(listener, saying));
        Self { server, said }
    }

    fn says(&self, status: u16) {
        self.said.status.store(status, Ordering::Relaxed);
    }

    fn checks(&self) -> usize {
        self.said.checks.load(Ordering::Relaxed)
    }
}

async fn serve(listener: tokio::net::TcpListener, said: Arc<Said>) {
    while let Ok((stream, _)) = listener.accept().await {
        let said = Arc::clone(&said);
        tokio::spawn(async move {
            let Ok(mut connection) = h2::server::handshake(stream).await else {
                return;
            };
            while let Some(Ok((request, respond))) = connection.accept().await {
                tokio::spawn(answer(request, respond, Arc::clone(&said)));
            }
        });
    }
}

async fn answer(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, said: Arc<Said>) {
    let (head, mut body) = request.into_parts();
    while let Some(data) = body.data().await {
        assert!(data.is_ok_and(|data| data.is_empty()), "a body");
    }
    if head.uri.path() != "/up" {
        let mut send = respond
            .send_response(Response::new(()), false)
            .expect("open");
        let _ = send.send_data("served".into(), true);
        return;
    }
    let field = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let authority = head.uri.authority().map(ToString::to_string);
    let asked_well = head.method == "POST"
        && head.uri.query() == Some("full=1")
        && authority.as_deref() == Some("internal")
        && field("x-check") == Some("1")
        && field("host").is_none_or(|host| host == "internal")
        && field("connection").is_none();
    let status = match asked_well {
        true => said.status.load(Ordering::Relaxed),
        false => 400,
    };
    said.checks
        .fetch_add(usize::from(asked_well), Ordering::Relaxed);
    let answer = Response::builder().status(status).body(()).expect("right");
    let mut send = respond.send_response(answer, false).expect("open");
    // In two pieces, which count as one.
    let _ = send.send_data("state: REA".into(), false);
    let _ = send.send_data("DY 7".into(), true);
}

fn check(pattern: &str) -> HealthCheck {
    let ms = Nanos::from_millis;
    HealthCheck {
        probe: Probe::Http(HttpProbe {
            method: "POST".into(),
            path: "/up?full=1".into(),
            headers: vec![
                ("host".into(), "internal".into()),
                ("X-Check".into(), "1".into()),
                ("connection".into(), "close".into()),
            ],
            body: Some("READY".into()),
            pattern: Some(pattern.parse::<Pattern>().expect("right")),
            ..HttpProbe::default()
        }),
        policy: ActivePolicy {
            interval: ms(100),
            fast_interval: ms(50),
            timeout: ms(2_000),
            hold_down: Nanos(0),
            ..ActivePolicy::default()
        },
    }
}

/// Status, body and pattern count as they do over HTTP/1, and what speaks no HTTP/2 has not answered.
#[test]
fn a_request_checks_what_speaks_http2() {
    let server = Server::start();
    let other = Upstream::ok("no HTTP/2");
    let endpoint = server.server.endpoint("a");
    let gateway = Gateway::with([endpoint, other.endpoint("b")], |config| {
        config.clusters[0].http2 = true;
        config.clusters[0].health = Some(check(r"READY \d"));
    });
    let told = |id: &str| gateway.endpoint(id);
    eventually("what speaks no HTTP/2 is out", || {
        told("b").standing == Standing::Unhealthy
    });
    assert!(
        told("b").reason.contains("no HTTP/2"),
        "{}",
        told("b").reason
    );
    assert!(server.checks() > 0);
    assert_eq!(told("a").standing, Standing::Ready, "{}", told("a").reason);
    let mut client = RawClient::sending(gateway.address(), GET);
    assert_eq!(client.response().text(), "served");
    server.says(503);
    eventually("it is out", || told("a").standing == Standing::Unhealthy);
    let reason = told("a").reason;
    assert!(reason.contains("status 503 is not 200-299"), "{reason}");
    server.says(204);
    eventually("it is back", || told("a").standing == Standing::Ready);
}

#[test]
fn a_body_of_http2_is_looked_at() {
    let server = Server::start();
    let endpoint = server.server.endpoint("a");
    let gateway = Gateway::with([endpoint], |config| {
        config.clusters[0].http2 = true;
        config.clusters[0].health = Some(check(r"READY [a-z]"));
    });
    eventually("it fails", || {
        let reason = gateway.endpoint("a").reason;
        reason.contains("the body does not match")
    });
}

/// The same over TLS, with HTTP/2 agreed on in the handshake: here behind a gateway that ends it.
#[test]
fn a_request_checks_what_speaks_http2_over_tls() {
    let authority = Authority::new();
    let server = Server::start();
    let endpoint = server.server.endpoint("server");
    let back = Gateway::with([endpoint], |config| {
        let identity = authority.issue("back", &["back.example"]);
        config.listeners[0].tls = vec![tls(identity)];
        config.clusters[0].http2 = true;
    });
    let endpoint = Endpoint::new("a", back.address().to_string());
    let gateway = Gateway::with([endpoint], |config| {
        let cluster = &mut config.clusters[0];
        cluster.http2 = true;
        cluster.health = Some(check(r"READY \d"));
        cluster.tls = Some(ClusterTls {
            server_name: Some("back.example".into()),
            ca: Some(authority.file().into()),
            identity: None,
        });
    });
    let told = || gateway.endpoint("a");
    eventually("it is checked", || server.checks() > 2);
    assert_eq!(told().standing, Standing::Ready, "{}", told().reason);
    server.says(503);
    eventually("it is out", || told().standing == Standing::Unhealthy);
    assert!(told().reason.contains("status 503"), "{}", told().reason);
    server.says(200);
    eventually("it is back", || told().standing == Standing::Ready);
}
