//! Affinity by cookie: clients stay with their endpoint for as long as that takes requests.

use evenkeel_config::Sticky;
use evenkeel_core::Admin;
use evenkeel_testkit::{Answer, Gateway, RawClient, Refusing, Response, Upstream};

use crate::ask;

fn over(upstreams: &[&Upstream]) -> Gateway {
    let ids = ["a", "b", "c"];
    let endpoints = ids.iter().zip(upstreams);
    let endpoints: Vec<_> = endpoints
        .map(|(id, upstream)| upstream.endpoint(id))
        .collect();
    Gateway::with(endpoints, |config| {
        config.clusters[0].sticky = Some(Sticky {
            cookie: "ek".into(),
        });
    })
}

/// The pair that a client sends back, out of what it was told.
fn cookie(response: &Response) -> Option<String> {
    let all = response.head.all("set-cookie");
    let own = all.iter().find(|value| value.starts_with("ek="))?;
    let (pair, attributes) = own.split_once("; ").expect("attributes");
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Lax");
    assert_eq!(pair.len(), "ek=".len() + 16, "{pair}");
    Some(pair.to_owned())
}

fn with_cookie(pairs: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: h\r\nCookie: {pairs}\r\n\r\n")
}

#[test]
fn a_client_stays_where_its_cookie_says() {
    let (a, b, c) = (Upstream::ok("a"), Upstream::ok("b"), Upstream::ok("c"));
    let gateway = over(&[&a, &b, &c]);
    let first = ask(gateway.address(), crate::GET);
    let pair = cookie(&first).expect("a new client gets a cookie");
    let address = format!("{:?}", (a.address(), b.address(), c.address()));
    assert!(
        !address.contains(&pair[3..]),
        "it does not tell the address"
    );
    for _ in 0..20 {
        let again = ask(gateway.address(), with_cookie(&format!("x=1; {pair}; y=2")));
        assert_eq!(again.text(), first.text());
        assert_eq!(
            cookie(&again),
            None,
            "what has not changed is not said again"
        );
    }
    // The endpoint gets the cookie like any other.
    let home = [&a, &b, &c]
        .into_iter()
        .find(|upstream| upstream.count() > 1);
    let received = home
        .expect("one of them")
        .requests()
        .pop()
        .expect("a request");
    assert_eq!(
        received.field("cookie"),
        Some(format!("x=1; {pair}; y=2").as_str())
    );
}

#[test]
fn a_cookie_that_names_nobody_is_renewed() {
    let upstream = Upstream::answering(|_| {
        Answer::raw("HTTP/1.1 200 OK\r\nSet-Cookie: own=1\r\nContent-Length: 0\r\n\r\n")
    });
    let gateway = over(&[&upstream]);
    let right = cookie(&ask(gateway.address(), crate::GET)).expect("a cookie");
    for wrong in ["ek=0000000000000000", "ek=", "ek=../../etc", "EK=1", "ek"] {
        let response = ask(gateway.address(), with_cookie(wrong));
        assert_eq!(cookie(&response), Some(right.clone()), "{wrong}");
        assert!(response.head.all("set-cookie").contains(&"own=1"));
    }
}

#[test]
fn a_cookie_means_the_same_in_every_gateway() {
    let (a, b) = (Upstream::ok("a"), Upstream::ok("b"));
    let (one, other) = (over(&[&a, &b]), over(&[&a, &b]));
    let first = ask(one.address(), crate::GET);
    let pair = cookie(&first).expect("a cookie");
    for _ in 0..10 {
        let response = ask(other.address(), with_cookie(&pair));
        assert_eq!((response.text(), cookie(&response)), (first.text(), None));
    }
}

#[test]
fn a_client_leaves_an_endpoint_that_drains() {
    let (a, b) = (Upstream::ok("a"), Upstream::ok("b"));
    let gateway = over(&[&a, &b]);
    let mut client = RawClient::sending(gateway.address(), crate::GET);
    let first = client.response();
    let pair = cookie(&first).expect("a cookie");
    let update = |admin, weight| {
        let id = first.text();
        gateway.update(&id, weight, admin);
    };
    let mut send = |pair: &str| {
        client.send(with_cookie(pair));
        client.response()
    };
    for (admin, weight) in [
        (Some(Admin::Draining), None),
        (Some(Admin::Disabled), None),
        (Some(Admin::Enabled), Some(0)),
    ] {
        update(admin, weight);
        let moved = send(&pair);
        assert_ne!(moved.text(), first.text());
        let renewed = cookie(&moved).expect("the cookie is renewed");
        assert_ne!(renewed, pair);
        assert_eq!(cookie(&send(&renewed)), None);
    }
    // An old cookie counts again once its endpoint is back.
    update(None, Some(1));
    let back = send(&pair);
    assert_eq!((back.text(), cookie(&back)), (first.text(), None));
}

#[test]
fn a_client_leaves_an_endpoint_that_is_full() {
    let gate = evenkeel_testkit::Gate::new();
    let held = gate.clone();
    let slow = move |name: &'static str| {
        let held = held.clone();
        Upstream::answering(move |request| match request.target() {
            "/hold" => Answer::ok(name).behind(&held),
            _ => Answer::ok(name),
        })
    };
    let (a, b) = (slow("a"), slow("b"));
    let endpoints = [("a", &a), ("b", &b)];
    let endpoints = endpoints.map(|(id, up)| up.endpoint(id).with_capacity(1));
    let gateway = Gateway::with(endpoints, |config| {
        config.clusters[0].sticky = Some(Sticky {
            cookie: "ek".into(),
        });
    });
    let first = ask(gateway.address(), crate::GET);
    let pair = cookie(&first).expect("a cookie");
    let hold = with_cookie(&pair).replace("GET / ", "GET /hold ");
    let mut holder = RawClient::sending(gateway.address(), hold);
    let home = if first.text() == "a" { &a } else { &b };
    evenkeel_testkit::eventually("the endpoint is full", || home.count() == 2);
    let moved = ask(gateway.address(), with_cookie(&pair));
    assert_eq!(moved.status, 200);
    assert_ne!(moved.text(), first.text());
    assert!(cookie(&moved).is_some_and(|renewed| renewed != pair));
    gate.open();
    assert_eq!(cookie(&holder.response()), None);
}

/// The endpoint that answers is the one that the cookie names, not the one that was tried first.
#[test]
fn after_a_failed_try_the_cookie_names_who_answered() {
    let dead = Refusing::new();
    let alive = Upstream::ok("alive");
    let sticky = |config: &mut evenkeel_config::Config| {
        config.clusters[0].sticky = Some(Sticky {
            cookie: "ek".into(),
        });
    };
    let gateway = Gateway::with([dead.endpoint("a"), alive.endpoint("b")], sticky);
    let named = Gateway::with([alive.endpoint("b")], sticky);
    let expected = cookie(&ask(named.address(), crate::GET));
    for _ in 0..10 {
        let response = ask(gateway.address(), crate::GET);
        assert_eq!(
            (response.text().as_str(), cookie(&response)),
            ("alive", expected.clone())
        );
    }
}

/// A split between clusters keeps clients as well: the cookie decides before the shares do.
#[test]
fn a_client_of_a_split_stays_with_its_cluster() {
    let (stable, canary) = (Upstream::ok("stable"), Upstream::ok("canary"));
    let text = format!(
        "[[listener]]\naddress = \"127.0.0.1:0\"\n\
         [[listener.route]]\nclusters = {{ stable = 50, canary = 50 }}\n\
         [cluster.stable]\nendpoints = [\"{}\"]\nsticky = {{}}\n\
         [cluster.canary]\nendpoints = [\"{}\"]\nsticky = {{}}\n",
        stable.address(),
        canary.address()
    );
    let (config, report) =
        evenkeel_config::parse("f", &text, &evenkeel_config::Environment::empty());
    let gateway = Gateway::start(&config.unwrap_or_else(|| panic!("{report}")));
    let first = ask(gateway.address(), crate::GET);
    let pair = cookie(&first).expect("a cookie");
    for _ in 0..30 {
        let again = ask(gateway.address(), with_cookie(&pair));
        assert_eq!((again.text(), cookie(&again)), (first.text(), None));
    }
}
