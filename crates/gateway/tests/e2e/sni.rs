//! Connections that are passed on by the name in their TLS hello.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_config::{Action, Conditions, Forward, Protocol, Route};
use evenkeel_core::Endpoint;
use evenkeel_testkit::{Authority, Gateway, RawClient, Upstream};
use rustls::pki_types::ServerName;
use rustls::version::TLS13;
use rustls::{ClientConnection, StreamOwned};

use crate::GET;
use crate::tls::{Drip, TlsClient, believing, plain, secured, tls};

/// A TCP listener passes connections on by the name in their hello, which arrives as it was sent, in
/// however many pieces; TLS is between the client and who stands behind.
#[test]
fn connections_are_routed_by_name() {
    let authority = Authority::new();
    let upstreams = [Upstream::ok("a"), Upstream::ok("b"), Upstream::ok("rest")];
    let backs = ["a.example", "b.example", "c.example"].map(|name| {
        let place = usize::from(name.as_bytes()[0] - b'a');
        let all = vec![tls(authority.issue(name, &[name, "x.b.example"]))];
        secured([upstreams[place].endpoint("a")], all, |_| {})
    });
    let gateway = by_name(&backs, Some("rest"));
    let config = believing(&authority, None, &[&TLS13]);
    for (name, text) in [
        ("a.example", "a"),
        ("x.b.example", "b"),
        ("c.example", "rest"),
    ] {
        let mut client = TlsClient::connect(gateway.address(), name, &config);
        assert_eq!(client.ask(GET).expect("an answer").text(), text, "{name}");
        let name = ServerName::try_from(name).expect("a name");
        let connection = ClientConnection::new(Arc::clone(&config), name).expect("a client");
        let mut drip = StreamOwned::new(connection, Drip(plain(gateway.address())));
        drip.write_all(GET.as_bytes()).expect("it is taken");
        let mut first = [0; 12];
        drip.read_exact(&mut first).expect("an answer");
        assert_eq!(&first, b"HTTP/1.1 200");
    }
    // What is no hello goes where those go that ask for nobody, and there it is no hello either.
    assert_eq!(
        RawClient::sending(gateway.address(), GET).rest().first(),
        Some(&0x15)
    );

    let gateway = by_name(&backs, None);
    let mut client = TlsClient::connect(gateway.address(), "a.example", &config);
    assert_eq!(client.ask(GET).expect("an answer").text(), "a");
    let mut client = RawClient::sending(gateway.address(), GET);
    assert!(
        client.rest_before_reset().is_empty(),
        "there is nobody for it"
    );
    RawClient::sending(gateway.address(), b"\x16\x03\x01\x02\0\x01").expect_end();
}

/// A TCP listener in front of three gateways, by the names that they are for.
fn by_name(backs: &[Gateway; 3], rest: Option<&str>) -> Gateway {
    Gateway::with([], |config| {
        let names = ["a", "b", "rest"];
        config.clusters = { names.iter().zip(backs) }
            .map(|(name, back)| {
                let mut cluster = evenkeel_config::Cluster::new(*name);
                let address = back.address().to_string();
                cluster.endpoints = vec![Endpoint::new("back", address)];
                cluster
            })
            .collect();
        let listener = &mut config.listeners[0];
        listener.protocol = Protocol::Tcp;
        listener.cluster = rest.map(Into::into);
        listener.limits.header_timeout = Duration::from_secs(3);
        listener.routes = [("a.example", "a"), ("*.b.example", "b")]
            .map(|(name, cluster)| Route {
                when: Conditions {
                    sni: Some(name.parse().expect("a name")),
                    ..Conditions::default()
                },
                action: Action::Forward(Forward {
                    clusters: vec![(cluster.into(), 1)],
                    ..Forward::default()
                }),
            })
            .into();
    })
}
