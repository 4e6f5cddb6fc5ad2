//! Weights that follow what endpoints say, from the heads of answers to decisions.

use std::time::Duration;

use evenkeel_config::{DynamicWeights, StrategyChoice};
use evenkeel_core::{Endpoint, Nanos, WeightLaw, WeightRules};
use evenkeel_testkit::{Answer, Gateway, RawClient, Upstream, eventually};

use crate::{GET, ask};

/// A law without its long waits.
fn quick(law: WeightLaw) -> DynamicWeights {
    DynamicWeights {
        rules: WeightRules {
            law,
            blackout: Nanos(0),
            ..WeightRules::default()
        },
        interval: Duration::from_millis(100),
        ..DynamicWeights::default()
    }
}

fn following(law: WeightLaw, endpoints: impl IntoIterator<Item = Endpoint>) -> Gateway {
    Gateway::with(endpoints, |config| {
        config.clusters[0].dynamic_weights = Some(quick(law));
    })
}

/// One that says this in the head of each answer.
fn saying(field: &'static str) -> Upstream {
    Upstream::answering(move |_| {
        Answer::raw(format!(
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{field}\r\n\r\nok"
        ))
    })
}

fn weight(gateway: &Gateway, id: &str) -> u32 {
    gateway.endpoint(id).effective_weight
}

/// Asks on one connection until something holds.
fn ask_until(gateway: &Gateway, what: &str, holds: impl Fn() -> bool) {
    let mut client = RawClient::connect(gateway.address());
    eventually(what, || {
        client.send(GET);
        assert_eq!(client.response().status, 200);
        holds()
    });
}

/// Each form of the report, one endpoint each, under `orca`: requests a second over utilization, and the
/// mean for the one that says nothing.
#[test]
fn reports_in_all_forms_become_weights() {
    let text = saying("endpoint-load-metrics: TEXT cpu_utilization=0.8,rps_fractional=80");
    let json = saying(
        "Endpoint-Load-Metrics: JSON {\"application_utilization\":0.4,\"cpu_utilization\":0.9,\"rps_fractional\":80}",
    );
    // The same as the first one.
    let binary = saying("endpoint-load-metrics-bin: CZqZmZmZmek/MQAAAAAAAFRA");
    let silent = saying("x-silent: yes");
    let endpoints = [
        text.endpoint("a"),
        json.endpoint("b"),
        binary.endpoint("c"),
        silent.endpoint("d"),
    ];
    let gateway = following(WeightLaw::Orca, endpoints);
    // 100, 200 and 100 requests a second: 3/4, 3/2 and 3/4 of their mean.
    ask_until(&gateway, "weights follow", || {
        let all = ["a", "b", "c", "d"].map(|id| weight(&gateway, id));
        all == [192, 384, 192, 256]
    });
    let response = ask(gateway.address(), GET);
    let fields = format!("{response:?}").to_lowercase();
    assert!(!fields.contains("load-metrics"), "{fields}");
    for (id, heard) in [("a", true), ("b", true), ("c", true), ("d", false)] {
        let totals = gateway.endpoint(id).totals;
        assert_eq!((totals.reports > 0, totals.bad_reports), (heard, 0), "{id}");
    }
    gateway.assert_blameless();
}

/// The share of requests follows the weight that is in force.
#[test]
fn requests_follow_the_weights() {
    let busy = saying("endpoint-load-metrics: TEXT cpu_utilization=0.9,rps=90");
    let free = saying("endpoint-load-metrics: TEXT cpu_utilization=0.3,rps=90");
    let gateway = Gateway::with([busy.endpoint("a"), free.endpoint("b")], |config| {
        let cluster = &mut config.clusters[0];
        cluster.strategy = StrategyChoice::new("weighted_round_robin", &[]).expect("known");
        cluster.dynamic_weights = Some(quick(WeightLaw::Orca));
    });
    ask_until(&gateway, "weights follow", || {
        (weight(&gateway, "a"), weight(&gateway, "b")) == (128, 384)
    });
    let before = (busy.count(), free.count());
    let mut client = RawClient::connect(gateway.address());
    for _ in 0..400 {
        client.send(GET);
        assert_eq!(client.response().status, 200);
    }
    let shares = (busy.count() - before.0, free.count() - before.1);
    assert!(
        shares.0.abs_diff(100) <= 2 && shares.1.abs_diff(300) <= 2,
        "{shares:?}"
    );
}

/// The damped law moves a busy endpoint down step by step.
#[test]
fn utilization_moves_weights_step_by_step() {
    let busy = saying("endpoint-load-metrics: TEXT cpu_utilization=0.9");
    let free = saying("endpoint-load-metrics: TEXT cpu_utilization=0.3");
    let endpoints = [busy.endpoint("a"), free.endpoint("b")];
    let gateway = following(WeightLaw::Utilization, endpoints);
    ask_until(&gateway, "weights follow", || {
        weight(&gateway, "a") < 235 && weight(&gateway, "b") > 270
    });
    let generation = gateway.cluster().generation();
    assert!(generation > 2, "in steps: {generation}");
}

/// Without a report of any kind: how long answers take, failures counting as slow ones.
#[test]
fn latency_needs_no_reports() {
    let slow = Upstream::answering(|_| Answer::ok("ok").after(Duration::from_millis(40)));
    let fast = Upstream::ok("ok");
    let endpoints = [slow.endpoint("a"), fast.endpoint("b")];
    let gateway = Gateway::with(endpoints, |config| {
        let cluster = &mut config.clusters[0];
        cluster.dynamic_weights = Some(quick(WeightLaw::Latency));
        cluster.strategy = StrategyChoice::new("weighted_round_robin", &[]).expect("known");
    });
    ask_until(&gateway, "the slow one weighs less", || {
        weight(&gateway, "a") < 256 && weight(&gateway, "b") > 256
    });
    assert_eq!(gateway.endpoint("a").totals.reports, 0);
}

/// What makes no sense is counted, and as if it was not there; the answer passes all the same.
#[test]
fn bad_reports_are_ignored_and_counted() {
    let good = saying("endpoint-load-metrics: TEXT cpu_utilization=0.5,rps=10");
    let wild = saying("endpoint-load-metrics: TEXT cpu_utilization=-1,rps=1e99");
    let noise = saying("endpoint-load-metrics-bin: \u{1F4A5}!!");
    let endpoints = [good.endpoint("a"), wild.endpoint("b"), noise.endpoint("c")];
    let gateway = following(WeightLaw::Orca, endpoints);
    ask_until(&gateway, "all of them are heard", || {
        let totals = ["a", "b", "c"].map(|id| gateway.endpoint(id).totals);
        totals[0].reports > 5 && totals[1].bad_reports > 5 && totals[2].bad_reports > 5
    });
    assert_eq!(gateway.endpoint("a").totals.bad_reports, 0);
    assert_eq!(gateway.endpoint("b").totals.reports, 0);
    let weights = ["a", "b", "c"].map(|id| weight(&gateway, id));
    assert_eq!(weights, [256; 3]);
    gateway.assert_blameless();
}

/// Where nobody asked for it nothing is read, and nothing is passed on either.
#[test]
fn reports_are_not_read_unless_asked_for() {
    let upstream = saying("endpoint-load-metrics: nonsense");
    let gateway = Gateway::single(&upstream);
    let response = ask(gateway.address(), GET);
    assert_eq!(response.field("endpoint-load-metrics"), None);
    let totals = gateway.endpoint("a").totals;
    assert_eq!((totals.reports, totals.bad_reports), (0, 0));
}

/// A configuration without them puts weights back; a new address under an old id is another endpoint.
#[test]
fn weights_are_forgotten_where_they_have_to_be() {
    let busy = saying("endpoint-load-metrics: TEXT cpu_utilization=0.9,rps=90");
    let free = saying("endpoint-load-metrics: TEXT cpu_utilization=0.3,rps=90");
    let quiet = saying("x-quiet: yes");
    let mut config = evenkeel_testkit::config([busy.endpoint("a"), free.endpoint("b")]);
    config.clusters[0].dynamic_weights = Some(quick(WeightLaw::Orca));
    config.clusters[0].slow_start = None;
    let gateway = Gateway::start(&config);
    ask_until(&gateway, "weights follow", || weight(&gateway, "a") == 128);
    // The same id elsewhere.
    config.clusters[0].endpoints[0] = quiet.endpoint("a");
    let reload = |config: &evenkeel_config::Config| {
        let keep = evenkeel_gateway::OperatorChanges::Keep;
        let reloaded = gateway.wait(gateway.control().reload(config, keep));
        reloaded.expect("it is right");
    };
    reload(&config);
    assert_eq!(weight(&gateway, "a"), 256);
    config.clusters[0].dynamic_weights = None;
    reload(&config);
    assert_eq!((weight(&gateway, "a"), weight(&gateway, "b")), (256, 256));
}

/// What answers to checks say in their bodies, with the share of requests that failed.
#[test]
fn bodies_of_checks_become_weights() {
    let node = |body: &'static str| {
        Upstream::answering(
            move |request| match request.head.line.contains("/healthz") {
                true => Answer::ok(body),
                false => Answer::ok("ok"),
            },
        )
    };
    let busy = node(r#"{"status":"ok","active":9,"utilization":0.9}"#);
    let free = node(r#"{"status":"ok","utilization":0.3,"error_rate_1m":0}"#);
    let wild = node("fine, thanks");
    let text = format!(
        "[[listener]]\naddress = \"127.0.0.1:0\"\ncluster = \"web\"\n[cluster.web]\nendpoints = [\n\
         {{ id = \"a\", address = \"{}\" }}, {{ id = \"b\", address = \"{}\" }}, {{ id = \"c\", address = \"{}\" }}]\n\
         health = {{ interval = \"100ms\", fast_interval = \"100ms\" }}\n\
         dynamic_weights = {{ report = \"health\", blackout = \"0s\", interval = \"100ms\" }}\n",
        busy.address(),
        free.address(),
        wild.address()
    );
    let environment = evenkeel_config::Environment::empty();
    let (config, report) = evenkeel_config::parse("f.toml", &text, &environment);
    let gateway = Gateway::start(&config.unwrap_or_else(|| panic!("{report}")));
    eventually("weights follow without a request", || {
        weight(&gateway, "a") < 245 && weight(&gateway, "b") > 262
    });
    let totals = ["a", "b", "c"].map(|id| gateway.endpoint(id).totals);
    assert!(totals[0].reports > 0 && totals[2].bad_reports > 0);
    assert_eq!(weight(&gateway, "c"), 256);
}
