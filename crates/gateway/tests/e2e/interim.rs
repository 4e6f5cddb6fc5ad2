//! What comes before the final answer, and final answers that come before the request's end.

use std::thread;
use std::time::Duration;

use evenkeel_testkit::{Act, Answer, Gate, Gateway, RawClient, Script, Upstream, eventually};

use crate::{GET, ask, noise, post};

const EXPECTING: &str =
    "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";
const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n";

/// E09 a: the upstream's 100 reaches the client, which sends its body then.
#[test]
fn e09_a_client_is_told_to_go_on() {
    let script = Script::new(|request| Answer::ok(&request.body));
    let upstream = Upstream::start(script.at_head(|_| Some(Answer::interim(CONTINUE))));
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..2 {
        client.send(EXPECTING);
        assert_eq!(client.any_response_to("POST").status, 100);
        client.send("body");
        assert_eq!(client.any_response_to("POST").text(), "body");
    }
    let requests = upstream.requests();
    assert_eq!(requests[0].field("expect"), Some("100-continue"));
}

/// E09 b: a final status instead of the 100 ends the wait; the body is never sent.
#[test]
fn e09_a_client_is_told_not_to_send() {
    for status in [417, 413] {
        let script = Script::new(|_| Answer::ok(""));
        let answer = move |_: &_| Some(Answer::status(status, "no"));
        let upstream = Upstream::start(script.at_head(answer));
        let gateway = Gateway::single(&upstream);
        let mut client = RawClient::sending(gateway.address(), EXPECTING);
        let response = client.any_response_to("POST");
        assert_eq!((response.status, response.text()), (status, "no".into()));
        assert!(response.says_close(), "whether a body follows is unknown");
        client.expect_end();
        gateway.assert_idle();
    }
}

/// E09 c: a client that tires of waiting sends its body, also past a silent upstream.
#[test]
fn e09_a_client_that_does_not_wait_for_ever() {
    let upstream = Upstream::echo();
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::sending(gateway.address(), EXPECTING);
    assert!(
        !client.hears_within(Duration::from_millis(200)),
        "nobody says 100"
    );
    client.send("body");
    assert_eq!(client.response_to("POST").text(), "body");
}

/// HTTP/1.0 has no 100, and a request without a body has nothing to wait for.
#[test]
fn e09_expect_is_not_passed_on_in_vain() {
    let upstream = Upstream::echo();
    let gateway = Gateway::single(&upstream);
    let old = "POST / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi";
    assert_eq!(ask(gateway.address(), old).text(), "hi");
    ask(
        gateway.address(),
        "GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
    );
    for request in upstream.requests() {
        assert_eq!(request.field("expect"), None);
    }
}

/// E10: any number of interim answers, and none of their fields in the final one.
#[test]
fn e10_hints_are_relayed_before_the_answer() {
    let upstream = Upstream::answering(|_| {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        Answer::raw(HINTS).send(HINTS).send(answer)
    });
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..2 {
        client.send(GET);
        for _ in 0..2 {
            let hint = client.any_response_to("GET");
            assert_eq!((hint.status, hint.field("link")), (103, Some("</a.css>")));
        }
        let response = client.any_response_to("GET");
        assert_eq!((response.status, response.field("link")), (200, None));
    }
}

/// Also very many of them.
#[test]
fn e10_thousands_of_hints() {
    let upstream = Upstream::answering(|_| {
        let hints = HINTS.repeat(5000);
        Answer::raw(hints).send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    });
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::sending(gateway.address(), GET);
    let hints = client.take(HINTS.len() * 5000);
    assert!(hints == HINTS.repeat(5000).into_bytes());
    assert_eq!(client.any_response_to("GET").text(), "ok");
}

/// An interim answer does not wait for the final one.
#[test]
fn e10_hints_are_not_held_back() {
    let gate = Gate::new();
    let behind = gate.clone();
    let upstream = Upstream::answering(move |_| {
        Answer::raw(HINTS)
            .await_gate(&behind)
            .send("HTTP/1.1 204 No Content\r\n\r\n")
    });
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::sending(gateway.address(), GET);
    assert_eq!(client.any_response_to("GET").status, 103);
    gate.open();
    assert_eq!(client.any_response_to("GET").status, 204);
}

#[test]
fn e10_http_1_0_gets_no_interim_answer() {
    let upstream = Upstream::answering(|_| {
        Answer::raw(HINTS).send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    });
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::sending(gateway.address(), "GET / HTTP/1.0\r\n\r\n");
    assert_eq!(client.any_response_to("GET").status, 200);
}

/// A client that was told to go on is still told what went wrong: an interim answer is no answer.
#[test]
fn e10_an_error_after_an_interim_answer_is_told() {
    let script = Script::new(|_| Answer::close());
    let upstream = Upstream::start(script.at_head(|_| Some(Answer::interim(CONTINUE))));
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::sending(gateway.address(), EXPECTING);
    assert_eq!(client.any_response_to("POST").status, 100);
    client.send("body");
    let response = client.any_response_to("POST");
    assert_eq!(response.status, 502);
    assert_eq!(upstream.count(), 1, "it is not sent again");
}

/// D06: an upstream that refuses an upload early is heard, whether the client looks
/// up while it sends or only when it is done; both in the end see the answer and a close.
#[test]
fn d06_an_early_answer_reaches_a_client_that_still_sends() {
    let refusal =
        "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig";
    for and_then in [Act::Close, Act::Listen, Act::Reset] {
        let script = Script::new(|_| Answer::ok(""));
        let is_reset = matches!(and_then, Act::Reset);
        let upstream = Upstream::start(script.at_head(move |_| {
            // A reset that overtakes the answer would be a fair excuse.
            let answer = Answer::raw(refusal).wait(Duration::from_millis(100));
            Some(answer.then(and_then.clone()))
        }));
        let gateway = Gateway::single(&upstream);
        for reads_at_once in [true, false] {
            let mut client = RawClient::connect(gateway.address());
            let mut sender = client.second_hand();
            let upload = post(noise(8 << 20));
            let sending = thread::spawn(move || sender.try_send(upload));
            if !reads_at_once {
                // It may be cut off, as it deserves; what counts is what it can read then.
                eventually("it has sent, or was cut off", || sending.is_finished());
            }
            let response = client.response_to("POST");
            assert_eq!(
                (response.status, response.text()),
                (413, "big".into()),
                "{is_reset}"
            );
            assert!(response.says_close());
            client.expect_end();
            drop(client);
            sending.join().expect("it ends");
        }
        gateway.assert_idle();
    }
}

/// D06: the same a hundred times, with an answer that comes at once: nothing breaks or leaks.
#[test]
fn d06_early_answers_leave_nothing_behind() {
    let script = Script::new(|_| Answer::ok(""));
    let upstream = Upstream::start(script.at_head(|_| Some(Answer::status(503, "busy"))));
    let gateway = Gateway::single(&upstream);
    let upload = post(noise(1 << 20));
    for _ in 0..100 {
        let mut client = RawClient::connect(gateway.address());
        let mut sender = client.second_hand();
        let bytes = upload.clone();
        let sending = thread::spawn(move || sender.try_send(bytes));
        let response = client.response_to("POST");
        assert_eq!((response.status, response.text()), (503, "busy".into()));
        sending.join().expect("it ends");
    }
    gateway.assert_idle();
}
