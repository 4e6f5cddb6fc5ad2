//! TLS to endpoints: what they must prove, and what they are shown. The endpoint is a gateway too.

use evenkeel_config::{ClusterTls, Config, Identity, ProxyProtocol};
use evenkeel_core::Endpoint;
use evenkeel_testkit::{Answer, Authority, Gateway, Upstream};

use crate::tls::tls;
use crate::{GET, ask, assert_own, noise, post};

fn front(back: &Gateway, tls: ClusterTls, change: impl FnOnce(&mut Config)) -> Gateway {
    let endpoint = Endpoint::new("back", back.address().to_string());
    Gateway::with([endpoint], |config| {
        config.clusters[0].tls = Some(tls);
        change(config);
    })
}

fn believing(authority: &Authority, name: Option<&str>) -> ClusterTls {
    ClusterTls {
        server_name: name.map(Into::into),
        ca: Some(authority.file().into()),
        identity: None,
    }
}

#[test]
fn requests_go_over_tls() {
    let authority = Authority::new();
    let upstream = Upstream::echo();
    let back = Gateway::with([upstream.endpoint("a")], |config| {
        let identity = authority.issue("back", &["back.example", "127.0.0.1"]);
        config.listeners[0].tls = vec![tls(identity)];
    });
    // By a name that is given, and by the address.
    for name in [Some("back.example"), None] {
        let front = front(&back, believing(&authority, name), |_| {});
        for size in [0, 1, 40_000, 3 << 20] {
            let body = noise(size);
            let response = ask(front.address(), post(&body));
            assert!(response.body == body, "{size}");
        }
        front.assert_blameless();
        let totals = front.endpoint("back").totals;
        let kept = totals.idle_connections + totals.active_connections;
        assert!((1..=2).contains(&kept), "one for each worker is kept");
    }
    let request = upstream.requests().pop().expect("it came");
    assert_eq!(request.field("x-forwarded-proto"), Some("https"));
}

/// Whoever cannot prove that it is the endpoint gets no request.
#[test]
fn endpoints_prove_who_they_are() {
    let (authority, other) = (Authority::new(), Authority::new());
    let upstream = Upstream::ok("ok");
    let back = Gateway::with([upstream.endpoint("a")], |config| {
        let identity = authority.issue("back", &["back.example"]);
        config.listeners[0].tls = vec![tls(identity)];
    });
    for tls in [
        believing(&authority, Some("other.example")),
        believing(&authority, None),
        believing(&other, Some("back.example")),
    ] {
        let front = front(&back, tls, |_| {});
        assert_own(&ask(front.address(), GET), 502, "tls_certificate_error");
        assert_eq!(front.endpoint("back").totals.failures, 1);
    }
    // One that speaks no TLS at all.
    let plain = Gateway::single(&upstream);
    let front = front(&plain, believing(&authority, Some("back.example")), |_| {});
    assert_own(&ask(front.address(), GET), 502, "tls_protocol_error");
    assert_eq!(upstream.count(), 0);
}

/// A certificate that vouches for itself, as `openssl req -x509` makes it, is believed where it is named itself, in
/// both directions; and that one only, for its names and in its time.
#[test]
fn a_certificate_that_vouches_for_itself_is_believed_by_itself() {
    let authority = Authority::new();
    let own = |file: &str| authority.self_signed(file, &["back.example"], 2090);
    let (mine, another) = (own("mine"), own("another"));
    let old = authority.self_signed("old", &["back.example"], 2001);
    let shown_by_front = own("front");
    let upstream = Upstream::ok("ok");
    let back = |identity: &Identity, client_ca: Option<&Identity>| {
        Gateway::with([upstream.endpoint("a")], |config| {
            let mut tls = tls(identity.clone());
            tls.client_ca = client_ca.map(|identity| identity.certificate.clone());
            config.listeners[0].tls = vec![tls];
        })
    };
    let asked = |back: &Gateway, ca: &Identity, name: &str, identity: Option<&Identity>| {
        let tls = ClusterTls {
            server_name: Some(name.into()),
            ca: Some(ca.certificate.clone()),
            identity: identity.cloned(),
        };
        ask(front(back, tls, |_| {}).address(), GET)
    };
    let open = back(&mine, None);
    assert_eq!(asked(&open, &mine, "back.example", None).status, 200);
    for (ca, name) in [(&another, "back.example"), (&mine, "other.example")] {
        assert_own(&asked(&open, ca, name, None), 502, "tls_certificate_error");
    }
    let late = back(&old, None);
    assert_own(
        &asked(&late, &old, "back.example", None),
        502,
        "tls_certificate_error",
    );
    let closed = back(&mine, Some(&shown_by_front));
    for (identity, status) in [
        (Some(&shown_by_front), 200),
        (Some(&another), 502),
        (None, 502),
    ] {
        assert_eq!(
            asked(&closed, &mine, "back.example", identity).status,
            status
        );
    }
    assert_eq!(upstream.count(), 2);
}

/// Endpoints that ask for a certificate are shown one, behind a PROXY header where that is asked too.
#[test]
fn endpoints_are_shown_a_certificate() {
    let authority = Authority::new();
    let upstream = Upstream::answering(|_| Answer::ok("in"));
    let back = Gateway::with([upstream.endpoint("a")], |config| {
        let mut tls = tls(authority.issue("back", &["back.example"]));
        tls.client_ca = Some(authority.file().into());
        config.listeners[0].tls = vec![tls];
        config.listeners[0].proxy_protocol = true;
    });
    let mut shown = believing(&authority, Some("back.example"));
    let change = |config: &mut Config| {
        config.clusters[0].proxy_protocol = Some(ProxyProtocol::V2);
    };
    let stranger = front(&back, shown.clone(), change);
    let response = ask(stranger.address(), GET);
    assert_eq!(response.status, 502);
    shown.identity = Some(authority.issue("front", &["front"]));
    let known = front(&back, shown, change);
    assert_eq!(ask(known.address(), GET).text(), "in");
    assert_eq!(upstream.count(), 1);
}
