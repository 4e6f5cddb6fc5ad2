//! What is tried again: D01, D02, D05, D07 and what the guide's page says of them. What a try that
//! failed leaves behind is in `retry_limits`.

use std::time::Duration;

use evenkeel_config::{Cluster, Workers};
use evenkeel_testkit::{Act, Answer, Gateway, RawClient, Received, Refusing, Script, Upstream};

use crate::{GET, ask, assert_own, noise, together};

/// The page with the table of what is tried again.
const PAGE: &str = include_str!("../../../../docs/guide/retries.md");

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";

/// How a try fails, in the order of the columns of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fails {
    Refused,
    KeptAliveEnds,
    NewEnds,
    Late,
    Listed,
    BreaksOff,
    /// Like `NewEnds`, but before a byte of the request is read.
    ResetUnread,
}

/// The rows of the table: the methods, and whether each column says that they are tried again.
fn table() -> Vec<(&'static str, Vec<bool>)> {
    let rows = PAGE.lines().filter(|line| line.contains("| once |"));
    let row = |line: &'static str| {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let method = match cells.next().expect("a first cell") {
            "any other" => "FOO",
            name => name.trim_matches('`'),
        };
        (method, cells.map(|cell| cell == "again").collect())
    };
    rows.map(row).collect()
}

fn ok(request: &Received) -> Answer {
    let body = if request.method() == "HEAD" { "" } else { "ok" };
    Answer::raw([OK, body].concat())
}

/// An endpoint that fails so.
fn failing(how: Fails) -> Upstream {
    let script = Script::new(move |request| match how {
        Fails::KeptAliveEnds if request.place == 0 => ok(request),
        Fails::Refused | Fails::KeptAliveEnds | Fails::NewEnds | Fails::ResetUnread => {
            Answer::close()
        }
        Fails::Late => Answer::never(),
        Fails::Listed => Answer::raw("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"),
        Fails::BreaksOff => Answer::raw("HTTP/1.1 200 OK\r\n").then(Act::Close),
    });
    Upstream::start(script.at_accept(move |_| (how == Fails::ResetUnread).then(Answer::reset)))
}

/// The time for a try plays a part only where it is what is tested.
fn limits(cluster: &mut Cluster, how: Fails) {
    if how == Fails::Late {
        cluster.retry.on.timeout = true;
        cluster.retry.per_try_timeout = Some(Duration::from_millis(700));
    }
}

/// Sends one request to an endpoint that fails so, and behind which there is one that does not: the
/// status, and how many copies came to either.
fn outcome(method: &str, how: Fails) -> (u16, usize) {
    let (refusing, b1, b2) = (Refusing::new(), failing(how), Upstream::answering(ok));
    let first = match how {
        Fails::Refused => refusing.endpoint("b1"),
        _ => b1.endpoint("b1"),
    };
    let gateway = Gateway::with([first, b2.endpoint("b2").with_tier(1)], |config| {
        config.runtime.workers = Workers::new(1).expect("one");
        limits(&mut config.clusters[0], how);
    });
    let mut client = RawClient::connect(gateway.address());
    let before = if how == Fails::KeptAliveEnds {
        client.send(GET);
        assert_eq!(client.response().status, 200);
        1
    } else {
        0
    };
    let body = if ["GET", "HEAD", "OPTIONS"].contains(&method) {
        "\r\n"
    } else {
        "Content-Length: 4\r\n\r\nbody"
    };
    client.send(format!("{method} / HTTP/1.1\r\nHost: a\r\n{body}"));
    let status = client.response_to(method).status;
    gateway.assert_idle();
    for request in b1.requests().iter().chain(&b2.requests()).skip(before) {
        let sent = if body == "\r\n" { "" } else { "body" };
        assert_eq!(request.body, sent.as_bytes(), "never without its body");
    }
    (status, b1.count() + b2.count() - before)
}

/// D02: every method at every point where a try can fail: copies and statuses are as the page says.
#[test]
fn d02_what_the_page_says_is_done() {
    let columns = [
        (Fails::Refused, 0, 502),
        (Fails::KeptAliveEnds, 1, 502),
        (Fails::NewEnds, 1, 502),
        (Fails::Late, 1, 504),
        (Fails::Listed, 1, 503),
        (Fails::BreaksOff, 1, 502),
    ];
    let rows = table();
    assert_eq!(rows.len(), 8, "{rows:?}");
    together(rows.len(), |row| {
        let (method, again) = &rows[row];
        assert_eq!(again.len(), columns.len(), "{method}");
        for ((how, copies, status), again) in columns.into_iter().zip(again) {
            let expected = if *again {
                (200, copies + 1)
            } else {
                (status, copies)
            };
            assert_eq!(outcome(method, how), expected, "{method} {how:?}");
        }
    });
}

/// D02: a connection that is reset before a byte is read. Whether one had left when the reset came is
/// chance: what has not is sent elsewhere, and what has only if that does no harm.
#[test]
fn d02_a_reset_before_a_byte_was_read() {
    for (method, again) in table() {
        for _ in 0..5 {
            let outcome = outcome(method, Fails::ResetUnread);
            let elsewhere = (200, 1);
            if again[2] {
                assert_eq!(outcome, elsewhere, "{method}");
            } else {
                assert!(
                    [elsewhere, (502, 0)].contains(&outcome),
                    "{method} {outcome:?}"
                );
            }
        }
    }
}

/// What a try that failed leaves in the counts: a failure there, an answer here, a retry.
#[test]
fn each_try_is_an_observation() {
    for how in [Fails::NewEnds, Fails::Listed, Fails::Late] {
        let (b1, b2) = (failing(how), Upstream::ok("ok"));
        let endpoints = [b1.endpoint("b1"), b2.endpoint("b2").with_tier(1)];
        let gateway = Gateway::with(endpoints, |config| limits(&mut config.clusters[0], how));
        assert_eq!(ask(gateway.address(), GET).text(), "ok");
        gateway.assert_idle();
        let (one, two) = (gateway.endpoint("b1").totals, gateway.endpoint("b2").totals);
        assert_eq!((one.requests(), one.failures), (0, 1), "{how:?}");
        assert_eq!((two.requests(), two.failures), (1, 0), "{how:?}");
        assert_eq!(gateway.cluster().retries(), [1, 0, 0], "{how:?}");
        assert_eq!(gateway.cluster().own_totals().requests(), 0, "{how:?}");
    }
}

/// Both fail: two failures, one request, a retry that failed, and the last answer for the client.
#[test]
fn a_retry_that_fails_too() {
    let all = [failing(Fails::Listed), failing(Fails::Listed)];
    let gateway = Gateway::over([all[0].endpoint("b1"), all[1].endpoint("b2")]);
    let response = ask(gateway.address(), GET);
    assert_eq!(
        (response.status, response.field("proxy-status")),
        (503, None)
    );
    gateway.assert_idle();
    let totals = ["b1", "b2"].map(|id| gateway.endpoint(id).totals);
    assert_eq!(totals.each_ref().map(|totals| totals.failures), [1, 1]);
    assert_eq!(
        totals.iter().map(|totals| totals.requests()).sum::<u64>(),
        1
    );
    assert_eq!(gateway.cluster().retries(), [0, 1, 0]);
}

/// A listed status is a failure, whether there was another try or not; one that is not is none.
#[test]
fn d02_statuses_are_failures_where_they_are_listed() {
    for (status, listed, failures) in [(429, true, 1), (429, false, 0), (500, false, 1)] {
        let b1 = Upstream::answering(move |_| Answer::status(status, "own words"));
        let gateway = Gateway::with([b1.endpoint("b1")], |config| {
            let on = &mut config.clusters[0].retry.on;
            on.statuses = if listed { vec![400..=499] } else { Vec::new() };
        });
        let response = ask(gateway.address(), GET);
        assert_eq!(
            (response.status, response.text()),
            (status, "own words".into())
        );
        gateway.assert_idle();
        assert_eq!(gateway.endpoint("b1").totals.failures, failures, "{status}");
    }
}

/// D07: retries after a reset or a status go elsewhere too, however many ask at once.
#[test]
fn d07_a_failing_endpoint_costs_no_request() {
    for how in [Fails::NewEnds, Fails::Listed] {
        let (b1, b2, b3) = (failing(how), Upstream::ok("2"), Upstream::ok("3"));
        let endpoints = [b1.endpoint("b1"), b2.endpoint("b2"), b3.endpoint("b3")];
        let gateway = Gateway::over(endpoints);
        let address = gateway.address();
        together(100, |_| {
            let mut client = RawClient::connect(address);
            for _ in 0..2 {
                client.send(GET);
                assert_eq!(client.response().status, 200, "{how:?}");
            }
        });
        assert_eq!(b2.count() + b3.count(), 200, "{how:?}");
        gateway.assert_idle();
        let failures = gateway.endpoint("b1").totals.failures;
        let [success, failure, over] = gateway.cluster().retries();
        assert_eq!((success, failure, over), (failures, 0, 0));
        assert!(failures > 0, "it was tried");
    }
}

/// The head of a PUT, with its length or in chunks, and the body in that form.
fn put(body: &[u8], chunked: bool) -> Vec<u8> {
    let head = "PUT / HTTP/1.1\r\nHost: a\r\n";
    if !chunked {
        let head = format!("{head}Content-Length: {}\r\n\r\n", body.len());
        return [head.as_bytes(), body].concat();
    }
    let mut bytes = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for piece in body.chunks(1000) {
        bytes.extend_from_slice(format!("{:x};x=y\r\n", piece.len()).as_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// What a first endpoint does about an upload, before it has read it or after.
fn first_endpoints() -> [Upstream; 3] {
    let early = |answer: Answer| {
        let script = Script::new(|_| Answer::ok("never"));
        Upstream::start(script.at_head(move |_| Some(answer.clone())))
    };
    [
        early(Answer::status(503, "no")),
        Upstream::answering(|_| Answer::status(503, "no")),
        Upstream::answering(|_| Answer::close()),
    ]
}

/// D05 and F07: a body up to the limit arrives whole at the endpoint that takes it, whatever the first
/// one did with it, whether its length is known or not, in one piece or in many.
#[test]
fn d05_a_repeated_body_is_byte_for_byte_the_same() {
    for chunked in [false, true] {
        for length in [0, 1, 20_000, 64 * 1024] {
            for (number, b1) in first_endpoints().iter().enumerate() {
                let b2 = Upstream::echo();
                let endpoints = [b1.endpoint("b1"), b2.endpoint("b2").with_tier(1)];
                let gateway = Gateway::over(endpoints);
                let body = noise(length);
                let bytes = put(&body, chunked);
                let mut client = RawClient::connect(gateway.address());
                for piece in bytes.chunks(bytes.len() / 4 + 1) {
                    client.send(piece);
                    std::thread::sleep(Duration::from_millis(1));
                }
                let response = client.response_to("PUT");
                let what = format!("{length} bytes, chunked {chunked}, {number}");
                assert_eq!(response.status, 200, "{what}");
                assert!(response.body == body, "{what}");
                assert!(b2.only_request().body == body, "{what}");
                let framed = b2.only_request().field("transfer-encoding").is_some();
                assert_eq!(framed, chunked, "{what}");
                gateway.assert_idle();
            }
        }
    }
}

/// D05: above the limit nothing is repeated once a byte of the body has left.
#[test]
fn d05_a_larger_body_is_not_repeated() {
    for chunked in [false, true] {
        // Behind the whole body, so that what has come of it is no chance.
        for (b1, status) in [
            (Upstream::answering(|_| Answer::status(503, "no")), 503),
            (Upstream::answering(|_| Answer::close()), 502),
        ] {
            let b2 = Upstream::echo();
            let endpoints = [b1.endpoint("b1"), b2.endpoint("b2").with_tier(1)];
            let gateway = Gateway::over(endpoints);
            let bytes = put(&noise(64 * 1024 + 1), chunked);
            let mut client = RawClient::sending(gateway.address(), bytes);
            let response = client.response_to("PUT");
            assert_eq!(response.status, status, "chunked {chunked}");
            assert_eq!((b1.count(), b2.count()), (1, 0), "chunked {chunked}");
            gateway.assert_idle();
        }
    }
}

/// D05: so is a body when none is kept at all, but for one that has not left.
#[test]
fn d05_no_body_is_kept_where_that_is_said() {
    let (b1, b2) = (failing(Fails::Listed), Upstream::echo());
    let refusing = Refusing::new();
    let endpoints = [b1.endpoint("b1"), b2.endpoint("b2").with_tier(1)];
    let gateway = Gateway::with(endpoints, |config| config.clusters[0].retry.body = 0);
    let status = |bytes: Vec<u8>| {
        let mut client = RawClient::sending(gateway.address(), bytes);
        client.response_to("PUT").status
    };
    assert_eq!(status(put(b"body", false)), 503);
    assert_eq!(status(put(b"body", true)), 503);
    assert_eq!(status(put(b"", false)), 200, "there is nothing to keep");
    let endpoints = [refusing.endpoint("b1"), b2.endpoint("b2").with_tier(1)];
    let gateway = Gateway::with(endpoints, |config| config.clusters[0].retry.body = 0);
    let body = noise(1 << 20);
    let mut client = RawClient::connect(gateway.address());
    client.send(put(&body, true));
    assert!(client.response_to("PUT").body == body);
}

/// A chunked body in the smallest of chunks is kept within bounds, and never sent in part.
#[test]
fn d05_the_smallest_chunks() {
    for (length, again) in [(600, true), (60_000, false)] {
        let (b1, b2) = (failing(Fails::Listed), Upstream::echo());
        let gateway = Gateway::over([b1.endpoint("b1"), b2.endpoint("b2").with_tier(1)]);
        let head = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        let bytes = [head, &"1\r\nx\r\n".repeat(length), "0\r\n\r\n"].concat();
        let mut client = RawClient::sending(gateway.address(), bytes);
        let response = client.response_to("PUT");
        let expected = if again { (200, length) } else { (503, 0) };
        assert_eq!((response.status, response.body.len()), expected);
        assert_eq!(b2.count(), usize::from(again));
    }
}

/// Interim answers do not stand in the way of another try, and are passed on.
#[test]
fn interim_answers_before_a_listed_status() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n";
    let no = "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";
    for at_once in [true, false] {
        let b1 = Upstream::answering(move |_| match at_once {
            true => Answer::raw([hints, no].concat()),
            false => Answer::raw(hints).wait(Duration::from_millis(50)).send(no),
        });
        let b2 = Upstream::ok("ok");
        let gateway = Gateway::over([b1.endpoint("b1"), b2.endpoint("b2").with_tier(1)]);
        let mut client = RawClient::sending(gateway.address(), GET);
        let mut response = client.any_response_to("GET");
        if !at_once {
            assert_eq!(
                (response.status, response.field("link")),
                (103, Some("</a.css>"))
            );
            response = client.any_response_to("GET");
        }
        assert_eq!((response.status, response.text()), (200, "ok".into()));
        assert_eq!(response.field("link"), None);
    }
}

/// A client that was told to go on sends its body once, and it goes to whoever takes it.
#[test]
fn a_client_that_waits_to_be_told_to_go_on() {
    let no = "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";
    for and_before in ["", "HTTP/1.1 100 Continue\r\n\r\n"] {
        let early = Script::new(|_| Answer::ok("never"));
        let b1 =
            Upstream::start(early.at_head(move |_| Some(Answer::raw([and_before, no].concat()))));
        let script = Script::new(|request| Answer::ok(&request.body));
        let go_on = "HTTP/1.1 100 Continue\r\n\r\n";
        let b2 = Upstream::start(script.at_head(move |_| Some(Answer::interim(go_on))));
        let gateway = Gateway::over([b1.endpoint("b1"), b2.endpoint("b2").with_tier(1)]);
        let head = "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
        let mut client = RawClient::sending(gateway.address(), head);
        assert_eq!(client.any_response_to("PUT").status, 100);
        client.send("body");
        assert_eq!(client.response_to("PUT").text(), "body");
        assert_eq!(b2.only_request().body, b"body");
    }
}

/// Nothing is tried again without a word of it in `on`.
#[test]
fn what_is_not_listed_is_not_tried_again() {
    for how in [Fails::Refused, Fails::NewEnds, Fails::Late, Fails::Listed] {
        let (refusing, b1, b2) = (Refusing::new(), failing(how), Upstream::ok("ok"));
        let first = match how {
            Fails::Refused => refusing.endpoint("b1"),
            _ => b1.endpoint("b1"),
        };
        let gateway = Gateway::with([first, b2.endpoint("b2").with_tier(1)], |config| {
            limits(&mut config.clusters[0], how);
            let on = &mut config.clusters[0].retry.on;
            match how {
                Fails::Refused => (on.connect, on.reset) = (false, true),
                Fails::NewEnds => on.reset = false,
                Fails::Late => on.timeout = false,
                _ => on.statuses = vec![400..=502, 504..=599],
            }
        });
        assert!(ask(gateway.address(), GET).status >= 500, "{how:?}");
        assert_eq!(b2.count(), 0, "{how:?}");
        assert_eq!(gateway.cluster().retries(), [0; 3], "{how:?}");
    }
}

/// The client is told of the failure, and that nobody else was left.
#[test]
fn a_failure_with_nobody_else() {
    let b1 = failing(Fails::NewEnds);
    let gateway = Gateway::over([b1.endpoint("b1")]);
    let response = ask(gateway.address(), GET);
    assert_own(&response, 502, "connection_terminated");
    let reason = response.field("proxy-status").expect("a reason");
    assert!(reason.contains("every endpoint has been tried"), "{reason}");
    assert_eq!(
        gateway.cluster().decisions(),
        [1, 0, 0, 0],
        "nobody was asked for"
    );
}
