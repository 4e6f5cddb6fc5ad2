//! D11, D12, C14: clients that go away, in each phase of a request. Nothing stays counted in flight,
//! nobody is blamed, and others do not notice.

use std::thread;
use std::time::Duration;

use evenkeel_testkit::{
    Act, Answer, Blackhole, Gate, Gateway, RawClient, Script, Upstream, eventually,
};

use crate::{GET, noise, post};

/// How often each phase is left, by turns with a FIN and a RST.
const TIMES: usize = 50;

fn leave(client: RawClient, turn: usize) {
    if turn.is_multiple_of(2) {
        client.reset();
    } else {
        drop(client);
    }
}

#[track_caller]
fn assert_clean(gateway: &Gateway) {
    gateway.assert_idle();
    gateway.assert_blameless();
    let listener = &gateway.control().listeners()[0];
    eventually("no connection is left", || listener.connections() == 0);
}

#[test]
fn d12_before_the_head_is_complete() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    for turn in 0..TIMES {
        leave(
            RawClient::sending(gateway.address(), &GET[..turn % GET.len()]),
            turn,
        );
    }
    assert_clean(&gateway);
    assert_eq!(upstream.bytes_received(), 0);
}

/// A reset is noticed while the connection to the endpoint is made: its limit is far off.
#[test]
fn d12_while_connecting() {
    let hole = Blackhole::new();
    let gateway = Gateway::with([hole.endpoint("a")], |config| {
        config.clusters[0].timeout.connect = Duration::from_secs(300);
    });
    let clients: Vec<_> = (0..TIMES)
        .map(|_| RawClient::sending(gateway.address(), GET))
        .collect();
    eventually("all are in flight", || {
        gateway.endpoint("a").in_flight == TIMES as u32
    });
    for client in clients {
        client.reset();
    }
    assert_clean(&gateway);
}

/// A reset is noticed while the answer is awaited: it would never come.
#[test]
fn d12_a_reset_while_the_answer_is_awaited() {
    let upstream = Upstream::answering(|_| Answer::never());
    let gateway = Gateway::single(&upstream);
    let clients: Vec<_> = (0..TIMES)
        .map(|turn| match turn % 2 {
            0 => RawClient::sending(gateway.address(), GET),
            _ => RawClient::sending(gateway.address(), post("body")),
        })
        .collect();
    eventually("all are in flight", || upstream.count() == TIMES);
    for client in clients {
        client.reset();
    }
    assert_clean(&gateway);
    eventually("their endpoint is told", || {
        upstream.open_connections() == 0
    });
}

/// Also by a client that has sent its next request already.
#[test]
fn d12_a_reset_behind_a_pipelined_request() {
    let upstream = Upstream::answering(|_| Answer::never());
    let gateway = Gateway::single(&upstream);
    let mut client = RawClient::sending(gateway.address(), GET);
    eventually("it is in flight", || upstream.count() == 1);
    client.send("GET /next HT");
    thread::sleep(Duration::from_millis(50));
    client.reset();
    assert_clean(&gateway);
}

/// An end alone is no abort: it shows when the answer cannot be written, and blames nobody then.
#[test]
fn d12_an_end_while_the_answer_is_awaited() {
    let gate = Gate::new();
    let behind = gate.clone();
    let upstream = Upstream::answering(move |_| Answer::ok(noise(1000)).behind(&behind));
    let gateway = Gateway::single(&upstream);
    let clients: Vec<_> = (0..TIMES)
        .map(|_| RawClient::sending(gateway.address(), GET))
        .collect();
    eventually("all are in flight", || upstream.count() == TIMES);
    drop(clients);
    gate.open();
    assert_clean(&gateway);
}

#[test]
fn d12_in_the_middle_of_the_answer() {
    let data = noise(20_000);
    let upstream = Upstream::answering(move |_| {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n";
        Answer::raw(head).send(&data).then(Act::Listen)
    });
    let gateway = Gateway::single(&upstream);
    for turn in 0..TIMES {
        let mut client = RawClient::sending(gateway.address(), GET);
        client.head();
        // A RST while all is quiet; a FIN shows only by the next write, so it is not tried here.
        if turn.is_multiple_of(2) {
            client.take(20_000);
        }
        client.reset();
    }
    assert_clean(&gateway);
    eventually("their endpoint is told", || {
        upstream.open_connections() == 0
    });
}

/// While data flows, both kinds of leaving show at the next write.
#[test]
fn d12_in_the_middle_of_a_flowing_answer() {
    let data = noise(8 << 20);
    let upstream = Upstream::answering(move |_| {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n";
        Answer::raw(head).send(&data).then(Act::Listen)
    });
    let gateway = Gateway::single(&upstream);
    for turn in 0..TIMES {
        let mut client = RawClient::connect_narrow(gateway.address(), 16 * 1024);
        client.send(GET);
        client.head();
        leave(client, turn);
    }
    assert_clean(&gateway);
}

#[test]
fn d12_in_the_middle_of_an_upload() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::single(&upstream);
    let half = &post(noise(100_000))[..50_000];
    for turn in 0..TIMES {
        let before = upstream.connections();
        let client = RawClient::sending(gateway.address(), half);
        eventually("it is on its way", || upstream.connections() > before);
        leave(client, turn);
    }
    assert_clean(&gateway);
    eventually("their endpoint is told", || {
        upstream.open_connections() == 0
    });
    assert_eq!(upstream.count(), 0, "none came whole");
}

/// While the endpoint does not take the upload: nothing is read then, and a reset is noticed long
/// before the idle timeout is over.
#[test]
fn d12_in_the_middle_of_an_upload_that_stands_still() {
    let script = Script::new(|_| Answer::ok("ok"));
    let upstream = Upstream::start(script.at_head(|_| Some(Answer::new().then(Act::Sleep))));
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.clusters[0].timeout.idle = Duration::from_secs(300);
    });
    let mut client = RawClient::connect(gateway.address());
    let upload = post(noise(64 << 20));
    let stuck = Duration::from_millis(300);
    let begun = client.send_until_stuck(&upload, stuck);
    // What the system holds may stand still before the gateway has seen anything of it.
    eventually("it is on its way", || gateway.endpoint("a").in_flight == 1);
    let taken = begun + client.send_until_stuck(&upload[begun..], stuck);
    assert!(taken < upload.len(), "it stands still");
    client.reset();
    assert_clean(&gateway);
}

/// Behind so much of what comes next that nothing more is read.
#[test]
fn d12_a_reset_behind_what_is_not_read() {
    let upstream = Upstream::answering(|_| Answer::never());
    let gateway = Gateway::single(&upstream);
    let client = RawClient::sending(
        gateway.address(),
        [GET.into(), post(noise(200_000))].concat(),
    );
    eventually("it is in flight", || upstream.count() == 1);
    thread::sleep(Duration::from_millis(50));
    client.reset();
    assert_clean(&gateway);
}

/// A listener may take an end for what it mostly is: nobody waits any more.
#[test]
fn d12_an_end_that_cancels() {
    let upstream = Upstream::answering(|_| Answer::never());
    let gateway = Gateway::with([upstream.endpoint("a").with_capacity(50)], |config| {
        config.listeners[0].half_close = false;
    });
    let clients: Vec<_> = (0..TIMES)
        .map(|_| RawClient::sending(gateway.address(), GET))
        .collect();
    eventually("all are in flight", || upstream.count() == TIMES);
    drop(clients);
    assert_clean(&gateway);
    let mut client = RawClient::sending(gateway.address(), GET);
    eventually("there is room again", || upstream.count() == TIMES + 1);
    client.half_close();
    assert_eq!(client.rest(), b"", "an end of its side is the same");
    assert_clean(&gateway);
}

/// D11: requests that are cancelled at any time beside others that are not.
#[test]
fn d11_others_do_not_notice() {
    let upstream = Upstream::answering(|_| Answer::ok("ok").after(Duration::from_millis(5)));
    let gateway = Gateway::single(&upstream);
    let address = gateway.address();
    crate::together(8, |thread| {
        if thread % 2 == 0 {
            let mut client = RawClient::connect(address);
            for _ in 0..100 {
                client.send(GET);
                assert_eq!(client.response().text(), "ok");
            }
        } else {
            for turn in 0..100 {
                let client = RawClient::sending(address, GET);
                thread::sleep(Duration::from_micros((turn * 97 % 10_000) as u64));
                leave(client, turn);
            }
        }
    });
    assert_clean(&gateway);
    // How many there are depends on how many were in flight at once: a busy machine is slow to answer.
    eventually("a connection that is open is kept for others", || {
        let totals = gateway.endpoint("a").totals;
        let open = upstream.open_connections() as u64;
        (totals.active_connections, totals.idle_connections) == (0, open)
    });
}
