//! Caps, empty clusters, and the gateway's own answers.

use std::time::Duration;

use evenkeel_testkit::{Answer, Gate, Gateway, RawClient, Upstream, eventually};

use crate::{GET, ask, assert_own, together};

/// An endpoint never has more requests than its capacity, over all workers; the others are told why.
#[test]
fn a_cap_is_exact_over_all_workers() {
    let gate = Gate::new();
    let behind = gate.clone();
    let upstream = Upstream::answering(move |_| Answer::ok("ok").behind(&behind));
    let gateway = Gateway::over([upstream.endpoint("a").with_capacity(3)]);
    let mut clients: Vec<RawClient> = (0..100)
        .map(|_| RawClient::sending(gateway.address(), GET))
        .collect();
    // All but three hear at once that there is no room.
    let mut waiting = Vec::new();
    eventually("97 are turned away", || {
        for mut client in std::mem::take(&mut clients) {
            if client.hears_within(Duration::from_millis(1)) {
                assert_own(&client.response(), 503, "connection_limit_reached");
            } else {
                clients.push(client);
            }
        }
        clients.len() == 3
    });
    waiting.append(&mut clients);
    assert_eq!(gateway.endpoint("a").in_flight, 3);
    gate.open();
    for mut client in waiting {
        assert_eq!(client.response().text(), "ok");
    }
    assert_eq!((upstream.most_waiting(), upstream.count()), (3, 3));
    gateway.assert_idle();
    gateway.assert_blameless();
}

/// The same under a steady load: slots are used again, and never once too often.
#[test]
fn a_cap_holds_under_load() {
    let upstream = Upstream::answering(|_| Answer::ok("ok").after(Duration::from_millis(2)));
    let gateway = Gateway::over([upstream.endpoint("a").with_capacity(3)]);
    let address = gateway.address();
    together(20, |_| {
        let mut client = RawClient::connect(address);
        for _ in 0..50 {
            client.send(GET);
            let response = client.response();
            if response.status != 200 {
                assert_own(&response, 503, "connection_limit_reached");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    assert!(upstream.most_waiting() <= 3, "{}", upstream.most_waiting());
    assert!(
        upstream.count() >= 50,
        "slots are used again: {}",
        upstream.count()
    );
    gateway.assert_idle();
}

/// What is full is passed over for what is not.
#[test]
fn full_endpoints_are_passed_over() {
    let gate = Gate::new();
    let behind = gate.clone();
    let small = Upstream::answering(move |_| Answer::ok("small").behind(&behind));
    let large = Upstream::ok("large");
    let gateway = Gateway::with(
        [small.endpoint("a").with_capacity(1), large.endpoint("b")],
        |config| {
            let choice = evenkeel_config::StrategyChoice::new("round_robin", &[]);
            config.clusters[0].strategy = choice.expect("known");
        },
    );
    let mut held = Vec::new();
    eventually("one is held", || {
        held.push(RawClient::sending(gateway.address(), GET));
        small.count() == 1
    });
    for _ in 0..50 {
        assert_eq!(ask(gateway.address(), GET).text(), "large");
    }
    gate.open();
    for mut client in held {
        assert_eq!(client.response().status, 200);
    }
    assert_eq!(small.most_waiting(), 1);
}

#[test]
fn an_empty_cluster_says_so() {
    let gateway = Gateway::over([]);
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..2 {
        client.send(GET);
        let response = client.response();
        assert_own(&response, 503, "destination_unavailable");
        let reason = response.field("proxy-status").expect("a reason");
        assert!(reason.contains("details=\""), "{reason}");
        assert!(!response.says_close());
    }
    assert_eq!(gateway.cluster().own_totals().requests(), 2);
}

/// A06: all weights zero is a state with a reason, and over as soon as one is not.
#[test]
fn a06_all_weights_zero_says_so() {
    let upstream = Upstream::ok("ok");
    let gateway = Gateway::over([
        upstream.endpoint("a").with_weight(0),
        upstream.endpoint("b").with_weight(0),
    ]);
    let response = ask(gateway.address(), GET);
    assert_own(&response, 503, "destination_unavailable");
    assert!(
        response
            .field("proxy-status")
            .is_some_and(|reason| reason.contains("weight"))
    );
    gateway.update("a", Some(1), None);
    assert_eq!(ask(gateway.address(), GET).status, 200);
}

/// A06: weight 0 gets nothing, also when it could not be reached.
#[test]
fn a06_weight_zero_gets_nothing() {
    let (live, zero) = (Upstream::ok("ok"), Upstream::ok("never"));
    let nowhere = evenkeel_core::Endpoint::new("c", "nowhere.invalid:80").with_weight(0);
    let gateway = Gateway::over([
        live.endpoint("a"),
        zero.endpoint("b").with_weight(0),
        nowhere,
    ]);
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..1000 {
        client.send(GET);
        assert_eq!(client.response().text(), "ok");
    }
    assert_eq!(zero.connections(), 0);
}

/// Own answers keep or end the connection like any other, and can be read when an upload is under way.
#[test]
fn own_answers_can_be_read_in_the_middle_of_an_upload() {
    let gateway = Gateway::over([]);
    let mut client = RawClient::connect(gateway.address());
    client.try_send(crate::post(crate::noise(4 << 20)));
    let response = client.response_to("POST");
    assert_own(&response, 503, "destination_unavailable");
    assert!(response.says_close());
    client.expect_end();
}
