//! Endpoints in Consul: a server that follows its documentation.

use std::path::Path;
use std::time::Duration;

use evenkeel_config::{ClusterTls, ConsulService, Discovery, DiscoverySource, parse_registry_url};
use evenkeel_testkit::registry::{CONSUL_WAIT, Consul};
use evenkeel_testkit::{Authority, Gateway, Upstream, eventually};
use serde_json::json;

use crate::membership::under_load;
use crate::tls::{secured, tls};

/// The server, and a gateway that asks it.
fn scene(consul: &Consul, token_file: Option<&Path>, refresh: Duration) -> (Upstream, Gateway) {
    let server = consul.serve();
    let service = ConsulService {
        token_file: token_file.map(Into::into),
        ..service(&server.address().to_string(), ClusterTls::default())
    };
    let gateway = asking(service, refresh);
    (server, gateway)
}

fn service(url: &str, tls: ClusterTls) -> ConsulService {
    ConsulService {
        address: parse_registry_url(url).expect("a URL"),
        service: "web".into(),
        tag: Some("v2".into()),
        datacenter: Some("dc1".into()),
        token_file: None,
        tls,
    }
}

fn asking(service: ConsulService, refresh: Duration) -> Gateway {
    Gateway::with([], |config| {
        config.clusters[0].discovery = Some(Discovery {
            refresh,
            ..Discovery::of(DiscoverySource::Consul(service))
        });
    })
}

/// A server must prove who it is before it is asked anything.
#[test]
fn servers_prove_who_they_are() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let upstream = Upstream::ok("ok");
    let consul = Consul::default();
    consul.set(&[("a", "n1", &upstream)]);
    let plain = consul.serve();
    let identity = authority.issue("server", &["127.0.0.1"]);
    let server = secured([plain.endpoint("consul")], vec![tls(identity)], |_| {});
    let url = format!("https://{}", server.address());
    let by = |authority: &Authority| ClusterTls {
        ca: Some(authority.file().into()),
        ..ClusterTls::default()
    };
    let refused = asking(service(&url, by(&stranger)), LONG);
    assert!(error(&refused).contains("no TLS"), "{}", error(&refused));
    assert_eq!((ids(&refused).len(), plain.count()), (0, 0));
    let gateway = asking(service(&url, by(&authority)), LONG);
    assert_eq!(ids(&gateway), ["a"], "{}", error(&gateway));
    consul.set(&[("a", "n1", &upstream), ("b", "n1", &upstream)]);
    eventually("it is followed", || ids(&gateway) == ["a", "b"]);
}

fn ids(gateway: &Gateway) -> Vec<String> {
    let reports = gateway.cluster().endpoints();
    let ids = reports.iter().map(|report| report.endpoint.id().to_owned());
    ids.collect()
}

fn error(gateway: &Gateway) -> String {
    let report = gateway.cluster().discovery().expect("a source");
    report.error.unwrap_or_default()
}

const LONG: Duration = Duration::from_secs(600);

#[test]
fn instances_are_followed_while_requests_flow() {
    let upstreams: Vec<Upstream> = (0..2).map(|_| Upstream::ok("ok")).collect();
    let consul = Consul::default();
    consul.set(&[("a", "n1", &upstreams[0])]);
    let (_server, gateway) = scene(&consul, None, LONG);
    assert_eq!(ids(&gateway), ["a"], "{}", error(&gateway));
    assert_eq!(gateway.endpoint("a").endpoint.weight(), 3);
    under_load(&gateway, || {
        consul.set(&[("a", "n1", &upstreams[0]), ("web", "n2", &upstreams[1])]);
        eventually("another comes", || ids(&gateway) == ["a", "n2/web"]);
        let before = upstreams[1].count();
        eventually("it gets requests", || upstreams[1].count() > before);
        consul.set(&[("web", "n2", &upstreams[1])]);
        eventually("one goes", || ids(&gateway) == ["n2/web"]);
    });
    gateway.assert_idle();
}

/// An index that goes backwards is forgotten, and one of 0 does not become a query that never waits.
#[test]
fn an_index_that_goes_backwards_is_forgotten() {
    let upstream = Upstream::ok("ok");
    let consul = Consul::default();
    consul.change(|state| state.index = 5000);
    consul.set(&[("a", "n1", &upstream)]);
    let (server, gateway) = scene(&consul, None, LONG);
    assert_eq!(ids(&gateway), ["a"]);
    consul.change(|state| state.index = 0);
    consul.set(&[("a", "n1", &upstream), ("b", "n1", &upstream)]);
    eventually("it is followed", || ids(&gateway) == ["a", "b"]);
    consul.set(&[("c", "n1", &upstream), ("b", "n1", &upstream)]);
    eventually("and waited for", || ids(&gateway) == ["b", "c"]);
    let asked = server.count();
    std::thread::sleep(3 * CONSUL_WAIT);
    assert!(
        server.count() <= asked + 5,
        "it waits, and does not ask on and on"
    );
}

/// A server without a leader is not believed; wrong tokens are told and may be mended.
#[test]
fn servers_that_are_cut_off_are_not_believed() {
    let upstream = Upstream::ok("ok");
    let consul = Consul::default();
    consul.set(&[("a", "n1", &upstream), ("b", "n1", &upstream)]);
    let folder = std::env::temp_dir().join(format!("evenkeel-consul-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("token");
    std::fs::write(&file, "secret\n").expect("written");
    consul.change(|state| state.token = Some("secret"));
    let (_server, gateway) = scene(&consul, Some(&file), LONG);
    assert_eq!(ids(&gateway), ["a", "b"], "{}", error(&gateway));
    for (leader, words) in [
        (("false", "0"), "it knows no leader"),
        (("true", "60000"), "it has not heard of its leader for long"),
    ] {
        consul.change(|state| (state.leader, state.instances) = (Some(leader), Vec::new()));
        consul.change(|state| state.index += 1);
        eventually("it is told", || error(&gateway).ends_with(words));
        assert_eq!(ids(&gateway), ["a", "b"]);
        consul.change(|state| state.leader = None);
        consul.set(&[("a", "n1", &upstream), ("b", "n1", &upstream)]);
        eventually("it is back", || error(&gateway).is_empty());
    }
    std::fs::write(&file, "other").expect("written");
    eventually("it is told", || {
        error(&gateway) == "consul refuses: Permission denied"
    });
    std::fs::write(&file, "secret").expect("written");
    eventually("it is mended", || error(&gateway).is_empty());
    assert_eq!(ids(&gateway), ["a", "b"]);
    let _ = std::fs::remove_dir_all(folder);
}

/// What the index does not tell of is found by the read of the whole list, and counted.
#[test]
fn what_only_a_whole_read_finds_is_counted() {
    let upstream = Upstream::ok("ok");
    let consul = Consul::default();
    consul.set(&[("a", "n1", &upstream)]);
    let (_server, gateway) = scene(&consul, None, Duration::from_millis(700));
    let told = || {
        gateway
            .cluster()
            .discovery()
            .expect("a source")
            .disagreements
    };
    consul.set(&[("a", "n1", &upstream), ("b", "n1", &upstream)]);
    eventually("another comes", || ids(&gateway) == ["a", "b"]);
    let before = told();
    consul.change(|state| {
        let another = state.instances[0].clone();
        state.instances.push(another);
        state.instances[2]["Service"]["ID"] = json!("c");
    });
    eventually("it is found", || ids(&gateway) == ["a", "b", "c"]);
    eventually("and counted", || told() == before + 1);
}
