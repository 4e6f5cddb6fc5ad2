//! TCP listeners: connections are passed on to endpoints that are chosen as for requests.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use evenkeel_config::{Capacity, Config, Protocol};
use evenkeel_core::{Endpoint, Nanos, QueuePolicy, ShedReason};
use evenkeel_gateway::TurnedAway;
use evenkeel_testkit::{
    Act, Answer, Blackhole, Gateway, RawClient, Refusing, Script, Upstream, eventually,
};

use crate::noise;

/// An upstream that does this on every connection.
pub(crate) fn doing(answer: Answer) -> Upstream {
    let script = Script::new(|_| Answer::close());
    Upstream::start(script.at_accept(move |_| Some(answer.clone())))
}

/// One that says `first` and sends back what it hears.
fn echo(first: &str) -> Upstream {
    doing(Answer::raw(first).echo())
}

fn over(
    endpoints: impl IntoIterator<Item = Endpoint>,
    change: impl FnOnce(&mut Config),
) -> Gateway {
    Gateway::with(endpoints, |config| {
        config.listeners[0].protocol = Protocol::Tcp;
        change(config);
    })
}

/// How many connections of endpoint `a` ended by class: 2xx, 5xx, cancelled.
fn ended(gateway: &Gateway) -> [u64; 3] {
    let codes = gateway.endpoint("a").totals.codes;
    [codes[1], codes[4], codes[5]]
}

/// Whoever speaks first, whatever it is, and each side ends when it likes.
#[test]
fn bytes_are_passed_on_in_both_directions() {
    let upstream = echo("220 hello\r\n");
    let gateway = over([upstream.endpoint("a")], |_| {});
    let mut client = RawClient::connect(gateway.address());
    assert_eq!(client.take(11), b"220 hello\r\n", "before it said a word");
    assert_eq!(gateway.endpoint("a").in_flight, 1);
    let sent = noise(5 << 20);
    let mut hand = client.second_hand();
    thread::scope(|scope| {
        scope.spawn(|| {
            hand.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n\0");
            hand.send(&sent);
            hand.half_close();
        });
        assert_eq!(
            client.take(38),
            b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n\0"
        );
        assert!(client.rest() == sent, "all of it came back");
    });
    gateway.assert_blameless();
    assert_eq!(ended(&gateway), [1, 0, 0]);
    let totals = gateway.endpoint("a").totals;
    assert_eq!((totals.active_connections, totals.idle_connections), (0, 0));
}

/// E14: a client that has said all it has to say waits for its answer.
#[test]
fn e14_the_end_of_one_side_is_not_that_of_the_other() {
    let answer = Answer::new().wait(Duration::from_millis(300)).send("late");
    let upstream = doing(answer.then(Act::Close));
    let gateway = over([upstream.endpoint("a")], |_| {});
    let mut client = RawClient::sending(gateway.address(), "question");
    client.half_close();
    assert_eq!(client.rest(), b"late");
    gateway.assert_blameless();
}

/// A connection that cannot be made is tried at another endpoint, within attempts and budget.
#[test]
fn d07_a_connect_that_fails_is_tried_elsewhere() {
    let (dead, hole, upstream) = (Refusing::new(), Blackhole::new(), echo("x"));
    let endpoints = [dead.endpoint("dead"), upstream.endpoint("a")];
    let gateway = over(endpoints, |_| {});
    for _ in 0..20 {
        assert_eq!(RawClient::connect(gateway.address()).take(1), b"x");
    }
    eventually("they have ended", || {
        ended(&gateway)[0] + ended(&gateway)[2] == 20
    });
    assert!(gateway.endpoint("dead").totals.failures > 0);

    let gateway = over([hole.endpoint("hole"), upstream.endpoint("a")], |config| {
        config.clusters[0].timeout.connect = Duration::from_millis(100);
    });
    for _ in 0..4 {
        assert_eq!(RawClient::connect(gateway.address()).take(1), b"x");
    }
}

/// Whether a connection to there is reset, be it as soon as it stands.
fn is_reset(address: SocketAddr) -> bool {
    let read = TcpStream::connect(address).and_then(|mut stream| stream.read(&mut [0; 8]));
    read.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
}

/// Whom nobody takes is told by a reset, not by an end as if all had been said.
#[test]
fn a_connection_that_nobody_takes_is_reset() {
    let dead = Refusing::new();
    let gateway = over([dead.endpoint("a")], |_| {});
    assert!(is_reset(gateway.address()));
    assert_eq!(gateway.endpoint("a").totals.failures, 1);

    let gateway = over([dead.endpoint("a").with_weight(0)], |_| {});
    assert!(is_reset(gateway.address()));
    gateway.assert_blameless();
}

/// A break on one side is one on the other; an endpoint that resets before it says a word has failed.
#[test]
fn a20_an_endpoint_that_resets_at_once_is_blamed() {
    let upstream = doing(Answer::reset().after(Duration::from_millis(20)));
    let gateway = over([upstream.endpoint("a")], |_| {});
    let mut client = RawClient::sending(gateway.address(), "hello");
    assert!(client.rest_before_reset().is_empty());
    gateway.assert_idle();
    assert_eq!(ended(&gateway), [0, 1, 0]);
    assert_eq!(gateway.endpoint("a").totals.failures, 1);

    let upstream = echo("x");
    let gateway = over([upstream.endpoint("a")], |_| {});
    let mut client = RawClient::connect(gateway.address());
    client.take(1);
    client.reset();
    gateway.assert_blameless();
    assert_eq!(ended(&gateway), [0, 0, 1]);
    eventually("its endpoint is told", || upstream.open_connections() == 0);
}

#[test]
fn an_idle_connection_ends() {
    let upstream = echo("");
    let gateway = over([upstream.endpoint("a")], |config| {
        config.clusters[0].timeout.idle = Duration::from_secs(3);
    });
    let mut client = RawClient::connect(gateway.address());
    // Longer than that in all, and with pauses that a busy machine may make longer.
    for _ in 0..6 {
        client.send("x");
        assert_eq!(client.take(1), b"x");
        thread::sleep(Duration::from_millis(600));
    }
    client.expect_end();
    gateway.assert_blameless();
}

/// Connections are load for as long as they last.
#[test]
fn connections_go_to_who_has_fewest() {
    let upstreams = [echo("a"), echo("b")];
    let endpoints = [upstreams[0].endpoint("a"), upstreams[1].endpoint("b")];
    let gateway = over(endpoints, |_| {});
    let mut clients: Vec<_> = (0..10)
        .map(|_| RawClient::connect(gateway.address()))
        .collect();
    let heard = clients.iter_mut().map(|client| client.take(1));
    let to_a = heard.filter(|first| first == b"a").count();
    assert_eq!(to_a, 5);
    assert_eq!(gateway.endpoint("a").in_flight, 5);
    drop(clients);
    gateway.assert_blameless();
}

fn queue(size: u32, timeout: Nanos) -> impl FnOnce(&mut Config) {
    move |config| {
        config.clusters[0].capacity = Some(Capacity {
            queue: Some(QueuePolicy { size, timeout }),
            ..Capacity::default()
        });
    }
}

fn sheds(gateway: &Gateway, reason: ShedReason) -> u64 {
    let sheds = gateway.cluster().sheds();
    sheds.iter().map(|counts| counts[reason as usize]).sum()
}

/// Connections have caps and wait as requests do: in turn, over all workers, and never one too many. Who finds no
/// place is told by a reset, and counted.
#[test]
fn connections_wait_for_a_slot() {
    let upstream = echo("x");
    let gateway = over(
        [upstream.endpoint("a").with_capacity(2)],
        queue(3, Nanos::from_secs(60)),
    );
    let connect = || RawClient::connect(gateway.address());
    let mut served: VecDeque<RawClient> = (0..2).map(|_| connect()).collect();
    for client in &mut served {
        assert_eq!(client.take(1), b"x");
    }
    let mut waiting = VecDeque::new();
    for count in 1..=3 {
        waiting.push_back(connect());
        eventually("it waits", || gateway.cluster().queue_length() == count);
    }
    assert!(is_reset(gateway.address()), "the queue is full");
    assert_eq!(sheds(&gateway, ShedReason::QueueFull), 1);
    // One that leaves gives up its place.
    let gone = waiting.remove(1).expect("three wait");
    gone.reset();
    eventually("it is gone", || gateway.cluster().queue_length() == 2);
    while let Some(mut next) = waiting.pop_front() {
        assert_eq!(gateway.endpoint("a").in_flight, 2);
        drop(served.pop_front());
        assert_eq!(next.take(1), b"x", "the first in line is served");
        assert_eq!(gateway.cluster().queue_length() as usize, waiting.len());
        served.push_back(next);
    }
    drop(served);
    gateway.assert_blameless();
    assert_eq!(upstream.connections(), 4, "nobody else got through");
}

/// A connection that gets no slot in time is reset, and counted.
#[test]
fn a_connection_waits_no_longer_than_it_may() {
    let upstream = echo("x");
    let gateway = over(
        [upstream.endpoint("a").with_capacity(2)],
        queue(3, Nanos::from_millis(50)),
    );
    let mut served = [(); 2].map(|()| RawClient::connect(gateway.address()));
    for client in &mut served {
        assert_eq!(client.take(1), b"x");
    }
    assert!(is_reset(gateway.address()), "its time was over");
    assert_eq!(sheds(&gateway, ShedReason::QueueTimeout), 1);
    drop(served);
    gateway.assert_blameless();
}

/// Over the limit of connections one is closed without a word: HTTP would be noise.
#[test]
fn g02_the_limit_of_connections_holds() {
    let upstream = echo("x");
    let gateway = over([upstream.endpoint("a")], |config| {
        config.listeners[0].limits.connections = 2;
    });
    let mut clients = [(); 2].map(|()| RawClient::connect(gateway.address()));
    for client in &mut clients {
        client.take(1);
    }
    RawClient::connect(gateway.address()).expect_end();
    let listener = &gateway.control().listeners()[0];
    assert_eq!(listener.turned_away(TurnedAway::Limit), 1);
    drop(clients);
    eventually("there is room", || listener.connections() == 0);
    assert_eq!(RawClient::connect(gateway.address()).take(1), b"x");
}

/// G10: connections go on while it leaves, up to the deadline.
#[test]
fn g10_connections_last_until_the_drain_timeout() {
    let upstream = echo("");
    let mut gateway = over([upstream.endpoint("a")], |config| {
        config.runtime.drain_timeout = Duration::from_secs(5);
    });
    let mut client = RawClient::sending(gateway.address(), "1");
    assert_eq!(client.take(1), b"1");
    let drained = gateway.drain();
    eventually("it drains", || !gateway.control().is_ready());
    thread::sleep(Duration::from_millis(400));
    client.send("2");
    assert_eq!(client.take(1), b"2");
    assert!(!drained.join().expect("it drains"), "one was cut");
    client.rest();
}
