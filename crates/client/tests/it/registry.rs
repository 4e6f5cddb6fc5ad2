//! Endpoints from registries: a real etcd as far as it is installed, the others as their documentation has them.

use std::time::Duration;

use bytes::Bytes;
use evenkeel_client::discovery::Follow;
use evenkeel_client::http::HttpConnect;
use evenkeel_client::sources::{
    ConsulService, DiscoverySource, DnsNames, DnsRecord, KubernetesService, Source, consul, dns,
    etcd, kubernetes, parse_registry_url,
};
use evenkeel_client::{Cluster, Http, Settings};
use evenkeel_testkit::registry::{
    Consul, Dns, DnsAnswer, Kubernetes, SRV, dns_addresses, dns_service,
};
use evenkeel_testkit::{Etcd, Upstream};
use http_body_util::Full;
use tower::ServiceExt;

const PREFIX: &str = "/services/users/";

fn put(etcd: &Etcd, id: &str, upstream: &Upstream) {
    let value = format!("{{\"address\":\"{}\"}}", upstream.address());
    etcd.put(&format!("{PREFIX}{id}"), &value);
}

/// Keys come and go while calls are made; the whole list is read only every ten minutes, so what is seen came by the
/// watch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_of_a_real_etcd_are_followed_while_calls_are_made() {
    let Some(registry) = Etcd::start() else {
        return;
    };
    let upstreams = [Upstream::ok("ok"), Upstream::ok("ok")];
    put(&registry, "a", &upstreams[0]);
    let keys = etcd(&[registry.url()], "/services/users").expect("a URL");
    let cluster = following(keys);
    let add = || put(&registry, "b", &upstreams[1]);
    let remove = || registry.delete(&format!("{PREFIX}a"));
    moves(&cluster, &upstreams, add, remove).await;
    assert_eq!(ids(&cluster), ["b"]);
}

/// Follows a source by its news: the whole list is read only every ten minutes.
fn following(source: impl Into<DiscoverySource>) -> Calls {
    let source = Source::new(&source.into()).expect("in this build");
    let cluster = Cluster::new(Settings::new("web"), [], HttpConnect::http1()).expect("unique");
    let how = Follow {
        refresh: Duration::from_secs(600),
        max_drop: 1.0,
        ..Follow::default()
    };
    tokio::spawn(cluster.follow_source(source, how));
    cluster
}

fn ids(cluster: &Calls) -> Vec<String> {
    let endpoints = cluster.stats().endpoints;
    let ids = endpoints.iter().map(|it| it.endpoint.id().to_owned());
    ids.collect()
}

/// Calls reach the first upstream, then both, then the other one alone; and none fails.
async fn moves(
    cluster: &Calls,
    upstreams: &[Upstream; 2],
    add: impl FnOnce(),
    remove: impl FnOnce(),
) {
    called_until(cluster, "the first comes", false, || {
        upstreams[0].count() > 0
    })
    .await;
    assert_eq!(upstreams[1].count(), 0);
    add();
    called_until(cluster, "another comes", true, || upstreams[1].count() > 0).await;
    remove();
    called_until(cluster, "one goes", true, || ids(cluster).len() == 1).await;
    let before = upstreams[0].count();
    for _ in 0..10 {
        assert_eq!(call(cluster).await, Some(200));
    }
    assert_eq!(upstreams[0].count(), before, "it is not asked any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_in_consul_are_followed_while_calls_are_made() {
    let upstreams = [Upstream::ok("ok"), Upstream::ok("ok")];
    let registry = Consul::default();
    registry.set(&[("a", "n1", &upstreams[0])]);
    let server = registry.serve();
    let service = ConsulService {
        tag: Some("v2".into()),
        datacenter: Some("dc1".into()),
        ..consul(&format!("http://{}", server.address()), "web").expect("a URL")
    };
    let cluster = following(service);
    let add = || registry.set(&[("a", "n1", &upstreams[0]), ("b", "n2", &upstreams[1])]);
    let remove = || registry.set(&[("b", "n2", &upstreams[1])]);
    moves(&cluster, &upstreams, add, remove).await;
    assert_eq!(ids(&cluster), ["b"]);
    assert_eq!(cluster.stats().endpoints[0].endpoint.weight(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slices_in_kubernetes_are_followed_while_calls_are_made() {
    let upstreams = [Upstream::ok("ok"), Upstream::ok("ok")];
    let port = |at: usize| upstreams[at].address().port();
    let registry = Kubernetes::default();
    registry.change(|state| state.token = "secret");
    registry.set("web-1", port(0), &[("a", "127.0.0.1", true)]);
    let server = registry.serve();
    let token = std::env::temp_dir().join(format!("evenkeel-client-token-{}", std::process::id()));
    std::fs::write(&token, "secret\n").expect("a file");
    let url = format!("http://{}", server.address());
    let cluster = following(KubernetesService {
        address: Some(parse_registry_url(&url).expect("a URL")),
        namespace: Some("shop".into()),
        token_file: Some(token.as_path().into()),
        ..kubernetes("web")
    });
    // One that is not ready is none yet.
    let add = || {
        let pods = [("b", "127.0.0.1", true), ("c", "127.0.0.1", false)];
        registry.set("web-2", port(1), &pods);
    };
    let remove = || registry.set("web-1", port(0), &[]);
    moves(&cluster, &upstreams, add, remove).await;
    assert_eq!(ids(&cluster), ["b"]);
    std::fs::remove_file(&token).expect("it is there");
}

/// As long as answers live, and not until the next whole read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_in_dns_are_followed_while_calls_are_made() {
    let upstreams = [Upstream::ok("ok"), Upstream::ok("ok")];
    let ports = [0, 1].map(|at: usize| upstreams[at].address().port());
    let says = |ports: Vec<u16>| {
        move |kind| match kind {
            SRV => {
                let one = |port: &u16| dns_service(10, 1, *port, "host.test");
                DnsAnswer::Records(ports.iter().map(one).collect())
            }
            _ => dns_addresses(1, &[1]),
        }
    };
    let server = Dns::start(says(vec![ports[0]]));
    let names = DnsNames {
        resolver: Some(server.address()),
        ..dns("web.test", DnsRecord::Srv)
    };
    let cluster = following(names);
    let add = || server.say(says(ports.to_vec()));
    let remove = || server.say(says(vec![ports[1]]));
    moves(&cluster, &upstreams, add, remove).await;
    assert_eq!(ids(&cluster), [format!("127.0.0.1:{}", ports[1])]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_followed_while_calls_are_made() {
    let upstreams = [Upstream::ok("ok"), Upstream::ok("ok")];
    let path =
        std::env::temp_dir().join(format!("evenkeel-client-calls-{}.toml", std::process::id()));
    let write = |list: &[&Upstream]| {
        let list: Vec<String> = list
            .iter()
            .map(|one| format!("\"{}\"", one.address()))
            .collect();
        // In one step, as a reader may come at any time.
        let next = path.with_extension("next");
        std::fs::write(&next, format!("endpoints = [{}]\n", list.join(", "))).expect("a file");
        std::fs::rename(&next, &path).expect("the same folder");
    };
    write(&[&upstreams[0]]);
    let cluster = following(DiscoverySource::File(path.clone()));
    let add = || write(&[&upstreams[0], &upstreams[1]]);
    let remove = || write(&[&upstreams[1]]);
    moves(&cluster, &upstreams, add, remove).await;
    std::fs::remove_file(&path).expect("it is there");
}

type Calls = Cluster<HttpConnect<Full<Bytes>>>;

async fn call(cluster: &Calls) -> Option<u16> {
    let request = http::Request::get("/").body(Full::default());
    let answer = cluster.balance(Http::new()).oneshot(request.ok()?).await;
    Some(answer.ok()?.status().as_u16())
}

async fn called_until(cluster: &Calls, what: &str, all_good: bool, holds: impl Fn() -> bool) {
    for _ in 0..4000 {
        let status = call(cluster).await;
        assert!(!all_good || status == Some(200), "{what}: {status:?}");
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never holds: {what}");
}
