//! Fields and targets: what passes, what does not, and what the gateway adds.

use evenkeel_testkit::{Answer, Gateway, Received, Response, Upstream};

use crate::ask;

/// What a request with these lines behind its request line comes to, on both sides.
fn pass(lines: &str) -> (Received, Response) {
    pass_trusting(lines, &[])
}

fn pass_trusting(lines: &str, trusted: &[&str]) -> (Received, Response) {
    let upstream = Upstream::ok("");
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.listeners[0].trusted_proxies = trusted
            .iter()
            .map(|network| evenkeel_config::parse_network(network).expect("a network"))
            .collect();
    });
    let response = ask(gateway.address(), format!("GET / HTTP/1.1\r\n{lines}\r\n"));
    assert_eq!(response.status, 200, "{response:?}");
    (upstream.only_request(), response)
}

#[test]
fn e06_hop_by_hop_fields_of_requests_stay_behind() {
    let (request, _) = pass(
        "Host: a\r\nConnection: close, X-Foo, X-Forwarded-For\r\nX-Foo: 1\r\nx-foo: 2\r\n\
         Keep-Alive: timeout=5\r\nTE: trailers\r\nProxy-Connection: keep-alive\r\n\
         Trailer: X-Sum\r\nUpgrade: h2c\r\nX-Forwarded-For: 6.6.6.6\r\nX-Stays: yes\r\n",
    );
    let gone = [
        "connection",
        "x-foo",
        "keep-alive",
        "te",
        "proxy-connection",
        "trailer",
        "upgrade",
    ];
    for name in gone {
        assert_eq!(request.field(name), None, "{name}");
    }
    assert_eq!(request.head.all("x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(request.field("x-stays"), Some("yes"));
}

#[test]
fn e06_hop_by_hop_fields_of_responses_stay_behind() {
    let upstream = Upstream::answering(|_| {
        Answer::raw(
            "HTTP/1.1 200 OK\r\nConnection: x-secret, keep-alive\r\nX-Secret: 1\r\n\
             Keep-Alive: timeout=5\r\nProxy-Connection: close\r\nUpgrade: h2c\r\n\
             X-Stays: yes\r\nContent-Length: 2\r\n\r\nok",
        )
    });
    let gateway = Gateway::single(&upstream);
    let response = ask(gateway.address(), crate::GET);
    for name in [
        "connection",
        "x-secret",
        "keep-alive",
        "proxy-connection",
        "upgrade",
    ] {
        assert_eq!(response.field(name), None, "{name}");
    }
    assert_eq!(response.field("x-stays"), Some("yes"));
}

/// A client's `Connection: close` ends its own connection, not the pooled one.
#[test]
fn e06_the_pool_survives_clients_that_close() {
    let upstream = Upstream::ok("");
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.runtime.workers = evenkeel_config::Workers::new(1).expect("one");
    });
    for _ in 0..5 {
        ask(
            gateway.address(),
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        );
    }
    assert_eq!((upstream.count(), upstream.connections()), (5, 1));
}

#[test]
fn e16_forwarded_fields_of_strangers_are_replaced() {
    let (request, _) = pass(
        "Host: a.example:81\r\nX-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2\r\n\
         X-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\nForwarded: for=3.3.3.3\r\n",
    );
    assert_eq!(request.head.all("x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(request.head.all("x-forwarded-proto"), ["http"]);
    assert_eq!(request.head.all("x-forwarded-host"), ["a.example:81"]);
    assert_eq!(request.field("forwarded"), None);
}

#[test]
fn e16_the_chain_of_trusted_peers_is_kept() {
    let (request, _) = pass_trusting(
        "Host: a\r\nX-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2\r\n\
         X-Forwarded-Proto: https\r\nX-Forwarded-Host: outside.example\r\n",
        &["127.0.0.0/8"],
    );
    assert_eq!(
        request.head.all("x-forwarded-for"),
        ["1.1.1.1, 2.2.2.2, 127.0.0.1"]
    );
    assert_eq!(request.head.all("x-forwarded-proto"), ["https"]);
    assert_eq!(request.head.all("x-forwarded-host"), ["outside.example"]);
}

#[test]
fn e16_others_trust_does_not_concern_this_peer() {
    let lines = "Host: a\r\nX-Forwarded-For: 1.1.1.1\r\n";
    let (request, _) = pass_trusting(lines, &["10.0.0.0/8", "::1/128"]);
    assert_eq!(request.head.all("x-forwarded-for"), ["127.0.0.1"]);
}

#[test]
fn request_ids_are_taken_made_replaced_and_returned() {
    let (request, response) = pass("Host: a\r\nX-Request-Id: mine-1\r\n");
    assert_eq!(request.head.all("x-request-id"), ["mine-1"]);
    assert_eq!(response.head.all("x-request-id"), ["mine-1"]);

    let (request, response) = pass("Host: a\r\n");
    let made = request.field("x-request-id").expect("one is made");
    assert!(made.len() == 32 && made.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(response.field("x-request-id"), Some(made));

    let long = "x".repeat(129);
    for bad in [&*long, "two words", "", "caf\u{e9}"] {
        let (request, response) = pass(&format!("Host: a\r\nX-Request-Id: {bad}\r\n"));
        let made = request.head.all("x-request-id");
        assert_eq!(made.len(), 1);
        assert_eq!(made[0].len(), 32, "{bad:?} is replaced by {made:?}");
        assert_eq!(response.head.all("x-request-id"), made);
    }
}

#[test]
fn traces_pass_unchanged() {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let (request, _) = pass(&format!(
        "Host: a\r\ntraceparent: {trace}\r\ntracestate: a=b\r\n"
    ));
    assert_eq!(request.field("traceparent"), Some(trace));
    assert_eq!(request.field("tracestate"), Some("a=b"));
}

#[test]
fn e15_the_path_is_not_touched() {
    let upstream = Upstream::ok("");
    let gateway = Gateway::single(&upstream);
    let target = "//x/%2F/../a%2520b;c?q=/../&r=%00#";
    let target = target.trim_end_matches('#');
    ask(
        gateway.address(),
        format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"),
    );
    assert_eq!(
        upstream.only_request().head.line,
        format!("GET {target} HTTP/1.1")
    );
}

/// E17: one authority. The absolute form becomes the origin form when it agrees with Host.
#[test]
fn e17_the_absolute_form_agrees_with_host_or_is_refused() {
    let upstream = Upstream::ok("");
    let gateway = Gateway::single(&upstream);
    let request = |host: &str| format!("GET http://b.example/p?q HTTP/1.1\r\n{host}\r\n");
    let same = ask(gateway.address(), request("Host: b.example\r\n"));
    assert_eq!(same.status, 200);
    let received = upstream.only_request();
    assert_eq!(received.head.line, "GET /p?q HTTP/1.1");
    assert_eq!(received.head.all("host"), ["b.example"]);

    assert_eq!(
        ask(gateway.address(), request("Host: a.example\r\n")).status,
        400
    );
    assert_eq!(upstream.count(), 1);
}

#[test]
fn e17_host_is_there_once_and_makes_sense() {
    let upstream = Upstream::ok("");
    let gateway = Gateway::single(&upstream);
    let bad = [
        "",
        "Host: a\r\nHost: a\r\n",
        "Host: a\r\nHost: b\r\n",
        "Host: user@a\r\n",
        "Host: a, b\r\n",
        "Host: a b\r\n",
        "Host: a/b\r\n",
        "Host: a:port\r\n",
        "Host: a\0b\r\n",
    ];
    for lines in bad {
        let response = ask(gateway.address(), format!("GET / HTTP/1.1\r\n{lines}\r\n"));
        assert_eq!(response.status, 400, "{lines:?}");
        assert!(response.says_close(), "{lines:?}");
    }
    assert_eq!(upstream.bytes_received(), 0);
    for host in ["a:8080", "[::1]:80", "10.0.0.1"] {
        let response = ask(
            gateway.address(),
            format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        );
        assert_eq!(response.status, 200, "{host}");
    }
    let hosts: Vec<_> = upstream
        .requests()
        .iter()
        .map(|r| r.field("host").map(str::to_owned))
        .collect();
    assert_eq!(
        hosts,
        ["a:8080", "[::1]:80", "10.0.0.1"].map(|host| Some(host.to_owned()))
    );
}
