//! Answers that endpoints should not give, and what becomes of them.

use evenkeel_testkit::{Act, Answer, Gateway, RawClient, Response, Upstream};

use crate::{GET, ask, assert_own};

/// What a client gets for this answer, and whether its connection to the endpoint was used again.
fn relay(answer: &str) -> (Response, bool) {
    let bytes = answer.to_owned();
    let upstream = Upstream::answering(move |request| match request.place {
        // Behind a body without end comes the end.
        0 if !bytes.contains("ength") && !bytes.contains("ncoding") => {
            Answer::raw(&bytes).then(Act::Close)
        }
        0 => Answer::raw(&bytes),
        _ => Answer::ok("again"),
    });
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.runtime.workers = evenkeel_config::Workers::new(1).expect("one");
    });
    let mut client = RawClient::sending(gateway.address(), GET);
    let response = client.response();
    if response.says_close() {
        client = RawClient::connect(gateway.address());
    }
    client.send(GET);
    client.response();
    gateway.assert_idle();
    (response, upstream.connections() == 1)
}

#[test]
fn two_framings_are_one_and_the_last_use() {
    for order in [
        "Content-Length: 3\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 30",
    ] {
        let (response, reused) = relay(&format!(
            "HTTP/1.1 200 OK\r\n{order}\r\n\r\n2\r\nok\r\n0\r\n\r\n"
        ));
        assert_eq!((response.status, response.text()), (200, "ok".into()));
        assert_eq!(response.field("content-length"), None);
        assert_eq!(response.head.all("transfer-encoding"), ["chunked"]);
        assert!(!reused);
    }
}

#[test]
fn lengths_that_differ_are_refused() {
    let bad = [
        "Content-Length: 2\r\nContent-Length: 3",
        "Content-Length: 2, 3",
        "Content-Length: +2",
        "Content-Length: x",
        "Content-Length: 99999999999999999999",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Content-Length : 2",
        "X: a\r\n b",
        "X: a\0b",
    ];
    for lines in bad {
        let (response, reused) = relay(&format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\nok"));
        assert_own(&response, 502, "http_protocol_error");
        assert!(!reused, "{lines}");
    }
}

#[test]
fn equal_lengths_are_one() {
    let (response, _) =
        relay("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok");
    assert_eq!(response.head.all("content-length"), ["2"]);
    assert_eq!(response.text(), "ok");
}

/// Bytes behind the answer belong to nobody: the client does not get them, nor does the next one.
#[test]
fn bytes_behind_an_answer_end_the_connection() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokEXTRA",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nEXTRA",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
    ] {
        let (response, reused) = relay(answer);
        assert_eq!((response.status, response.text()), (200, "ok".into()));
        assert!(!reused);
    }
    let (response, reused) = relay("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!(
        (response.status, response.field("content-length")),
        (204, None)
    );
    assert!(!reused);
}

/// Bytes that come later, while the connection is idle, end it too.
#[test]
fn bytes_on_an_idle_connection_end_it() {
    let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    let upstream = Upstream::answering(move |_| {
        Answer::ok("good")
            .wait(std::time::Duration::from_millis(30))
            .send(evil)
    });
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.runtime.workers = evenkeel_config::Workers::new(1).expect("one");
    });
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..3 {
        client.send(GET);
        assert_eq!(client.response().text(), "good");
        evenkeel_testkit::eventually("it is closed", || upstream.open_connections() == 0);
    }
    assert_eq!(upstream.connections(), 3);
}

/// Chunks that cannot be read: before the head has left it is 502, behind it the answer is cut.
#[test]
fn broken_chunks_are_the_endpoints_fault() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for bad in ["zz\r\n", "-1\r\nx\r\n", "1\nx\n0\n\n", "2\r\nokx"] {
        let (response, reused) = relay(&format!("{head}{bad}"));
        assert_own(&response, 502, "http_protocol_error");
        assert!(!reused);
    }
    let upstream = Upstream::answering(move |_| {
        let gap = std::time::Duration::from_millis(50);
        Answer::raw(head)
            .send("2\r\nok\r\n")
            .wait(gap)
            .send("zz\r\n")
    });
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::sending(gateway.address(), GET);
    client.head();
    assert_eq!(client.rest(), b"2\r\nok\r\n");
    gateway.assert_idle();
    assert_eq!(gateway.endpoint("a").totals.failures, 1);
}

/// The operator learns what was wrong with an answer.
#[test]
fn refused_answers_say_why() {
    let (response, _) = relay("HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok");
    let reason = response.field("proxy-status").expect("a reason");
    assert_eq!(
        reason,
        "evenkeel; error=http_protocol_error; details=\"content-length is not one number\""
    );
    let (response, _) = relay(&format!(
        "HTTP/1.1 200 OK\r\nX: {}\r\n\r\n",
        "x".repeat(70_000)
    ));
    let reason = response.field("proxy-status").expect("a reason");
    assert!(reason.contains("larger than the limit"), "{reason}");
}

/// An endpoint of HTTP/1.0 ends its connection, and its clients never know.
#[test]
fn endpoints_of_http_1_0_work() {
    let (response, reused) = relay("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_eq!(response.head.line, "HTTP/1.1 200 OK");
    assert!(response.text() == "ok" && !response.says_close() && !reused);
    let (response, reused) =
        relay("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok");
    assert!(response.text() == "ok" && reused);
    let (response, _) = relay("HTTP/1.0 200 OK\r\n\r\nup to the end");
    assert_eq!(response.text(), "up to the end");
}

/// Its id does not replace the request's.
#[test]
fn the_request_id_is_ours() {
    let (response, _) =
        relay("HTTP/1.1 200 OK\r\nX-Request-Id: theirs\r\nContent-Length: 0\r\n\r\n");
    let ids = response.head.all("x-request-id");
    assert!(ids.len() == 1 && ids[0] != "theirs", "{ids:?}");
}

/// Everything else passes as it came: order, case, doubled fields.
#[test]
fn other_fields_pass_as_they_came() {
    let upstream = Upstream::answering(|_| {
        Answer::raw(
            "HTTP/1.1 299 Odd Words\r\nsEt-CoOkIe: a=1\r\nSet-Cookie: b=2\r\nDate: x\r\nContent-Length: 0\r\n\r\n",
        )
    });
    let gateway = Gateway::single(&upstream);
    let response = ask(gateway.address(), GET);
    assert_eq!(response.head.line, "HTTP/1.1 299 Odd Words");
    let cookies = [("sEt-CoOkIe", "a=1"), ("Set-Cookie", "b=2"), ("Date", "x")];
    let cookies = cookies.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(response.head.fields[..3], cookies);
}
