//! Gateways that share what operators change, on a real etcd.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use evenkeel_config::{
    ClusterTls, EtcdPlace, Fleet, StrategyChoice, SubsetRules, parse_registry_url,
};
use evenkeel_core::health::Health;
use evenkeel_core::{Admin, Endpoint, SubsetMethod};
use evenkeel_gateway::{Event, EventKind, OperatorChanges};
use evenkeel_testkit::{Answer, Etcd, Gateway, Upstream, config, eventually};

use crate::ask;
use crate::health::quick;
use crate::membership::under_load;

const IDS: [&str; 3] = ["a", "b", "c"];

fn configured(url: &str, instance: &str) -> evenkeel_config::Config {
    let mut config = config(IDS.map(|id| Endpoint::new(id, "127.0.0.1:1")));
    config.runtime.instance = Some(instance.to_owned());
    config.fleet = Some(Fleet {
        etcd: EtcdPlace {
            endpoints: vec![parse_registry_url(url).expect("a URL")],
            user: None,
            tls: ClusterTls::default(),
        },
        prefix: Fleet::PREFIX.into(),
        shares_admin: true,
        shares_health: true,
    });
    config
}

fn member(etcd: &Etcd, instance: &str) -> Gateway {
    Gateway::start(&configured(etcd.url(), instance))
}

fn admin(gateway: &Gateway, id: &str) -> Admin {
    gateway.endpoint(id).admin
}

fn weight(gateway: &Gateway, id: &str) -> u16 {
    gateway.endpoint(id).endpoint.weight()
}

fn has(gateway: &Gateway, id: &str) -> bool {
    gateway.cluster().endpoint(id).is_some()
}

fn strategy(gateway: &Gateway) -> &'static str {
    gateway.cluster().strategy().descriptor().name
}

/// What was told of the fleet: the causes, and what was seen.
fn told(gateway: &Gateway) -> Vec<(&'static str, String)> {
    let (events, _) = gateway.control().events().subscribe_with_recent();
    let of_fleet = |event: &Event| {
        event.event == EventKind::Fleet
            || (event.event == EventKind::Operator && event.cause == "fleet")
    };
    let told = events.iter().filter(|event| of_fleet(event));
    told.map(|event| (event.cause, event.evidence.clone()))
        .collect()
}

/// Whatever an operator does at one is done at the other, and taken back at either.
#[test]
fn what_operators_change_at_one_is_changed_at_all() {
    let Some(etcd) = Etcd::start() else { return };
    let (one, other) = (member(&etcd, "one"), member(&etcd, "other"));
    one.update("a", Some(7), Some(Admin::Draining));
    eventually("it is drained there too", || {
        admin(&other, "a") == Admin::Draining
    });
    assert_eq!(weight(&other, "a"), 7);
    let by_one = "by one: admin draining, weight 7".to_owned();
    eventually("it is told who it was", || {
        told(&other).contains(&("fleet", by_one.clone()))
    });
    other.update("a", None, Some(Admin::Enabled));
    eventually("it is back at both", || admin(&one, "a") == Admin::Enabled);
    assert_eq!((weight(&one, "a"), weight(&other, "a")), (7, 7));
    other.add(Endpoint::new("d/1", "127.0.0.1:2").with_zone("z"));
    one.remove("b");
    eventually("one is added", || has(&one, "d/1"));
    eventually("one is removed", || !has(&other, "b"));
    let maglev = StrategyChoice::new("maglev", &[]).expect("known").build();
    one.wait(one.control().set_strategy(one.cluster(), maglev));
    eventually("the strategy is another one", || {
        strategy(&other) == "maglev"
    });
    // A third one takes it all over before it serves.
    let third = member(&etcd, "third");
    assert_eq!((strategy(&third), weight(&third, "a")), ("maglev", 7));
    assert!(has(&third, "d/1") && !has(&third, "b"));
    let members = || third.control().fleet_members().unwrap_or_default();
    eventually("they know each other", || {
        members().iter().map(AsRef::as_ref).collect::<Vec<&str>>() == ["one", "other", "third"]
    });
    // What is forgotten at one is forgotten at all.
    let plain = configured(etcd.url(), "one");
    let reloaded = one.wait(one.control().reload(&plain, OperatorChanges::Forget));
    reloaded.expect("a reload");
    for gateway in [&one, &other, &third] {
        eventually("it is as configured", || {
            gateway.cluster().overrides().is_empty() && has(gateway, "b") && !has(gateway, "d/1")
        });
        assert_eq!(strategy(gateway), "least_request");
    }
}

/// As gateways did that knew of no signatures, or `etcdctl` does: what is there counts, and nobody is named.
#[test]
fn what_nobody_signed_counts_as_well() {
    let Some(etcd) = Etcd::start() else { return };
    let key = |below: &str| format!("{}{below}/web/endpoints/", Fleet::PREFIX);
    etcd.put(&format!("{}a", key("admin")), "{\"weight\":7}");
    let one = member(&etcd, "one");
    assert_eq!(weight(&one, "a"), 7);
    etcd.put(&format!("{}b", key("admin")), "{\"weight\":3}");
    // One whose name begins like that of another key, and one that is no name.
    etcd.put(&format!("{}cc", key("by")), "somebody");
    etcd.put(&format!("{}a", key("by")), "\n");
    etcd.put(&format!("{}c", key("admin")), "{\"weight\":4}");
    etcd.put(&format!("{}a", key("admin")), "{\"weight\":8}");
    eventually("all counts", || {
        ["a", "b", "c"].map(|id| weight(&one, id)) == [8, 3, 4]
    });
    for said in [7, 3, 4, 8].map(|weight| format!("by another gateway: weight {weight}")) {
        eventually(&said, || told(&one).contains(&("fleet", said.clone())));
    }
}

/// While etcd is away it is told what is not shared, once for each part; afterwards that all is well, and each is a
/// member again, without a wait of each part for itself.
#[test]
fn what_becomes_of_a_fleet_is_told() {
    let Some(mut etcd) = Etcd::start() else {
        return;
    };
    let count = |gateway: &Gateway, cause: &str| {
        let told = told(gateway);
        told.iter().filter(|(known, _)| *known == cause).count()
    };
    let one = member(&etcd, "one");
    let members = |gateway: &Gateway| gateway.control().fleet_members().unwrap_or_default().len();
    eventually("it is a member", || members(&one) == 1);
    let other = member(&etcd, "other");
    eventually("they know each other", || {
        members(&one) == 2 && members(&other) == 2
    });
    assert!(told(&one).contains(&("joined", "other is a member of the fleet".to_owned())));
    assert_eq!(one.control().fleet_is_heard(), Some(true));
    etcd.kill();
    for gateway in [&one, &other] {
        eventually("it is told", || count(gateway, "unreachable") == 3);
        assert_eq!(gateway.control().fleet_is_heard(), Some(false));
    }
    etcd.restart_empty();
    let written = || {
        etcd.ctl(&[
            "get",
            "--prefix",
            "--keys-only",
            &format!("{}members/", Fleet::PREFIX),
        ])
    };
    eventually("they are members again", || {
        written().split_whitespace().count() == 2
    });
    for gateway in [&one, &other] {
        eventually("all is heard again", || {
            gateway.control().fleet_is_heard() == Some(true)
        });
        eventually("that is told", || count(gateway, "back") == 3);
        assert_eq!(count(gateway, "unreachable"), 3, "{:?}", told(gateway));
        // Nobody was none in between, as far as the others go.
        assert_eq!((members(gateway), count(gateway, "left")), (2, 0));
    }
}

/// Each goes on with what it knows while etcd is away, and they agree when it is back.
#[test]
fn an_etcd_that_is_away_keeps_nobody_from_anything() {
    let Some(mut etcd) = Etcd::start() else {
        return;
    };
    let (one, other) = (member(&etcd, "one"), member(&etcd, "other"));
    one.update("a", Some(7), None);
    eventually("they share", || weight(&other, "a") == 7);
    etcd.kill();
    one.update("b", None, Some(Admin::Draining));
    other.update("c", Some(9), None);
    assert_eq!(
        (admin(&one, "b"), weight(&other, "c")),
        (Admin::Draining, 9)
    );
    // One that starts now serves as configured, and does not wait for long.
    let late = member(&etcd, "late");
    assert_eq!(weight(&late, "a"), 1);
    etcd.restart();
    for gateway in [&one, &other, &late] {
        eventually("all is known to all", || {
            weight(gateway, "a") == 7
                && admin(gateway, "b") == Admin::Draining
                && weight(gateway, "c") == 9
        });
    }
    // One that lost everything is told again by whoever knows.
    etcd.restart_empty();
    let key = format!("{}admin/web/endpoints/a", Fleet::PREFIX);
    eventually("it is written again", || {
        etcd.ctl(&["get", &key]).contains("{\"weight\":7}")
    });
    eventually("what is new is shared", || {
        // Whoever writes again what it knows may be a moment later.
        if weight(&one, "c") != 5 {
            one.update("c", Some(5), None);
        }
        [&one, &other, &late]
            .iter()
            .all(|gateway| weight(gateway, "c") == 5)
    });
    for gateway in [&one, &other, &late] {
        assert_eq!(
            (weight(gateway, "a"), admin(gateway, "b")),
            (7, Admin::Draining)
        );
    }
}

/// What one gateway cannot reach is out for it alone; what two of three cannot is out for the third too, until one of
/// them can again.
#[test]
fn an_endpoint_is_out_for_all_when_a_quorum_holds_it_out() {
    let Some(etcd) = Etcd::start() else { return };
    // The way of each gateway to the endpoint, which fails when it is told to.
    let ways = [const { AtomicBool::new(true) }; 3].map(Arc::new);
    let upstreams = ways.each_ref().map(|way| {
        let way = Arc::clone(way);
        Upstream::answering(move |_| Answer::status(if way.load(Relaxed) { 200 } else { 500 }, ""))
    });
    let spare = Upstream::ok("spare");
    let gateways = [0, 1, 2].map(|at| {
        let mut configured = configured(etcd.url(), &format!("gw-{at}"));
        let cluster = &mut configured.clusters[0];
        cluster.endpoints = vec![upstreams[at].endpoint("a"), spare.endpoint("b")];
        cluster.health = Some(quick());
        cluster.outlier = None;
        Gateway::start(&configured)
    });
    let health = |at: usize| gateways[at].endpoint("a").health;
    let reason = |at: usize| gateways[at].endpoint("a").reason;
    let votes = || {
        let key = format!("{}health/", Fleet::PREFIX);
        etcd.ctl(&["get", "--prefix", "--print-value-only", &key])
    };
    eventually("each has a vote", || {
        votes().matches("{\"web\":[]}").count() == 3
    });
    ways[0].store(false, Relaxed);
    eventually("its own check fails", || health(0) == Health::Unhealthy);
    eventually("it says so", || votes().contains("{\"web\":[\"a\"]}"));
    // Four of seven hold the other one out and are gone again: whoever has seen both has heard what was said before.
    let strangers = ["w", "x", "y", "z"].map(|name| format!("{}health/{name}", Fleet::PREFIX));
    let seen = |wanted: Health| {
        eventually("the strangers count", || {
            [1, 2].map(|at| gateways[at].endpoint("b").health) == [wanted; 2]
        });
    };
    strangers
        .iter()
        .for_each(|key| etcd.put(key, "{\"web\":[\"b\"]}"));
    seen(Health::Unhealthy);
    strangers.iter().for_each(|key| etcd.delete(key));
    seen(Health::Healthy);
    assert_eq!((health(1), health(2)), (Health::Healthy, Health::Healthy));
    ways[1].store(false, Relaxed);
    eventually("two of three are a quorum", || {
        health(2) == Health::Unhealthy
    });
    assert_eq!(reason(2), "2 of 3 gateways hold it out");
    ways[1].store(true, Relaxed);
    // Whoever follows a quorum does not vote by that: it would be one for ever.
    eventually("one is none", || {
        health(2) == Health::Healthy && health(1) == Health::Healthy
    });
    assert_eq!(health(0), Health::Unhealthy);
}

/// Gateways that know each other share the endpoints among them.
#[test]
fn subsets_go_by_the_members_of_the_fleet() {
    let Some(etcd) = Etcd::start() else { return };
    let upstreams: Vec<Upstream> = (0..12).map(|at| Upstream::ok(&format!("{at}"))).collect();
    let start = |instance: &str| {
        let mut configured = configured(etcd.url(), instance);
        let endpoints = upstreams.iter().enumerate();
        let endpoints = endpoints.map(|(at, upstream)| upstream.endpoint(&format!("e{at}")));
        let cluster = &mut configured.clusters[0];
        cluster.endpoints = endpoints.collect();
        let method = SubsetMethod::DeterministicAperture;
        cluster.subset = Some(SubsetRules { size: 4, method });
        cluster.strategy = StrategyChoice::new("round_robin", &[]).expect("known");
        Gateway::start(&configured)
    };
    let gateways = ["one", "two", "three"].map(start);
    let used = |gateway: &Gateway| -> BTreeSet<String> {
        let answers = (0..16).map(|_| ask(gateway.address(), crate::GET).text().to_owned());
        answers.collect()
    };
    // Three arcs of four endpoints each, side by side.
    eventually("each endpoint is used by one gateway", || {
        let all = gateways.each_ref().map(used);
        let together: BTreeSet<&String> = all.iter().flatten().collect();
        all.iter().all(|used| used.len() == 4) && together.len() == 12
    });
}

/// What makes no sense in etcd is skipped, and what operators write there by hand counts.
#[test]
fn keys_that_others_write_count_as_far_as_they_make_sense() {
    let Some(etcd) = Etcd::start() else { return };
    let key = |rest: &str| format!("{}admin/web/{rest}", Fleet::PREFIX);
    etcd.put(&key("endpoints/a"), "{\"weight\": 70000}");
    etcd.put(&key("endpoints/b"), "{ \"weight\": 3 }");
    etcd.put(&key("strategy"), "{\"name\":\"nobody\"}");
    etcd.put(
        &format!("{}admin/elsewhere/endpoints/x", Fleet::PREFIX),
        "{\"weight\":2}",
    );
    let gateway = member(&etcd, "one");
    assert_eq!((weight(&gateway, "a"), weight(&gateway, "b")), (1, 3));
    etcd.delete(&key("endpoints/b"));
    eventually("it was taken back", || weight(&gateway, "b") == 1);
    etcd.put(&key("endpoints/a"), "{\"admin\":\"disabled\"}");
    eventually("it was mended", || admin(&gateway, "a") == Admin::Disabled);
    gateway.update("c", Some(4), None);
    eventually("it is written", || {
        etcd.ctl(&["get", &key("endpoints/c")])
            .contains("{\"weight\":4}")
    });
    // What is not understood here may be by others: it stays.
    std::thread::sleep(Duration::from_millis(100));
    let all = etcd.ctl(&["get", "--prefix", "--keys-only", Fleet::PREFIX]);
    assert!(
        all.contains("admin/web/strategy") && all.contains("admin/elsewhere/endpoints/x"),
        "{all}"
    );
}

/// Keys of all sorts beside a gateway's own, that come and go while requests flow: nobody is ever left without
/// endpoints, and only what a gateway writes is a member.
#[test]
fn members_that_come_and_go_leave_nobody_without_endpoints() {
    let Some(etcd) = Etcd::start() else { return };
    let upstreams: Vec<Upstream> = (0..7).map(|at| Upstream::ok(&format!("{at}"))).collect();
    let key = |name: &str| format!("{}members/{name}", Fleet::PREFIX);
    let names = ["a", "gw-50", "%25%2f", "\u{fc} \u{1f6a2}", "..", "zz"];
    for method in [
        SubsetMethod::Rocksteadier,
        SubsetMethod::DeterministicAperture,
    ] {
        let mut configured = configured(etcd.url(), "gw-5");
        let endpoints = upstreams.iter().enumerate();
        let endpoints = endpoints.map(|(at, upstream)| upstream.endpoint(&format!("e{at}/ %")));
        let cluster = &mut configured.clusters[0];
        cluster.endpoints = endpoints.collect();
        cluster.subset = Some(SubsetRules { size: 2, method });
        let gateway = Gateway::start(&configured);
        let members = || gateway.control().fleet_members().unwrap_or_default().len();
        eventually("it is a member", || members() == 1);
        etcd.put(&key(""), "{\"version\":\"1\"}");
        etcd.put(&key("ghost"), "I was here");
        under_load(&gateway, || {
            for (count, name) in names.iter().enumerate() {
                etcd.put(&key(name), "{\"version\":\"1\"}");
                eventually("another one is a member", || members() == count + 2);
            }
            // More than there are endpoints, and then fewer again.
            etcd.put(&key("zz"), "nonsense");
            for (gone, name) in names.iter().enumerate().take(names.len() - 1) {
                eventually("one is no member any more", || {
                    members() == names.len() - gone
                });
                etcd.delete(&key(name));
            }
            eventually("it is alone", || members() == 1);
        });
        gateway.assert_blameless();
    }
}

/// Two that have one name have one place: it is told, and the one that is left stays a member.
#[test]
fn a_name_that_two_gateways_have_is_told() {
    let Some(etcd) = Etcd::start() else { return };
    let one = member(&etcd, "twin");
    let members = || one.control().fleet_members().unwrap_or_default().len();
    eventually("it is a member", || members() == 1);
    let other = member(&etcd, "twin");
    eventually("it is told", || {
        told(&one).iter().any(|(cause, _)| *cause == "name_taken")
    });
    assert!(told(&other).iter().all(|(cause, _)| *cause != "name_taken"));
    drop(other);
    eventually("the key goes with the other's lease", || {
        told(&one).iter().any(|(cause, _)| *cause == "left")
    });
    eventually("and comes again", || members() == 1);
}
