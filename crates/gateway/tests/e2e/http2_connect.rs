//! Extended CONNECT (RFC 8441): WebSocket on a stream of HTTP/2, to endpoints that speak HTTP/1.1.

use std::net::SocketAddr;
use std::os::unix::net::UnixStream as Blocking;
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use evenkeel_core::Endpoint;
use evenkeel_testkit::{Answer, Gateway, Upstream, eventually};
use h2::ext::Protocol;
use h2::{RecvStream, SendStream};
use http::{Method, Request};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tungstenite::Message;
use tungstenite::protocol::{Role, WebSocket};

use crate::http2::{ask, block_on, connect, get, ready, whole};
use crate::noise;
use crate::websocket::{config, server};

/// Asks for a stream to become another protocol.
fn extended(protocol: &'static str) -> Request<()> {
    let request = Request::builder()
        .method(Method::CONNECT)
        .uri("http://a.example/chat?room=1")
        .header("sec-websocket-version", "13")
        .header("origin", "http://a.example")
        .extension(Protocol::from_static(protocol));
    request.body(()).expect("a request")
}

/// Passes on what comes of a stream.
async fn down(mut from: RecvStream, mut to: tokio::net::unix::OwnedWriteHalf) {
    while let Some(Ok(data)) = from.data().await {
        to.write_all(&data).await.expect("it is read");
        let count = data.len();
        from.flow_control().release_capacity(count).expect("open");
    }
    to.shutdown().await.expect("open");
}

/// Passes on what goes onto a stream, as far as there is a window.
async fn up(mut from: tokio::net::unix::OwnedReadHalf, mut to: SendStream<Bytes>) {
    let mut space = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut space).await {
        let mut rest = Bytes::copy_from_slice(&space[..count]);
        while !rest.is_empty() {
            to.reserve_capacity(rest.len());
            let room = std::future::poll_fn(|cx| to.poll_capacity(cx)).await;
            let Some(Ok(room)) = room else { return };
            to.send_data(rest.split_to(room.min(rest.len())), false)
                .expect("open");
        }
    }
    let _ = to.send_data(Bytes::new(), true);
}

/// A stream that speaks WebSocket, as a socket, once the gateway has said 200.
fn switched(gateway: SocketAddr) -> (Blocking, JoinHandle<()>) {
    let (ours, theirs) = Blocking::pair().expect("a pair");
    let pumping = thread::spawn(move || {
        block_on(async {
            let mut client = connect(gateway).await;
            let first = ask(&client, get("/first"), Vec::new()).await;
            assert!(
                first.is_ok(),
                "the settings are there with the first answer"
            );
            assert!(client.is_extended_connect_protocol_enabled());
            let sent = client.send_request(extended("websocket"), false);
            let (answer, send) = sent.expect("open");
            let answer = answer.await.expect("an answer");
            assert_eq!(answer.status(), 200);
            assert!(!answer.headers().contains_key("sec-websocket-accept"));
            theirs.set_nonblocking(true).expect("open");
            let socket = UnixStream::from_std(theirs).expect("a socket");
            let (read, write) = socket.into_split();
            tokio::join!(down(answer.into_body(), write), up(read, send));
        });
    });
    (ours, pumping)
}

/// Messages of every form of length come back as they were, and both sides part in order.
#[test]
fn websocket_goes_over_a_stream() {
    let gateway = Gateway::over([Endpoint::new("a", server().to_string())]);
    let (socket, pumping) = switched(gateway.address());
    let mut socket = WebSocket::from_raw_socket(socket, Role::Client, config());
    for length in [0, 1, 125, 126, 65_535, 65_536, 1 << 20, 16 << 20] {
        let message = Message::binary(noise(length));
        socket.send(message.clone()).expect("it is sent");
        assert!(socket.read().expect("an answer") == message, "{length}");
    }
    socket.close(None).expect("it is sent");
    while socket.read().is_ok() {}
    drop(socket);
    pumping.join().expect("no panic");
    gateway.assert_idle();
}

/// What a client sends before the protocol has changed is never a request, and goes nowhere when it does not.
#[test]
fn e07_a_refused_stream_is_no_way_in() {
    let upstream = Upstream::answering(|_| Answer::status(403, "no"));
    let gateway = Gateway::single(&upstream);
    block_on(async {
        let mut client = ready(gateway.address()).await;
        let _ = ask(&client, get("/first"), Vec::new()).await;
        let (answer, mut send) = client
            .send_request(extended("websocket"), false)
            .expect("open");
        let early = Bytes::from_static(b"GET /admin HTTP/1.1\r\nhost: a\r\n\r\n");
        send.send_data(early, false).expect("open");
        let answer = whole(answer.await.expect("an answer"))
            .await
            .expect("whole");
        assert_eq!((answer.status, answer.body.as_slice()), (403, &b"no"[..]));
    });
    let paths: Vec<String> = upstream
        .requests()
        .iter()
        .map(|it| it.head.line.clone())
        .collect();
    assert_eq!(paths.len(), 2, "{paths:?}");
    assert!(paths[1].starts_with("GET /chat?room=1 "), "{paths:?}");
    let asked = &upstream.requests()[1].head;
    assert_eq!(asked.field("upgrade"), Some("websocket"));
    assert_eq!(asked.field("sec-websocket-key").map(str::len), Some(24));
    eventually("nothing is left", || upstream.open_connections() <= 1);
    gateway.assert_idle();
}

/// Success without another protocol is none for a stream that was to become one.
#[test]
fn a_success_that_changes_nothing_resets_the_stream() {
    let upstream = Upstream::ok("page");
    let gateway = Gateway::single(&upstream);
    block_on(async {
        let mut client = ready(gateway.address()).await;
        let _ = ask(&client, get("/first"), Vec::new()).await;
        let (answer, _send) = client
            .send_request(extended("websocket"), false)
            .expect("open");
        let error = answer.await.expect_err("it is reset");
        assert!(error.is_reset(), "{error}");
    });
    gateway.assert_idle();
}
