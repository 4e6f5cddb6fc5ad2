//! Bodies: every length, both framings, both ways; streamed, and never held in memory.

use std::thread;

use evenkeel_testkit::{Act, Answer, Gate, Gateway, RawClient, Script, Upstream, eventually};

use crate::{GET, ask, noise, post};

const CHUNKED: &str = "POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Lengths around the sizes of buffers, where an edge would be cut or doubled.
const LENGTHS: [usize; 14] = [
    0, 1, 2, 100, 16_000, 16_383, 16_384, 16_385, 32_768, 65_535, 65_536, 262_143, 262_144, 300_000,
];

fn chunked(body: &[u8], size: usize) -> Vec<u8> {
    let mut bytes = CHUNKED.as_bytes().to_vec();
    for piece in body.chunks(size) {
        bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// Sends from a thread of its own, as a client must that is answered while it still sends.
fn sending(client: &RawClient, bytes: Vec<u8>) -> thread::JoinHandle<bool> {
    let mut sender = client.second_hand();
    thread::spawn(move || sender.try_send(bytes))
}

#[test]
fn bodies_of_known_length_pass_both_ways() {
    let upstream = Upstream::echo();
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::connect(gateway.address());
    for length in LENGTHS {
        let body = noise(length);
        let sent = sending(&client, post(&body));
        let response = client.response_to("POST");
        assert!(sent.join().expect("it sends"));
        assert_eq!(response.field("content-length"), Some(&*length.to_string()));
        assert!(response.body == body, "{length} bytes as they were");
        assert!(!response.says_close());
    }
    assert_eq!(upstream.count(), LENGTHS.len());
    gateway.assert_idle();
}

#[test]
fn chunked_bodies_pass_both_ways() {
    let upstream = Upstream::answering(|request| Answer::chunks(request.body.chunks(1000)));
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::connect(gateway.address());
    for length in LENGTHS {
        let body = noise(length);
        let sent = sending(&client, chunked(&body, 777));
        let response = client.response_to("POST");
        assert!(sent.join().expect("it sends"));
        assert_eq!(response.field("transfer-encoding"), Some("chunked"));
        assert!(response.body == body, "{length} bytes as they were");
    }
    for request in upstream.requests() {
        assert_eq!(request.head.all("transfer-encoding"), ["chunked"]);
        assert_eq!(request.field("content-length"), None);
    }
}

/// 8 MiB each way, both framings.
#[test]
fn large_bodies_are_identical() {
    let upstream = Upstream::answering(|request| match request.field("content-length") {
        Some(_) => Answer::ok(&request.body),
        None => Answer::chunks(request.body.chunks(100_000)),
    });
    let gateway = Gateway::single(&upstream);
    let body = noise(8 << 20);
    for bytes in [post(&body), chunked(&body, 70_000)] {
        let mut client = RawClient::connect(gateway.address());
        let sent = sending(&client, bytes);
        let response = client.response_to("POST");
        assert!(sent.join().expect("it sends"));
        assert!(response.is_whole && response.body == body, "byte for byte");
    }
    for request in upstream.requests() {
        assert!(request.body == body, "byte for byte");
    }
    gateway.assert_idle();
}

/// What leaves is one clean form: no extensions, no white space, no odd case of the coding.
#[test]
fn e03_chunk_extensions_are_not_forwarded() {
    let upstream = Upstream::echo();
    let gateway = Gateway::single(&upstream);
    let head = "POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \t CHUNKED \r\n\r\n";
    let request = format!("{head}3;x=y\r\nabc\r\n000A;q=\"z\"\r\n0123456789\r\n0;last\r\n\r\n");
    assert_eq!(ask(gateway.address(), request).text(), "abc0123456789");
    let request = upstream.only_request();
    assert_eq!(request.head.all("transfer-encoding"), ["chunked"]);
    let text = String::from_utf8_lossy(&request.raw).into_owned();
    assert!(
        text.ends_with("\r\n\r\n3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n"),
        "{text}"
    );
}

#[test]
fn trailers_pass_both_ways() {
    let upstream = Upstream::answering(|_| {
        Answer::raw(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
             2\r\nok\r\n0\r\nX-Sum: 7\r\nContent-Length: 9\r\n\r\n",
        )
    });
    let gateway = Gateway::single(&upstream);
    let request = format!("{CHUNKED}2\r\nhi\r\n0\r\nX-Digest: abc\r\nHost: evil\r\n\r\n");
    let response = ask(gateway.address(), request);
    assert_eq!(response.trailers, ["X-Sum: 7"]);
    assert_eq!(upstream.only_request().trailers, ["X-Digest: abc"]);
}

/// What a Connection field names is for the next hop alone, also behind a body.
#[test]
fn e06_nominated_trailers_stay_behind() {
    let upstream = Upstream::answering(|_| {
        Answer::raw(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: x-sum\r\n\r\n\
             2\r\nok\r\n0\r\nX-Sum: 7\r\nX-Other: 8\r\n\r\n",
        )
    });
    let gateway = Gateway::single(&upstream);
    let head = CHUNKED.trim_end();
    let request =
        format!("{head}\r\nConnection: x-digest\r\n\r\n2\r\nhi\r\n0\r\nX-Digest: a\r\n\r\n");
    let response = ask(gateway.address(), request);
    assert_eq!(response.trailers, ["X-Other: 8"]);
    assert!(upstream.only_request().trailers.is_empty());
}

/// E21: each event is there before the next one is sent.
#[test]
fn e21_events_arrive_one_by_one() {
    let gates: Vec<Gate> = (0..5).map(|_| Gate::new()).collect();
    let behind = gates.clone();
    let upstream = Upstream::answering(move |_| {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let events = behind.iter().enumerate();
        let answer = events.fold(Answer::raw(head), |answer, (number, gate)| {
            answer
                .await_gate(gate)
                .send(format!("4\r\nev-{number}\r\n"))
        });
        answer.send("0\r\n\r\n")
    });
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::sending(gateway.address(), GET);
    assert_eq!(client.head().line, "HTTP/1.1 200 OK");
    for (number, gate) in gates.iter().enumerate() {
        gate.open();
        let event = format!("4\r\nev-{number}\r\n").into_bytes();
        assert_eq!(client.take(event.len()), event);
    }
    assert_eq!(client.take(5), b"0\r\n\r\n");
}

/// So is each piece of an upload.
#[test]
fn e21_uploads_are_streamed() {
    let upstream = Upstream::echo();
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::sending(gateway.address(), CHUNKED);
    for number in 1..=5 {
        let before = upstream.bytes_received();
        client.send("3\r\nabc\r\n");
        eventually("a piece arrives by itself", || {
            upstream.bytes_received() >= before + 8
        });
        assert_eq!(upstream.count(), 0, "piece {number} is not the last");
    }
    client.send("0\r\n\r\n");
    assert_eq!(client.response().text(), "abc".repeat(5));
}

/// E21: a client that does not read holds up its upstream, and does not fill our memory: what the
/// upstream gets rid of is what the sockets on the way hold.
#[test]
fn e21_a_slow_reader_slows_the_upstream() {
    const SIZE: usize = 64 << 20;
    let upstream = Upstream::answering(|_| {
        Answer::raw(format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n"))
            .then(Act::Send(vec![b'x'; SIZE]))
    });
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::connect_narrow(gateway.address(), 64 * 1024);
    client.send(GET);
    assert_eq!(
        client.head().field("content-length"),
        Some(&*SIZE.to_string())
    );
    let mut last = 0;
    eventually("the upstream is stuck", || {
        thread::sleep(std::time::Duration::from_millis(200));
        std::mem::replace(&mut last, upstream.bytes_sent()) == upstream.bytes_sent()
    });
    // Two send buffers and a receive buffer of up to 6 MiB each, and one buffer of ours.
    assert!(
        upstream.bytes_sent() < SIZE / 2,
        "{}",
        upstream.bytes_sent()
    );
    drop(client);
    gateway.assert_idle();
    gateway.assert_blameless();
}

/// An upstream that does not read holds up its client.
#[test]
fn e21_a_slow_upstream_slows_the_client() {
    const SIZE: usize = 64 << 20;
    let script = Script::new(|_| Answer::ok(""));
    let upstream = Upstream::start(script.at_head(|_| Some(Answer::new().then(Act::Sleep))));
    let gateway = Gateway::single(&upstream);
    let client = RawClient::connect(gateway.address());
    let mut sender = client.second_hand();
    let progress = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let sent = std::sync::Arc::clone(&progress);
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {SIZE}\r\n\r\n");
    let sending = thread::spawn(move || {
        let mut ok = sender.try_send(head);
        while ok && sent.load(std::sync::atomic::Ordering::SeqCst) < SIZE {
            ok = sender.try_send(vec![b'x'; 1 << 16]);
            sent.fetch_add(1 << 16, std::sync::atomic::Ordering::SeqCst);
        }
    });
    let read = || progress.load(std::sync::atomic::Ordering::SeqCst);
    let mut last = 0;
    eventually("the client is stuck", || {
        thread::sleep(std::time::Duration::from_millis(200));
        let now = read();
        now > 0 && std::mem::replace(&mut last, now) == now
    });
    assert!(read() < SIZE / 2, "{}", read());
    drop(upstream);
    drop(client);
    drop(gateway);
    sending.join().expect("it ends with its connection");
}

/// A body without a length ends with its connection: chunks tell a client of HTTP/1.1.
#[test]
fn a_body_up_to_the_close_is_chunked() {
    let upstream = Upstream::answering(|_| {
        Answer::raw("HTTP/1.1 200 OK\r\n\r\n")
            .send("all of ")
            .send("it")
            .then(Act::Close)
    });
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..2 {
        client.send(GET);
        let response = client.response();
        assert!(
            response.is_whole && response.text() == "all of it",
            "{response:?}"
        );
        assert_eq!(response.head.all("transfer-encoding"), ["chunked"]);
    }
}
