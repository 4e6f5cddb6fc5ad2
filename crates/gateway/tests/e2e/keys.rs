//! Strategies that keep a key on an endpoint, through the gateway.

use std::collections::BTreeMap;

use evenkeel_config::{
    Config, HealthCheck, KeyRules, KeySource, Probe, StrategyChoice, SubsetRules,
};
use evenkeel_core::health::ActivePolicy;
use evenkeel_core::strategy::registry::{self, STRATEGIES};
use evenkeel_core::{Admin, KeyPolicy, MissingKey, Nanos, SubsetMethod};
use evenkeel_gateway::KeyShare;
use evenkeel_testkit::{Gateway, RawClient, Refusing, Upstream, eventually};

use crate::ask;

const IDS: [&str; 4] = ["a", "b", "c", "d"];

fn upstreams() -> Vec<Upstream> {
    IDS.into_iter().map(Upstream::ok).collect()
}

fn choose(config: &mut Config, strategy: &str, policy: KeyPolicy) {
    let cluster = &mut config.clusters[0];
    cluster.strategy = StrategyChoice::new(strategy, &[]).expect("registered");
    cluster.keys = KeyRules {
        sources: vec![KeySource::Header("x-user".into())],
        policy,
    };
}

fn over(upstreams: &[Upstream], strategy: &str) -> Gateway {
    let endpoints = IDS.iter().zip(upstreams);
    let endpoints: Vec<_> = endpoints
        .map(|(id, upstream)| upstream.endpoint(id))
        .collect();
    Gateway::with(endpoints, |config| {
        choose(config, strategy, KeyPolicy::default());
    })
}

fn of_user(user: usize) -> String {
    format!("GET /{user} HTTP/1.1\r\nHost: h\r\nX-User: user-{user}\r\n\r\n")
}

/// Where each of some users is served, over one connection.
fn homes(gateway: &Gateway) -> Vec<String> {
    let mut client = RawClient::connect(gateway.address());
    let home = |user| {
        client.send(of_user(user));
        let response = client.response();
        assert_eq!(response.status, 200, "{response:?}");
        response.text().to_owned()
    };
    (0..60).map(home).collect()
}

fn keyed() -> impl Iterator<Item = &'static str> {
    let keyed = STRATEGIES.iter().filter(|strategy| strategy.traits.keyed);
    keyed.map(|strategy| strategy.name)
}

/// A user stays on one endpoint, on whichever connection and worker, while others come and go.
#[test]
fn a_user_stays_while_endpoints_come_and_go() {
    for strategy in keyed() {
        let upstreams = upstreams();
        let gateway = over(&upstreams, strategy);
        let before = homes(&gateway);
        for (user, home) in before.iter().enumerate() {
            assert_eq!(ask(gateway.address(), of_user(user)).text(), *home);
        }
        let mut users: BTreeMap<&str, usize> = BTreeMap::new();
        for home in &before {
            *users.entry(home).or_default() += 1;
        }
        assert_eq!(users.len(), 4, "{strategy}: {users:?}");

        let (control, cluster) = (gateway.control(), gateway.cluster());
        let update = |admin| gateway.wait(control.update(cluster, "c", None, Some(admin)));
        update(Admin::Draining).expect("it is there");
        let during = homes(&gateway);
        let moved = before.iter().zip(&during);
        let strays = moved.filter(|(from, to)| *from != "c" && from != to);
        // Within the bound that maglev states; the others move none.
        let most = usize::from(strategy == "maglev") * 2;
        assert!(strays.count() <= most, "{strategy}: {before:?} {during:?}");
        assert!(!during.contains(&"c".to_owned()));
        update(Admin::Enabled).expect("it is there");
        assert_eq!(homes(&gateway), before, "{strategy}");
    }
}

/// Two gateways with the same file agree, without a word between them.
#[test]
fn gateways_agree() {
    let upstreams = upstreams();
    let (one, other) = (over(&upstreams, "ring_hash"), over(&upstreams, "ring_hash"));
    assert_eq!(homes(&one), homes(&other));
}

#[test]
fn a_strategy_that_is_put_in_force_reads_keys_at_once() {
    let upstreams = upstreams();
    let gateway = over(&upstreams, "round_robin");
    let (control, cluster) = (gateway.control(), gateway.cluster());
    let spread = |gateway: &Gateway| {
        let mut client = RawClient::connect(gateway.address());
        let homes = (0..8).map(|_| {
            client.send(of_user(1));
            client.response().text().to_owned()
        });
        homes.collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!(spread(&gateway), 4);
    let maglev = registry::build("maglev", &[]).expect("registered");
    gateway.wait(control.set_strategy(cluster, maglev));
    assert_eq!(spread(&gateway), 1);
    assert_eq!(homes(&gateway), homes(&over(&upstreams, "maglev")));
}

#[test]
fn without_a_key_the_choice_is_open_or_refused() {
    let upstreams = upstreams();
    let gateway = over(&upstreams, "maglev");
    let answers: Vec<String> = (0..40)
        .map(|_| ask(gateway.address(), crate::GET).text().to_owned())
        .collect();
    assert!(
        IDS.iter()
            .all(|id| answers.iter().any(|answer| answer == id))
    );

    let strict = Gateway::with([upstreams[0].endpoint("a")], |config| {
        choose(
            config,
            "maglev",
            KeyPolicy {
                missing: MissingKey::Error,
                ..KeyPolicy::default()
            },
        );
    });
    let refused = ask(strict.address(), crate::GET);
    assert_eq!(refused.status, 503);
    let why = refused.head.all("proxy-status").join("");
    assert!(why.contains("no key"), "{why}");
    assert_eq!(ask(strict.address(), of_user(1)).status, 200);
}

/// Of the endpoints of a subset all are used, and no others; another instance has another one.
#[test]
fn a_gateway_uses_its_subset() {
    let upstreams: Vec<Upstream> = (0..12).map(|at| Upstream::ok(&format!("{at}"))).collect();
    let used = |instance: &str| {
        let endpoints = upstreams.iter().enumerate();
        let endpoints: Vec<_> = endpoints
            .map(|(at, upstream)| upstream.endpoint(&format!("e{at}")))
            .collect();
        let gateway = Gateway::with(endpoints, |config| {
            config.runtime.instance = Some(instance.to_owned());
            let method = SubsetMethod::Rendezvous;
            config.clusters[0].subset = Some(SubsetRules { size: 3, method });
        });
        let answers = (0..60).map(|_| ask(gateway.address(), crate::GET).text().to_owned());
        answers.collect::<std::collections::BTreeSet<_>>()
    };
    let first = used("gw-1");
    assert_eq!(first.len(), 3);
    assert_eq!(used("gw-1"), first);
    assert_ne!(used("gw-2"), first);
}

/// Traffic stays in the own zone while its endpoints suffice.
#[test]
fn traffic_stays_in_its_zone() {
    let upstreams: Vec<Upstream> = ["here", "there"].into_iter().map(Upstream::ok).collect();
    let endpoints: Vec<_> = (0..6)
        .map(|at| {
            let upstream = &upstreams[at / 3];
            let endpoint = upstream.endpoint(&format!("e{at}"));
            endpoint.with_zone(["z1", "z2"][at / 3])
        })
        .collect();
    let gateway = Gateway::with(endpoints, |config| {
        config.runtime.zone = Some("z1".to_owned());
    });
    for _ in 0..30 {
        assert_eq!(ask(gateway.address(), crate::GET).text(), "here");
    }
    let (control, cluster) = (gateway.control(), gateway.cluster());
    for id in ["e0", "e1", "e2"] {
        let drain = control.update(cluster, id, None, Some(Admin::Draining));
        gateway.wait(drain).expect("it is there");
    }
    assert_eq!(ask(gateway.address(), crate::GET).text(), "there");
}

/// Checks that find an endpoint soon.
fn often() -> HealthCheck {
    HealthCheck {
        probe: Probe::Tcp,
        policy: ActivePolicy {
            interval: Nanos::from_millis(100),
            fast_interval: Nanos::from_millis(50),
            ..ActivePolicy::default()
        },
    }
}

/// How many of 2,000 keys go to each endpoint.
fn choices(gateway: &Gateway) -> BTreeMap<String, i32> {
    let mut chosen = BTreeMap::new();
    for key in 0..2_000 {
        let (control, key) = (gateway.control(), format!("key-{key}"));
        let told = control.dry_run(gateway.cluster(), Some(&key));
        let id = told["chosen"].as_str().expect("somebody").to_owned();
        *chosen.entry(id).or_insert(0) += 1;
    }
    chosen
}

/// The picture of where keys live agrees with where requests go; an endpoint that is unwell keeps its keys, and
/// others take them.
#[test]
fn the_map_of_keys_is_where_requests_go() {
    let upstreams = upstreams();
    let refusing = Refusing::new();
    for strategy in STRATEGIES.iter().filter(|strategy| strategy.traits.keyed) {
        let endpoints = IDS.iter().zip(&upstreams);
        let mut endpoints: Vec<_> = endpoints
            .map(|(id, upstream)| upstream.endpoint(id).with_weight(2))
            .collect();
        endpoints[3] = refusing.endpoint("d").with_weight(1);
        let gateway = Gateway::with(endpoints, |config| {
            choose(config, strategy.name, KeyPolicy::default());
            config.clusters[0].health = Some(often());
        });
        let map = || gateway.cluster().key_map().expect("it chooses by key");
        let whole = map();
        let sum = |of: fn(&KeyShare) -> f64| whole.endpoints.iter().map(of).sum::<f64>();
        assert!((sum(|share| share.home) - 1.0).abs() < 1e-9);
        assert!((sum(|share| share.now) - 1.0).abs() < 1e-9);
        eventually("d is unwell", || map().endpoints[3].now == 0.0);
        let map = map();
        let chosen = choices(&gateway);
        for (at, share) in map.endpoints.iter().enumerate() {
            let came = f64::from(*chosen.get(&*share.id).unwrap_or(&0)) / 2_000.0;
            assert!(
                (came - share.now).abs() < 0.05,
                "{}: {came} of {map:?}",
                strategy.name
            );
            let by_weight = f64::from(share.weight) / 7.0;
            assert!(
                (share.home - by_weight).abs() < 0.12,
                "{}: {map:?}",
                strategy.name
            );
            assert_eq!(share.home, whole.endpoints[at].home, "homes stay");
        }
        assert_eq!(map.places.is_empty(), strategy.name == "rendezvous");
        assert_eq!(map.places.is_empty(), !strategy.traits.neighbours);
        for (home, taker) in &map.places {
            assert!(
                *taker != 3 && (*home == 3 || home == taker),
                "{home} {taker}"
            );
        }
    }
    let gateway = Gateway::single(&upstreams[0]);
    assert_eq!(gateway.cluster().key_map(), None);
}
