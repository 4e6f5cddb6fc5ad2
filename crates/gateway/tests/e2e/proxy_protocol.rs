//! The PROXY header: who the peer is by what stands in front, and what endpoints are told.

use std::time::Duration;

use evenkeel_config::{Config, Protocol, ProxyProtocol, StrategyChoice};
use evenkeel_core::Endpoint;
use evenkeel_gateway::TurnedAway;
use evenkeel_testkit::{Answer, Gateway, RawClient, Upstream, eventually};

use crate::GET;
use crate::tcp::doing;

const V1: &[u8] = b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n";
const V2: &[u8] =
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x07\xc6\x33\x64\x01\xdc\x04\x01\xbb";
const LOCAL: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";

fn behind_proxy(
    endpoints: impl IntoIterator<Item = Endpoint>,
    change: impl FnOnce(&mut Config),
) -> Gateway {
    Gateway::with(endpoints, |config| {
        config.listeners[0].proxy_protocol = true;
        change(config);
    })
}

fn with(header: &[u8], rest: &str) -> Vec<u8> {
    [header, rest.as_bytes()].concat()
}

/// Either version says who the client is, in one segment with its request or byte by byte, once for all
/// of its requests.
#[test]
fn the_header_says_who_the_client_is() {
    let upstream = Upstream::ok("ok");
    let gateway = behind_proxy([upstream.endpoint("a")], |_| {});
    for header in [V1, V2] {
        let mut client = RawClient::sending(gateway.address(), with(header, GET));
        assert_eq!(client.response().status, 200);
        client.send(GET);
        assert_eq!(client.response().status, 200);
        let mut client = RawClient::connect(gateway.address());
        client.drip(with(header, GET));
        assert_eq!(client.response().status, 200);
    }
    let requests = upstream.requests();
    assert_eq!(requests.len(), 6);
    for request in requests {
        assert_eq!(request.head.all("x-forwarded-for"), ["192.0.2.7"]);
    }
    // Who speaks for itself, as a health check does.
    for header in [LOCAL, b"PROXY UNKNOWN\r\n"] {
        RawClient::sending(gateway.address(), with(header, GET)).response();
        let last = upstream.requests().pop().expect("it came");
        assert_eq!(last.head.all("x-forwarded-for"), ["127.0.0.1"]);
    }
}

/// Trust goes by the client that the header names, not by who sent it.
#[test]
fn e16_trust_is_in_the_client_that_is_named() {
    let upstream = Upstream::ok("ok");
    for (trusted, expected) in [
        ("192.0.2.0/24", "1.1.1.1, 192.0.2.7"),
        ("127.0.0.0/8", "192.0.2.7"),
    ] {
        let gateway = behind_proxy([upstream.endpoint("a")], |config| {
            config.listeners[0].trusted_proxies = vec![trusted.parse().expect("a network")];
        });
        let request = "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.1.1.1\r\n\r\n";
        RawClient::sending(gateway.address(), with(V2, request)).response();
        let last = upstream.requests().pop().expect("it came");
        assert_eq!(last.head.all("x-forwarded-for"), [expected]);
    }
}

/// Without the header nobody gets in, not even with a request that is right, and not in silence.
#[test]
fn a_connection_without_the_header_is_closed() {
    let upstream = Upstream::ok("ok");
    let gateway = behind_proxy([upstream.endpoint("a")], |config| {
        config.listeners[0].limits.header_timeout = Duration::from_secs(1);
    });
    let wrong: [&[u8]; 4] = [
        GET.as_bytes(),
        b"PROXY TCP4 1.2.3.4\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x33",
        b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443 GET / HTTP/1.1\r\n\r\n",
    ];
    for bytes in wrong {
        assert!(
            RawClient::sending(gateway.address(), bytes)
                .rest()
                .is_empty()
        );
    }
    // Half of one, and nothing at all, up to the limit on the time for a head.
    RawClient::sending(gateway.address(), &V2[..20]).expect_end();
    RawClient::connect(gateway.address()).expect_end();
    assert_eq!(upstream.bytes_received(), 0);
    let listener = &gateway.control().listeners()[0];
    assert_eq!(listener.turned_away(TurnedAway::ProxyHeader), 4);
    eventually("they have gone", || listener.connections() == 0);
}

/// Endpoints are told who the client is, over TCP as the first bytes.
#[test]
fn endpoints_are_told_who_the_client_is() {
    let upstream = doing(Answer::new().echo());
    let over = |version| {
        behind_proxy([upstream.endpoint("a")], |config| {
            config.listeners[0].protocol = Protocol::Tcp;
            config.clusters[0].proxy_protocol = Some(version);
        })
    };
    for (version, expected) in [(ProxyProtocol::V1, V1), (ProxyProtocol::V2, V2)] {
        let gateway = over(version);
        for header in [V1, V2] {
            let mut client = RawClient::sending(gateway.address(), with(header, "hello"));
            assert_eq!(client.take(expected.len()), expected);
            assert_eq!(client.take(5), b"hello");
        }
    }
    // And from what the sockets say where nobody else does.
    let gateway = Gateway::with([upstream.endpoint("a")], |config| {
        config.listeners[0].protocol = Protocol::Tcp;
        config.clusters[0].proxy_protocol = Some(ProxyProtocol::V1);
    });
    let mut client = RawClient::sending(gateway.address(), "!");
    let (from, to) = (client.address().port(), gateway.address().port());
    let expected = format!("PROXY TCP4 127.0.0.1 127.0.0.1 {from} {to}\r\n!");
    assert_eq!(client.take(expected.len()), expected.as_bytes());
}

/// From gateway to gateway, for clients that take turns: no connection that names one of them carries
/// a request of the other.
#[test]
fn a_chain_of_gateways_passes_clients_on() {
    let upstream = Upstream::ok("ok");
    let back = behind_proxy([upstream.endpoint("a")], |_| {});
    let endpoint = Endpoint::new("back", back.address().to_string());
    let front = behind_proxy([endpoint], |config| {
        config.clusters[0].proxy_protocol = Some(ProxyProtocol::V2);
    });
    let other = b"PROXY TCP6 2001:db8::1 ::1 1 2\r\n";
    let mut clients = [V1, other].map(|header| {
        let mut client = RawClient::connect(front.address());
        client.send(header);
        client
    });
    for _ in 0..3 {
        for client in &mut clients {
            // Whom a proxy in front names is no trusted proxy.
            client.send(GET);
            assert_eq!(client.response().status, 200);
        }
    }
    let named: Vec<_> = upstream
        .requests()
        .iter()
        .map(|request| {
            request
                .field("x-forwarded-for")
                .expect("it is there")
                .to_owned()
        })
        .collect();
    assert_eq!(named, ["192.0.2.7", "2001:db8::1"].repeat(3));
}

/// The key `source_ip` of a connection is the address that the header names.
#[test]
fn a_client_keeps_its_endpoint_by_its_address() {
    let upstreams = [(); 3].map(|()| doing(Answer::new().echo()));
    let endpoints = ["a", "b", "c"].iter().zip(&upstreams);
    let endpoints: Vec<_> = endpoints
        .map(|(id, upstream)| upstream.endpoint(id))
        .collect();
    let gateway = behind_proxy(endpoints, |config| {
        config.listeners[0].protocol = Protocol::Tcp;
        config.clusters[0].strategy = StrategyChoice::new("maglev", &[]).expect("registered");
    });
    let home = |number: usize| {
        let before: Vec<usize> = upstreams.iter().map(Upstream::connections).collect();
        let header = format!(
            "PROXY TCP4 192.0.2.{number} 127.0.0.1 {} 80\r\n.",
            1000 + number
        );
        assert_eq!(RawClient::sending(gateway.address(), header).take(1), b".");
        let mut places = upstreams.iter().zip(before);
        places.position(|(upstream, before)| upstream.connections() > before)
    };
    let homes: Vec<_> = (0..24).map(home).collect();
    assert_eq!(homes, (0..24).map(home).collect::<Vec<_>>());
    for place in 0..3 {
        assert!(homes.contains(&Some(place)), "{homes:?}");
    }
}
