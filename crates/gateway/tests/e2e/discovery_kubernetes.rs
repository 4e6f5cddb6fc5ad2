//! Endpoints in Kubernetes: an API server that follows its documentation, as far as EndpointSlices go.

use std::path::Path;
use std::time::Duration;

use evenkeel_config::{
    ClusterTls, Discovery, DiscoverySource, KubernetesService, parse_registry_url,
};
use evenkeel_testkit::registry::Kubernetes;
use evenkeel_testkit::{Authority, Gateway, Upstream, eventually};
use serde_json::json;

use crate::membership::under_load;
use crate::tls::{secured, tls};

fn ids(gateway: &Gateway) -> Vec<String> {
    let reports = gateway.cluster().endpoints();
    let ids = reports.iter().map(|report| report.endpoint.id().to_owned());
    ids.collect()
}

fn error(gateway: &Gateway) -> String {
    let report = gateway.cluster().discovery().expect("a source");
    report.error.unwrap_or_default()
}

/// A server whose token is in this file, and a gateway that asks it.
fn scene(server: &Kubernetes, token_file: &Path) -> (Upstream, Gateway) {
    server.change(|state| {
        if state.token.is_empty() {
            state.token = "t";
        }
    });
    let upstream = server.serve();
    let url = format!("http://{}", upstream.address());
    let service = KubernetesService {
        namespace: Some("shop".into()),
        token_file: Some(token_file.into()),
        ..of_pod(&url, Path::new("/no/such/folder"))
    };
    (upstream, asking(service))
}

/// Everything but the address is that of a pod with its files in this folder.
fn of_pod(url: &str, folder: &Path) -> KubernetesService {
    KubernetesService {
        address: Some(parse_registry_url(url).expect("a URL")),
        service: "web".into(),
        namespace: None,
        port: None,
        token_file: None,
        tls: ClusterTls::default(),
        pod_folder: folder.into(),
    }
}

fn asking(service: KubernetesService) -> Gateway {
    Gateway::with([], |config| {
        config.clusters[0].discovery = Some(Discovery {
            refresh: Duration::from_secs(600),
            ..Discovery::of(DiscoverySource::Kubernetes(service))
        });
    })
}

/// Over TLS, with the token, the authority and the namespace that a pod finds in its folder; a server that cannot prove
/// who it is gets no token.
#[test]
fn a_pod_finds_who_it_is_in_its_folder() {
    let authority = Authority::new();
    let server = Kubernetes::default();
    server.set("web-1", 80, &[("a", "127.0.0.1", true)]);
    server.change(|state| state.token = "of the pod");
    let plain = server.serve();
    let identity = authority.issue("server", &["127.0.0.1"]);
    let api = secured([plain.endpoint("api")], vec![tls(identity)], |_| {});
    let url = format!("https://{}", api.address());
    let folder = Folder::with_token("pod", "of the pod\n");
    let put = |name: &str, bytes: Vec<u8>| {
        std::fs::write(folder.0.join(name), bytes).expect("written");
    };
    put("namespace", b"shop\n".to_vec());
    let stranger = std::fs::read(Authority::new().file()).expect("a certificate");
    put("ca.crt", stranger);
    let refused = asking(of_pod(&url, &folder.0));
    assert!(error(&refused).contains("no TLS"), "{}", error(&refused));
    assert_eq!(plain.count(), 0);
    put(
        "ca.crt",
        std::fs::read(authority.file()).expect("a certificate"),
    );
    let gateway = asking(of_pod(&url, &folder.0));
    assert_eq!(ids(&gateway), ["a"], "{}", error(&gateway));
    server.set(
        "web-1",
        80,
        &[("a", "127.0.0.1", true), ("b", "127.0.0.2", true)],
    );
    eventually("it is watched", || ids(&gateway) == ["a", "b"]);
    // The files are read again after a failure.
    eventually("the other one has the right authority now", || {
        ids(&refused) == ["a", "b"]
    });
}

/// A folder with the file `token`.
struct Folder(std::path::PathBuf);

impl Folder {
    fn with_token(name: &str, token: &str) -> Self {
        let own = format!("evenkeel-kubernetes-{}-{name}", std::process::id());
        let folder = Self(std::env::temp_dir().join(own));
        std::fs::create_dir_all(&folder.0).expect("a folder");
        std::fs::write(folder.token(), token).expect("written");
        folder
    }

    fn token(&self) -> std::path::PathBuf {
        self.0.join("token")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits until a gateway has listed and watches; how many lists that took.
fn watched(server: &Kubernetes) -> usize {
    let watches = || server.change(|state| !state.watched.is_empty());
    eventually("it is watched", watches);
    server.change(|state| state.lists)
}

#[test]
fn slices_are_followed_while_requests_flow() {
    let upstream = Upstream::ok("ok");
    let port = upstream.address().port();
    let server = Kubernetes::default();
    server.set("web-1", port, &[("a", "127.0.0.1", true)]);
    server.set(
        "web-2",
        port,
        &[("b", "127.0.0.1", true), ("c", "127.0.0.1", false)],
    );
    let folder = Folder::with_token("follow", "t");
    let (_api, gateway) = scene(&server, &folder.token());
    assert_eq!(ids(&gateway), ["a", "b"], "{}", error(&gateway));
    let lists = watched(&server);
    under_load(&gateway, || {
        server.set(
            "web-2",
            port,
            &[("b", "127.0.0.1", true), ("c", "127.0.0.1", true)],
        );
        eventually("one is ready", || ids(&gateway) == ["a", "b", "c"]);
        server.set("web-1", port, &[]);
        eventually("a slice goes", || ids(&gateway) == ["b", "c"]);
        server.set("web-3", port, &[("d", "127.0.0.1", true)]);
        eventually("another comes", || ids(&gateway) == ["b", "c", "d"]);
    });
    let after = server.change(|state| state.lists);
    assert_eq!(after, lists, "all of it came by watches");
    gateway.assert_idle();
}

/// Bookmarks carry the watch over what happens elsewhere; a version that is too old is listed anew.
#[test]
fn versions_that_are_too_old_are_listed_anew() {
    let server = Kubernetes::default();
    server.set("web-1", 80, &[("a", "127.0.0.1", true)]);
    let folder = Folder::with_token("old", "t");
    let (_api, gateway) = scene(&server, &folder.token());
    assert_eq!(ids(&gateway), ["a"]);
    let lists = watched(&server);
    server.change(|state| state.version += 1000);
    eventually("a bookmark is heeded", || {
        server.change(|state| state.watched.iter().any(|from| *from > 1000))
    });
    assert_eq!(server.change(|state| state.lists), lists);
    server.change(|state| {
        // Behind the gateway's back: no event tells of it.
        let slice = state.slices.remove("web-1").expect("a slice");
        state.slices.insert("web-9".to_owned(), {
            let mut slice = slice;
            slice["metadata"]["name"] = json!("web-9");
            slice["endpoints"]
                .as_array_mut()
                .expect("pods")
                .push(json!({ "addresses": ["127.0.0.9"] }));
            slice
        });
    });
    server.forget();
    eventually("it is listed anew", || ids(&gateway) == ["127.0.0.9", "a"]);
    assert!(server.change(|state| state.lists) > lists);
}

/// The token is read for each call.
#[test]
fn tokens_are_replaced() {
    let server = Kubernetes::default();
    server.set("web-1", 80, &[("a", "127.0.0.1", true)]);
    server.change(|state| state.token = "first");
    let folder = Folder::with_token("token", "first\n");
    let (_api, gateway) = scene(&server, &folder.token());
    assert_eq!(ids(&gateway), ["a"], "{}", error(&gateway));
    server.change(|state| state.token = "second");
    eventually("it is told", || {
        error(&gateway) == "kubernetes refuses: Unauthorized"
    });
    assert_eq!(ids(&gateway), ["a"]);
    std::fs::write(folder.token(), "second\n").expect("written");
    eventually("the new one is used", || error(&gateway).is_empty());
    server.set(
        "web-1",
        80,
        &[("a", "127.0.0.1", true), ("b", "127.0.0.2", true)],
    );
    eventually("it is followed", || ids(&gateway) == ["a", "b"]);
}
