//! Endpoints that speak HTTP/2, and gRPC through the gateway.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use evenkeel_core::Endpoint;
use evenkeel_testkit::{AsyncServer, Gateway, RawClient, Refusing, eventually};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Request, Response};

use crate::http2::{ask, block_on, connect, get, post, ready, whole};
use crate::http2_frames::{END_HEADERS, END_STREAM, Frames, GET, HEADERS, OK};
use crate::noise;

/// A server of HTTP/2 that does what the path of a request says.
struct Server {
    server: AsyncServer,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    connections: AtomicUsize,
    requests: AtomicUsize,
    /// Streams that ended before they were answered.
    resets: AtomicUsize,
}

impl Server {
    fn start() -> Self {
        let counts = Arc::new(Counts::default());
        let counting = Arc::clone(&counts);
        let server = AsyncServer::start(|listener| serve(listener, counting));
        Self { server, counts }
    }

    fn endpoint(&self, id: &str) -> Endpoint {
        self.server.endpoint(id)
    }

    fn count(&self) -> usize {
        self.counts.requests.load(Ordering::SeqCst)
    }
}

async fn serve(listener: tokio::net::TcpListener, counts: Arc<Counts>) {
    while let Ok((stream, _)) = listener.accept().await {
        counts.connections.fetch_add(1, Ordering::SeqCst);
        let counts = Arc::clone(&counts);
        tokio::spawn(async move {
            let Ok(mut connection) = h2::server::handshake(stream).await else {
                return;
            };
            while let Some(Ok((request, respond))) = connection.accept().await {
                counts.requests.fetch_add(1, Ordering::SeqCst);
                if request.uri().path() == "/goaway" {
                    connection.abrupt_shutdown(Reason::NO_ERROR);
                }
                tokio::spawn(answer(request, respond, Arc::clone(&counts)));
            }
        });
    }
}

fn trailers(status: &str) -> HeaderMap {
    let mut fields = HeaderMap::new();
    fields.insert("grpc-status", status.parse().expect("a value"));
    fields
}

async fn send_all(send: &mut SendStream<Bytes>, mut rest: Bytes) {
    while !rest.is_empty() {
        send.reserve_capacity(rest.len());
        let room = std::future::poll_fn(|cx| send.poll_capacity(cx)).await;
        let Some(Ok(room)) = room else { return };
        let piece = rest.split_to(room.min(rest.len()));
        let _ = send.send_data(piece, false);
    }
}

async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    counts: Arc<Counts>,
) {
    let path = request.uri().path().to_owned();
    let grpc = || Response::builder().header("content-type", "application/grpc");
    match &*path {
        "/trailers-only" => {
            let answer = grpc().header("grpc-status", "12").body(()).expect("right");
            let _ = respond.send_response(answer, true);
        }
        "/refuse" => respond.send_reset(Reason::REFUSED_STREAM),
        "/cut" => {
            let mut send = respond
                .send_response(grpc().body(()).expect("right"), false)
                .expect("open");
            let _ = send.send_data("half".into(), false);
            // What has not left yet would be lost.
            tokio::time::sleep(Duration::from_millis(50)).await;
            send.send_reset(Reason::INTERNAL_ERROR);
        }
        "/never" => {
            let _ = std::future::poll_fn(|cx| respond.poll_reset(cx)).await;
            counts.resets.fetch_add(1, Ordering::SeqCst);
        }
        "/two-then-10" | "/none-then-5" => {
            let mut send = respond
                .send_response(grpc().body(()).expect("right"), false)
                .expect("open");
            let is_two = path == "/two-then-10";
            for message in ["one", "two"].iter().filter(|_| is_two) {
                let _ = send.send_data((*message).into(), false);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let _ = send.send_trailers(trailers(if is_two { "10" } else { "5" }));
        }
        "/told" => {
            let _ = respond.send_response(told(&request), true);
        }
        _ => {
            let send = respond
                .send_response(grpc().body(()).expect("right"), false)
                .expect("open");
            send_back(request.into_body(), send).await;
        }
    }
}

/// What the endpoint was told of the request.
fn told(request: &Request<RecvStream>) -> Response<()> {
    let field = |name: &str| request.headers().get(name).cloned();
    let authority = request.uri().authority().map(ToString::to_string);
    let answer = Response::builder()
        .header(
            "x-te",
            field("te").expect("trailers are said to be welcome"),
        )
        .header("x-proto", field("x-forwarded-proto").expect("it is said"))
        .header("x-authority", authority.expect("there is one"));
    answer.body(()).expect("right")
}

/// Sends each message back as it comes, before the request ends.
async fn send_back(mut body: RecvStream, mut send: SendStream<Bytes>) {
    while let Some(Ok(data)) = body.data().await {
        let _ = body.flow_control().release_capacity(data.len());
        send_all(&mut send, data).await;
    }
    let _ = send.send_trailers(trailers("0"));
}

/// A gateway that speaks HTTP/2 to these.
fn over(endpoints: impl IntoIterator<Item = Endpoint>) -> Gateway {
    Gateway::with(endpoints, |config| {
        config.clusters[0].http2 = true;
    })
}

#[test]
fn one_connection_carries_many_requests() {
    let server = Server::start();
    let gateway = over([server.endpoint("a")]);
    block_on(async {
        let client = connect(gateway.address()).await;
        let tasks: Vec<_> = (0..50)
            .map(|number| {
                let client = client.clone();
                tokio::spawn(async move {
                    let body = noise(7_000 * number + 1);
                    let answer = ask(&client, post("/echo"), body.clone()).await;
                    let answer = answer.expect("an answer");
                    assert!(answer.body == body, "{number}");
                    assert_eq!(answer.trailers.expect("some")["grpc-status"], "0");
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("well");
        }
        let told = ask(&client, get("/told"), Vec::new()).await.expect("one");
        assert_eq!(told.fields["x-te"], "trailers");
        assert_eq!(told.fields["x-proto"], "http");
        assert_eq!(told.fields["x-authority"], "a.example");
    });
    assert_eq!(server.counts.connections.load(Ordering::SeqCst), 1);
    gateway.assert_idle();
    gateway.assert_blameless();
}

/// From HTTP/1 to HTTP/2 and back.
#[test]
fn clients_of_http1_reach_endpoints_of_http2() {
    let server = Server::start();
    let gateway = over([server.endpoint("a")]);
    let mut client = RawClient::connect(gateway.address());
    for size in [0, 10, 300_000] {
        let body = noise(size);
        client.send(crate::post(&body));
        let response = client.response_to("POST");
        assert_eq!(response.status, 200);
        assert!(response.body == body, "{size}");
    }
    // An answer that begins before its request has ended ends an HTTP/1 connection.
    let mut client = RawClient::connect(gateway.address());
    client.send("HEAD /told HTTP/1.1\r\nHost: a.example\r\n\r\n");
    assert_eq!(client.response_to("HEAD").field("x-te"), Some("trailers"));
    gateway.assert_idle();
}

/// F01: a status without a message stays in the one frame that it came in.
#[test]
fn f01_trailers_only_stay_in_one_frame() {
    let server = Server::start();
    let gateway = over([server.endpoint("a")]);
    let mut frames = Frames::connect(gateway.address());
    let mut fields = GET;
    fields[3].1 = "/trailers-only";
    frames.ask(1, &fields);
    let answer = frames.next_of(1).expect("an answer");
    assert_eq!((answer.kind, answer.payload[0]), (HEADERS, OK));
    assert_eq!(answer.flags, END_STREAM | END_HEADERS);
    block_on(async {
        let client = connect(gateway.address()).await;
        let answer = ask(&client, post("/trailers-only"), b"x".to_vec()).await;
        assert_eq!(answer.expect("an answer").fields["grpc-status"], "12");
    });
}

/// F02: a status behind messages, or behind none.
#[test]
fn f02_a_status_comes_behind_its_messages() {
    let server = Server::start();
    let gateway = over([server.endpoint("a")]);
    block_on(async {
        let client = connect(gateway.address()).await;
        for (path, body, status) in [("/two-then-10", "onetwo", "10"), ("/none-then-5", "", "5")] {
            let answer = ask(&client, post(path), b"x".to_vec()).await.expect("one");
            assert_eq!(answer.body, body.as_bytes(), "{path}");
            assert_eq!(answer.trailers.expect("some")["grpc-status"], status);
        }
    });
}

/// Messages go back and forth while both sides are open.
#[test]
fn both_directions_flow_at_once() {
    let server = Server::start();
    let gateway = over([server.endpoint("a")]);
    block_on(async {
        let mut client = ready(gateway.address()).await;
        let (answer, mut send) = client.send_request(post("/echo"), false).expect("open");
        send.send_data("first".into(), false).expect("open");
        let mut body = answer.await.expect("a head").into_body();
        assert_eq!(body.data().await.expect("some").expect("data"), "first");
        send.send_data("second".into(), false).expect("open");
        assert_eq!(body.data().await.expect("some").expect("data"), "second");
        send.send_data(Bytes::new(), true).expect("open");
        assert!(body.data().await.is_none());
        let trailers = body.trailers().await.expect("whole").expect("some");
        assert_eq!(trailers["grpc-status"], "0");
    });
}

/// A client that gives up, as one does whose deadline is over, frees the endpoint.
#[test]
fn a_reset_reaches_the_endpoint() {
    let server = Server::start();
    let gateway = over([server.endpoint("a")]);
    block_on(async {
        let mut client = ready(gateway.address()).await;
        let (_answer, mut send) = client.send_request(post("/never"), false).expect("open");
        send.send_data("x".into(), false).expect("open");
        while server.count() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        send.send_reset(Reason::CANCEL);
        while server.counts.resets.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let mut client = client.ready().await.expect("the connection stands");
        let (answer, _) = client.send_request(get("/told"), true).expect("open");
        assert_eq!(answer.await.expect("an answer").status(), 200);
        let (answer, _) = client
            .ready()
            .await
            .expect("open")
            .send_request(get("/cut"), true)
            .expect("open");
        let error = whole(answer.await.expect("a head")).await.expect_err("cut");
        assert_eq!(error.reason(), Some(Reason::INTERNAL_ERROR));
    });
    gateway.assert_idle();
}

/// F07: what an endpoint has surely not begun with goes to another one, whatever its method.
#[test]
fn f07_what_was_refused_is_tried_elsewhere() {
    let server = Server::start();
    let refusing = Refusing::new();
    let gateway = over([refusing.endpoint("gone"), server.endpoint("a")]);
    block_on(async {
        let client = connect(gateway.address()).await;
        for _ in 0..8 {
            let answer = ask(&client, post("/echo"), b"message".to_vec()).await;
            assert_eq!(answer.expect("an answer").body, b"message");
        }
    });

    // REFUSED_STREAM is such a word too: the other endpoint is asked.
    let (one, other) = (Server::start(), Server::start());
    let gateway = over([one.endpoint("one"), other.endpoint("other")]);
    block_on(async {
        let client = connect(gateway.address()).await;
        let answer = ask(&client, post("/refuse"), b"message".to_vec()).await;
        assert_eq!(answer.expect("an answer of our own").status, 502);
    });
    assert_eq!((one.count(), other.count()), (1, 1));
}

/// An endpoint that says goodbye is asked again on a new connection.
#[test]
fn a_goaway_costs_no_later_request() {
    let server = Server::start();
    let gateway = over([server.endpoint("a")]);
    block_on(async {
        let client = connect(gateway.address()).await;
        for _ in 0..3 {
            let _ = ask(&client, get("/goaway"), Vec::new()).await;
            let answer = ask(&client, post("/echo"), b"message".to_vec()).await;
            assert_eq!(answer.expect("an answer").body, b"message");
        }
    });
    eventually("nothing is left", || gateway.endpoint("a").in_flight == 0);
}
