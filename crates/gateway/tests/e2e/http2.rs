//! Clients that speak HTTP/2: by the library `h2` and by frames.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use evenkeel_testkit::{Act, Answer, Authority, Gate, Gateway, PATIENCE, Upstream, eventually};
use h2::client::SendRequest;
use h2::{Reason, RecvStream};
use http::{HeaderMap, Request, Response};
use rustls::version::TLS13;

use crate::http2_frames::{
    DATA, END_HEADERS, END_STREAM, Frames, GET, GOAWAY, HEADERS, OK, PREFACE, RST_STREAM, SETTINGS,
    frame, head,
};
use crate::noise;
use crate::tls::{TlsClient, believing, secured, tls};

/// Runs a test's future, within the time that anything may take.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("an event loop");
    runtime.block_on(async {
        let result = tokio::time::timeout(PATIENCE, future).await;
        result.expect("it ends")
    })
}

/// A client on a new connection.
pub(crate) async fn connect(address: SocketAddr) -> SendRequest<Bytes> {
    let stream = tokio::net::TcpStream::connect(address).await;
    let (client, connection) = h2::client::Builder::new()
        .initial_window_size(1 << 20)
        .handshake(stream.expect("it listens"))
        .await
        .expect("HTTP/2");
    tokio::spawn(connection);
    client
}

/// A client on a new connection that may begin a stream.
pub(crate) async fn ready(address: SocketAddr) -> SendRequest<Bytes> {
    connect(address).await.ready().await.expect("open")
}

/// An answer with all that belongs to it.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) status: u16,
    pub(crate) fields: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Option<HeaderMap>,
}

pub(crate) async fn whole(response: Response<RecvStream>) -> Result<Whole, h2::Error> {
    let (parts, mut stream) = response.into_parts();
    let mut body = Vec::new();
    while let Some(data) = stream.data().await {
        let data = data?;
        body.extend_from_slice(&data);
        stream.flow_control().release_capacity(data.len())?;
    }
    Ok(Whole {
        status: parts.status.as_u16(),
        fields: parts.headers,
        body,
        trailers: stream.trailers().await?,
    })
}

pub(crate) fn get(path: &str) -> Request<()> {
    let request = Request::get(format!("http://a.example{path}"));
    request.body(()).expect("a request")
}

pub(crate) fn post(path: &str) -> Request<()> {
    let request = Request::post(format!("http://a.example{path}"));
    request.body(()).expect("a request")
}

/// Sends a request with this body, in pieces as the gateway takes them, and reads the answer.
pub(crate) async fn ask(
    client: &SendRequest<Bytes>,
    request: Request<()>,
    body: Vec<u8>,
) -> Result<Whole, h2::Error> {
    let mut client = client.clone().ready().await?;
    let (answer, mut send) = client.send_request(request, body.is_empty())?;
    if !body.is_empty() {
        tokio::spawn(async move {
            let mut rest = Bytes::from(body);
            while !rest.is_empty() {
                send.reserve_capacity(rest.len());
                let capacity = std::future::poll_fn(|cx| send.poll_capacity(cx)).await;
                let Some(Ok(count)) = capacity else { return };
                let piece = rest.split_to(count.min(rest.len()));
                if send.send_data(piece, rest.is_empty()).is_err() {
                    return;
                }
            }
        });
    }
    whole(answer.await?).await
}

#[test]
fn requests_come_by_prior_knowledge() {
    let upstream = Upstream::echo();
    let gateway = Gateway::single(&upstream);
    block_on(async {
        let client = connect(gateway.address()).await;
        let mut request = get("/a?b=c");
        for cookie in ["a=1", "b=2"] {
            request
                .headers_mut()
                .append("cookie", cookie.parse().expect("a value"));
        }
        let answer = ask(&client, request, Vec::new()).await.expect("an answer");
        assert_eq!((answer.status, answer.body.len()), (200, 0));
        assert!(answer.fields.contains_key("x-request-id"));
        assert!(!answer.fields.contains_key("connection"));
        for size in [1, 20_000, 3 << 20] {
            let body = noise(size);
            let answer = ask(&client, post("/p"), body.clone()).await;
            assert!(answer.expect("an answer").body == body, "{size}");
        }
    });
    let first = &upstream.requests()[0];
    assert_eq!(first.head.line, "GET /a?b=c HTTP/1.1");
    assert_eq!(first.field("host"), Some("a.example"));
    assert_eq!(first.field("cookie"), Some("a=1; b=2"));
    assert_eq!(first.field("x-forwarded-proto"), Some("http"));
    assert_eq!(first.field("x-forwarded-for"), Some("127.0.0.1"));
    gateway.assert_idle();
    gateway.assert_blameless();
}

/// Many at once, bodies both ways, with lengths that are known and that are not.
#[test]
fn streams_do_not_wait_for_each_other() {
    let gate = Gate::new();
    let upstream = Upstream::answering({
        let gate = gate.clone();
        move |request| match request.target() {
            "/slow" => Answer::ok("slow").behind(&gate),
            _ => Answer::ok(&request.body),
        }
    });
    let gateway = Gateway::single(&upstream);
    block_on(async {
        let client = connect(gateway.address()).await;
        let slow = tokio::spawn({
            let client = client.clone();
            async move { ask(&client, get("/slow"), Vec::new()).await }
        });
        let tasks: Vec<_> = (0..40)
            .map(|number| {
                let client = client.clone();
                tokio::spawn(async move {
                    let body = noise(1000 * number + 1);
                    let mut request = post("/p");
                    if number % 2 == 0 {
                        let length = body.len().into();
                        request.headers_mut().insert("content-length", length);
                    }
                    let answer = ask(&client, request, body.clone()).await;
                    assert!(answer.expect("an answer").body == body, "{number}");
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("well");
        }
        assert!(!slow.is_finished());
        gate.open();
        let slow = slow.await.expect("well").expect("an answer");
        assert_eq!(slow.body, b"slow");
    });
    gateway.assert_idle();
}

#[test]
fn http2_is_agreed_on_over_tls() {
    let authority = Authority::new();
    let upstream = Upstream::ok("ok");
    let all = vec![tls(authority.issue("a", &["a.example"]))];
    let gateway = secured([upstream.endpoint("a")], all, |_| {});
    let mut config = (*believing(&authority, None, &[&TLS13])).clone();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let client = TlsClient::connect(gateway.address(), "a.example", &config.into());
    let mut frames = Frames(client.0);
    frames.begin(&[]);
    frames.ask(1, &GET);
    let answer = frames.next_of(1).expect("an answer");
    assert_eq!((answer.kind, answer.payload[0]), (HEADERS, OK));
    assert_eq!(frames.0.conn.alpn_protocol(), Some(&b"h2"[..]));
    let body = frames.next_of(1).expect("its body");
    assert_eq!((body.kind, &body.payload[..]), (DATA, &b"ok"[..]));
    assert_eq!(body.flags, END_STREAM, "no frame that says nothing");
    assert_eq!(
        upstream.only_request().field("x-forwarded-proto"),
        Some("https")
    );
}

/// The preface is known by its first bytes, however they come; what begins like it is refused.
#[test]
fn the_preface_may_drip() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let mut frames = Frames::silent(gateway.address());
    let hello = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    for byte in hello {
        assert!(frames.try_send(&[byte]));
        std::thread::sleep(Duration::from_millis(1));
    }
    frames.ask(1, &GET);
    assert_eq!(frames.next_of(1).expect("an answer").payload[0], OK);

    let answer = crate::ask(gateway.address(), "PRI * HTTP/2.0\r\nHost: a\r\n\r\n");
    assert!([400, 505].contains(&answer.status), "{}", answer.status);
    let late = crate::ask(gateway.address(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\rX");
    assert!([400, 505].contains(&late.status), "{}", late.status);
    assert_eq!(upstream.count(), 1);
}

/// E23: one limit, however a body comes; and the connection goes on.
#[test]
fn e23_bodies_have_the_same_limit() {
    const MIB: usize = 1 << 20;
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.listeners[0].limits.body = Some(MIB as u64);
    });
    block_on(async {
        let client = connect(gateway.address()).await;
        let mut known = post("/known");
        known
            .headers_mut()
            .insert("content-length", (2 * MIB).into());
        let answer = ask(&client, known, noise(2 * MIB))
            .await
            .expect("an answer");
        assert_eq!(answer.status, 413);
        assert_eq!(
            upstream.bytes_received(),
            0,
            "known before anything is sent"
        );
        let answer = ask(&client, post("/unknown"), noise(2 * MIB)).await;
        assert_eq!(answer.expect("an answer").status, 413);
        let answer = ask(&client, post("/short"), noise(MIB)).await;
        assert_eq!(answer.expect("an answer").status, 200);
    });
}

/// What goes wrong on one stream is told on that stream.
#[test]
fn a_cut_answer_does_not_look_whole() {
    let upstream = Upstream::answering(|request| match request.target() {
        "/cut" => Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").then(Act::Close),
        _ => Answer::ok("ok"),
    });
    let gateway = Gateway::single(&upstream);
    block_on(async {
        let client = connect(gateway.address()).await;
        let error = ask(&client, get("/cut"), Vec::new())
            .await
            .expect_err("cut");
        assert_eq!(error.reason(), Some(Reason::INTERNAL_ERROR));
        let answer = ask(&client, get("/"), Vec::new()).await.expect("an answer");
        assert_eq!(answer.body, b"ok");
    });
}

#[test]
fn a_stream_that_is_given_up_frees_its_endpoint() {
    let upstream = Upstream::answering(|request| match request.target() {
        "/never" => Answer::never(),
        _ => Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").then(Act::Listen),
    });
    let gateway = Gateway::single(&upstream);
    block_on(async {
        let mut client = ready(gateway.address()).await;
        let (_waiting, mut early) = client.send_request(get("/never"), true).expect("open");
        let (answer, mut late) = client.send_request(get("/half"), true).expect("open");
        let _body = answer.await.expect("a head");
        early.send_reset(Reason::CANCEL);
        late.send_reset(Reason::CANCEL);
        let other = client.ready().await.expect("it stands");
        drop(other);
    });
    eventually("nobody is asked any more", || {
        upstream.open_connections() == 0
    });
    gateway.assert_idle();
}

/// Interim answers, trailers and heads without a body, both ways.
#[test]
fn what_stands_beside_bodies_passes() {
    let upstream = Upstream::answering(|request| match request.target() {
        "/trailers" => Answer::raw(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-sum: 7\r\n\r\n",
        ),
        "/bare" => Answer::raw(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nx-sum: 0\r\n\r\n",
        ),
        _ => Answer::interim("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n")
            .send("HTTP/1.1 204 No Content\r\n\r\n"),
    });
    let gateway = Gateway::single(&upstream);
    block_on(async {
        let client = connect(gateway.address()).await;
        let answer = ask(&client, get("/trailers"), Vec::new())
            .await
            .expect("one");
        assert_eq!(answer.trailers.expect("some")["x-sum"], "7");
        let answer = ask(&client, get("/bare"), Vec::new()).await.expect("one");
        assert_eq!(answer.trailers.expect("some")["x-sum"], "0");
        let answer = ask(&client, get("/"), Vec::new()).await.expect("one");
        assert_eq!((answer.status, answer.trailers), (204, None));

        let mut client = client.ready().await.expect("open");
        let (answer, mut send) = client.send_request(post("/trailers"), false).expect("open");
        send.send_data("body".into(), false).expect("open");
        let mut fields = HeaderMap::new();
        fields.insert("x-up", "1".parse().expect("a value"));
        send.send_trailers(fields).expect("open");
        whole(answer.await.expect("a head")).await.expect("one");
    });
    let requests = upstream.requests();
    let last = requests.last().expect("some");
    assert_eq!(last.body, b"body");
    assert_eq!(last.trailers, ["x-up: 1"]);
}

/// Frames as they come: an answer without a body is one frame.
#[test]
fn an_answer_without_a_body_is_one_frame() {
    let upstream = Upstream::answering(|request| match request.target() {
        "/chunks" => Answer::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        _ => Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    });
    let gateway = Gateway::single(&upstream);
    let mut frames = Frames::connect(gateway.address());
    for (stream, path) in [(1, "/chunks"), (3, "/length")] {
        let mut fields = GET;
        fields[3].1 = path;
        frames.ask(stream, &fields);
        let answer = frames.next_of(stream).expect("an answer");
        assert_eq!((answer.kind, answer.payload[0]), (HEADERS, OK), "{path}");
        assert_eq!(answer.flags, END_STREAM | END_HEADERS, "{path}");
    }
}

/// What is under way when the gateway leaves gets its answer, and the client is told to go elsewhere.
#[test]
fn a_gateway_that_leaves_says_so_and_finishes() {
    let gate = Gate::new();
    let upstream = Upstream::answering({
        let gate = gate.clone();
        move |_| Answer::ok("late").behind(&gate)
    });
    let mut gateway = Gateway::single(&upstream);
    let mut frames = Frames::connect(gateway.address());
    frames.ask(1, &GET);
    eventually("it is asked", || upstream.count() == 1);
    let drained = gateway.drain();
    loop {
        let frame = frames.next().expect("it stands");
        if frame.kind == GOAWAY {
            assert_eq!(frame.code(), 0);
            break;
        }
    }
    gate.open();
    let answer = frames.next_of(1).expect("a frame");
    assert_eq!((answer.kind, answer.payload[0]), (HEADERS, OK));
    drop(frames);
    assert!(drained.join().expect("it ends"));
}

#[test]
fn a_connection_without_requests_ends() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.listeners[0].limits.idle_timeout = Duration::from_secs(1);
        config.listeners[0].limits.header_timeout = Duration::from_secs(1);
    });
    let mut frames = Frames::connect(gateway.address());
    frames.ask(1, &GET);
    assert_eq!(frames.next_of(1).expect("an answer").payload[0], OK);
    assert_eq!(frames.goaway(), Some(0));
    assert!(frames.next().is_none(), "and it ends");

    // One that begins and does not go on.
    let mut silent = Frames::silent(gateway.address());
    assert!(silent.try_send(PREFACE));
    while silent.next().is_some() {}
    eventually("nobody is there", || {
        gateway.control().listeners()[0].connections() == 0
    });
}

/// F06: nothing breaks out of its place, and `:authority` stands above a Host field.
#[test]
fn f06_requests_are_checked_before_they_are_translated() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let with = |place: usize, value: &'static str| {
        let mut fields = GET.to_vec();
        fields[place].1 = value;
        fields
    };
    let and = |name: &'static str, value: &'static str| [&GET[..], &[(name, value)]].concat();
    let bad = [
        with(0, "GET /x HTTP/1.1\r\nx:"),
        with(0, "GE T"),
        with(2, "a.example\r\nx: y"),
        with(3, "/a b"),
        with(3, "/a\r\nx: y"),
        with(3, ""),
        and("connection", "close"),
        and("transfer-encoding", "chunked"),
        and("upgrade", "websocket"),
        and("keep-alive", "1"),
        and("te", "gzip"),
        and("x", "a\r\nx: y"),
        and("x\r\ny", "a"),
        and("X-Upper", "a"),
        and("x", " a"),
        and("", "a"),
        and(":path", "/twice"),
        and(":status", "200"),
        and("content-length", "5"),
        GET[1..].to_vec(),
        vec![GET[0], GET[1], GET[2]],
    ];
    for fields in bad {
        let mut frames = Frames::connect(gateway.address());
        frames.ask(1, &fields);
        let answer = frames.next_of(1).expect("a word");
        let refused = answer.kind == RST_STREAM || answer.kind == GOAWAY;
        let is_answer = answer.kind == HEADERS && answer.payload[0] == 0x8c;
        assert!(refused || is_answer, "{fields:?}: {answer:?}");
    }
    assert_eq!(upstream.bytes_received(), 0);

    let mut frames = Frames::connect(gateway.address());
    frames.ask(1, &and("host", "other.example"));
    assert_eq!(frames.next_of(1).expect("an answer").payload[0], OK);
    let request = upstream.only_request();
    assert_eq!(request.field("host"), Some("a.example"));
    assert_eq!(head(&[("a", "b")]), b"\0\x01a\x01b");
}
