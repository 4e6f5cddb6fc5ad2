//! Shadow strategies: evaluated on the same requests, sending nothing.

use std::time::Duration;

use evenkeel_config::{Config, KeySource, strategy_from_json};
use evenkeel_gateway::{OperatorChanges, ShadowReport};
use evenkeel_testkit::{Answer, Gate, Gateway, RawClient, Upstream, eventually};
use serde_json::json;

use crate::GET;

fn shadowed(config: &mut Config, live: &str, shadows: &[&str]) {
    let choice = |name: &str| strategy_from_json(&json!(name)).expect("registered");
    config.clusters[0].strategy = choice(live);
    config.clusters[0].shadow = shadows.iter().map(|name| choice(name)).collect();
}

fn report(gateway: &Gateway, name: &str) -> ShadowReport {
    let reports = gateway.cluster().shadows();
    let found = reports.into_iter().find(|report| &*report.strategy == name);
    found.unwrap_or_else(|| panic!("there is no shadow {name}"))
}

fn shares(report: &ShadowReport) -> Vec<(u64, u64)> {
    let shares = report.endpoints.iter();
    shares.map(|share| (share.live, share.shadow)).collect()
}

fn send(gateway: &Gateway, count: usize, request: &str) {
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..count {
        client.send(request);
        assert_eq!(client.response().status, 200);
    }
}

#[test]
fn what_another_strategy_would_do_is_told_and_not_done() {
    let (a, b) = (Upstream::ok("x"), Upstream::ok("x"));
    let endpoints = [a.endpoint("a").with_weight(3), b.endpoint("b")];
    let gateway = Gateway::with(endpoints, |config| {
        shadowed(config, "round_robin", &["weighted_round_robin"]);
    });
    assert_eq!(report(&gateway, "noise").summary(), "no decision yet");
    send(&gateway, 400, GET);
    assert_eq!((a.count(), b.count()), (200, 200), "the live one decides");
    let told = report(&gateway, "weighted_round_robin");
    assert_eq!(shares(&told), [(200, 300), (200, 100)]);
    assert_eq!(told.decisions.iter().sum::<u64>(), 400);
    assert_eq!(told.decisions[0] + told.decisions[1], 400);
    assert!((told.distribution_difference() - 0.25).abs() < 1e-9);
    // By where the two schedules began.
    assert!((0.25..=0.75).contains(&told.agreement()), "{told:?}");
    assert!(
        told.summary().contains("; differs most on endpoint "),
        "{}",
        told.summary()
    );
    let noise = report(&gateway, "noise");
    assert_eq!(shares(&noise), [(200, 200), (200, 200)]);
    gateway.assert_blameless();
}

/// As long as real requests are under way, what the shadow chose for them weighs there.
#[test]
fn a_shadow_has_requests_in_flight_of_its_own() {
    let gate = Gate::new();
    let held = gate.clone();
    let upstream = Upstream::answering(move |_| Answer::ok("x").behind(&held));
    let endpoints = ["a", "b", "c"].map(|id| upstream.endpoint(id));
    let gateway = Gateway::with(endpoints, |config| {
        shadowed(config, "weighted_random", &["least_request"]);
    });
    let clients: Vec<RawClient> = (0..12)
        .map(|_| RawClient::sending(gateway.address(), GET))
        .collect();
    eventually("all are decided", || {
        report(&gateway, "least_request")
            .decisions
            .iter()
            .sum::<u64>()
            == 12
    });
    let told = report(&gateway, "least_request");
    let chosen: Vec<u64> = told.endpoints.iter().map(|share| share.shadow).collect();
    assert_eq!(
        chosen,
        [4, 4, 4],
        "as even as the live one is not by itself"
    );
    gate.open();
    for mut client in clients {
        assert_eq!(client.response().status, 200);
    }
    gateway.assert_blameless();
}

/// A slow endpoint is busy for longer, in the shadow too.
#[test]
fn a_shadow_keeps_away_from_who_is_slow_as_it_would_live() {
    let quick = Upstream::ok("x");
    let slow = Upstream::answering(|_| Answer::ok("x").after(Duration::from_millis(200)));
    let endpoints = [quick.endpoint("a"), slow.endpoint("b")];
    let gateway = Gateway::with(endpoints, |config| {
        shadowed(config, "round_robin", &["least_request"]);
    });
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| send(&gateway, 20, GET));
        }
    });
    let told = report(&gateway, "least_request");
    let [(live, to_quick), (_, to_slow)] = shares(&told)[..] else {
        panic!("two endpoints");
    };
    assert_eq!(live, 80);
    assert!(to_quick > 2 * to_slow, "{told:?}");
    assert!(told.latency_difference() < 0.0, "{told:?}");
    gateway.assert_blameless();
}

#[test]
fn what_endpoints_really_did_is_heard_by_shadows() {
    let quick = Upstream::ok("x");
    let slow = Upstream::answering(|_| Answer::ok("x").after(Duration::from_millis(100)));
    let endpoints = [quick.endpoint("a"), slow.endpoint("b")];
    let gateway = Gateway::with(endpoints, |config| {
        shadowed(config, "round_robin", &["peak_ewma"]);
    });
    // A pause of the machine may make the quick one look slow, but hardly as slow as that.
    send(&gateway, 30, GET);
    let told = report(&gateway, "peak_ewma");
    let [(_, to_quick), (_, to_slow)] = shares(&told)[..] else {
        panic!("two endpoints");
    };
    assert!(to_quick > 2 * to_slow, "{told:?}");
    assert!(told.latency_difference() < -0.01, "{told:?}");
    assert!(told.summary().contains("would save "), "{}", told.summary());
}

#[test]
fn a_shadow_that_chooses_by_key_has_keys() {
    let upstream = Upstream::ok("x");
    let endpoints = ["a", "b", "c"].map(|id| upstream.endpoint(id));
    let gateway = Gateway::with(endpoints, |config| {
        shadowed(config, "round_robin", &["maglev"]);
        config.clusters[0].keys.sources = vec![KeySource::Header("x-user".into())];
    });
    let request = GET.replace("\r\n\r\n", "\r\nx-user: one\r\n\r\n");
    send(&gateway, 30, &request);
    let mut chosen: Vec<u64> = report(&gateway, "maglev")
        .endpoints
        .iter()
        .map(|share| share.shadow)
        .collect();
    chosen.sort_unstable();
    assert_eq!(chosen, [0, 0, 30]);
}

#[test]
fn shadows_follow_the_configuration() {
    let upstream = Upstream::ok("x");
    let mut config = evenkeel_testkit::config([upstream.endpoint("a"), upstream.endpoint("b")]);
    shadowed(&mut config, "round_robin", &["random"]);
    let gateway = Gateway::start(&config);
    send(&gateway, 10, GET);
    let reload = |config: &Config| {
        let reload = gateway.control().reload(config, OperatorChanges::Keep);
        gateway.wait(reload).expect("a right configuration");
    };
    // Another list of endpoints: what was counted stays.
    config.clusters[0].endpoints.pop();
    reload(&config);
    send(&gateway, 5, GET);
    let told = report(&gateway, "random");
    assert_eq!(told.decisions.iter().sum::<u64>(), 15);
    // Other shadows begin anew.
    shadowed(&mut config, "round_robin", &["least_request"]);
    reload(&config);
    send(&gateway, 3, GET);
    assert_eq!(report(&gateway, "least_request").decisions, [3, 0, 0]);
    shadowed(&mut config, "round_robin", &[]);
    reload(&config);
    send(&gateway, 1, GET);
    assert!(gateway.cluster().shadows().is_empty());
}
