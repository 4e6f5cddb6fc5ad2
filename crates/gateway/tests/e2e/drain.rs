//! G10: leaving without losing a request, and in time.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use evenkeel_testkit::{Answer, Gate, Gateway, RawClient, Upstream, eventually};

use crate::{GET, ask};

fn with_timeout(upstream: &Upstream, timeout: Duration) -> Gateway {
    Gateway::with([upstream.endpoint("a")], |config| {
        config.runtime.drain_timeout = timeout;
    })
}

/// Asks on connections that it keeps until it is refused: how many requests were answered. Panics
/// when one is lost that was sent on a connection that nobody had said to be at its end.
///
/// One loss is the system's: whoever connects in the very moment in which the listening socket
/// closes is reset. Nobody may be let in after that.
fn ask_until_refused(address: SocketAddr, answered: &AtomicUsize) {
    while let Ok(stream) = TcpStream::connect(address) {
        let mut client = RawClient::from(stream);
        for number in 0.. {
            if !client.try_send(GET) || client.hears_the_end() {
                assert_eq!(number, 0, "a kept connection was closed");
                assert!(TcpStream::connect(address).is_err(), "it let somebody in");
                return;
            }
            let response = client.response();
            assert_eq!(response.status, 200);
            answered.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(20));
            if response.says_close() {
                break;
            }
        }
    }
}

/// 50 requests a second on kept connections, a slow one, an idle client: nothing is lost, the slow
/// one completes, and then nobody is there any more.
#[test]
fn g10_nothing_is_lost_while_it_leaves() {
    let gate = Gate::new();
    let behind = gate.clone();
    let upstream = Upstream::answering(move |request| match request.target() {
        "/slow" => Answer::ok("slow").behind(&behind),
        _ => Answer::ok("ok"),
    });
    let mut gateway = with_timeout(&upstream, Duration::from_secs(5));
    let address = gateway.address();
    let mut slow = RawClient::sending(address, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut idle = RawClient::sending(address, GET);
    assert_eq!(idle.response().status, 200);
    let mut silent = RawClient::connect(address);
    eventually("the slow one is in flight", || {
        gateway.endpoint("a").in_flight == 1
    });

    let answered = AtomicUsize::new(0);
    eventually("it is ready", || gateway.control().is_ready());
    let drained = gateway.drain();
    thread::scope(|scope| {
        eventually("it is not ready at once", || !gateway.control().is_ready());
        let asking: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| ask_until_refused(address, &answered)))
            .collect();
        for thread in asking {
            thread.join().expect("nothing is lost");
        }
        // Nobody new is let in, and the slow one is still there.
        assert!(gateway.endpoint("a").in_flight > 0);
        gate.open();
    });
    let response = slow.response();
    assert_eq!(
        (response.text(), response.says_close()),
        ("slow".into(), true)
    );
    slow.expect_end();
    idle.expect_end();
    silent.expect_end();
    assert!(drained.join().expect("it drains"), "all requests finished");
    assert!(
        answered.into_inner() > 0,
        "connections were accepted for a while"
    );
    assert!(TcpStream::connect(address).is_err(), "nobody listens");
}

/// A kept connection on which a request is on its way is not closed under it.
#[test]
fn g10_kept_connections_end_with_an_answer() {
    let upstream = Upstream::ok("ok");
    let mut gateway = with_timeout(&upstream, Duration::from_secs(10));
    let mut client = RawClient::sending(gateway.address(), GET);
    assert!(!client.response().says_close());
    let drained = gateway.drain();
    eventually("it drains", || !gateway.control().is_ready());
    thread::sleep(Duration::from_millis(200));
    client.send(GET);
    let response = client.response();
    assert_eq!((response.status, response.says_close()), (200, true));
    client.expect_end();
    assert!(drained.join().expect("it drains"));
}

/// What does not end in time is cut.
#[test]
fn g10_the_deadline_is_hard() {
    let upstream = Upstream::answering(|_| Answer::never());
    let mut gateway = with_timeout(&upstream, Duration::from_millis(500));
    let mut client = RawClient::sending(gateway.address(), GET);
    eventually("it is in flight", || upstream.count() == 1);
    let drained = gateway.drain();
    assert!(!drained.join().expect("it drains"), "one was cut");
    client.expect_end();
    eventually("its endpoint is told", || upstream.open_connections() == 0);
    gateway.assert_idle();
}

/// A response that is under way when it begins is relayed to its end.
#[test]
fn g10_bodies_under_way_are_finished() {
    let gate = Gate::new();
    let behind = gate.clone();
    let upstream = Upstream::answering(move |_| {
        Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc")
            .await_gate(&behind)
            .send("def")
    });
    let mut gateway = with_timeout(&upstream, Duration::from_secs(10));
    let mut client = RawClient::sending(gateway.address(), GET);
    client.head();
    assert_eq!(client.take(3), b"abc");
    let drained = gateway.drain();
    eventually("it drains", || !gateway.control().is_ready());
    gate.open();
    assert_eq!(client.rest(), b"def", "and then the end");
    assert!(drained.join().expect("it drains"));
}

/// A gateway with nothing to do is gone as soon as its grace is over.
#[test]
fn g10_an_idle_gateway_leaves_soon() {
    let upstream = Upstream::ok("ok");
    let mut gateway = with_timeout(&upstream, Duration::from_secs(120));
    assert_eq!(ask(gateway.address(), GET).status, 200);
    let idle = RawClient::connect(gateway.address());
    let deadline = evenkeel_testkit::Deadline::after(Duration::from_secs(60));
    assert!(gateway.drain().join().expect("it drains"));
    assert!(
        !deadline.is_over(),
        "a fifth of a second of grace, not all of the time"
    );
    drop(idle);
}

/// A gateway that is dropped ends, though somebody still holds its control.
#[test]
fn a_dropped_gateway_ends() {
    let upstream = Upstream::ok("ok");
    let config = evenkeel_testkit::config([upstream.endpoint("a")]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("an event loop");
    let gateway = runtime
        .block_on(evenkeel_gateway::Gateway::start(&config, 1))
        .expect("it starts");
    let control = gateway.control();
    let address = control.listeners()[0].address().ip().expect("a port");
    let mut client = RawClient::sending(address, GET);
    assert_eq!(client.response().status, 200);
    drop(gateway);
    client.expect_end();
    eventually("nobody listens", || TcpStream::connect(address).is_err());
}
