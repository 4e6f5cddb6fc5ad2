//! Endpoints in Kubernetes: an API server that follows its documentation, as far as EndpointSlices go.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use evenkeel_config::{
    ClusterTls, Discovery, DiscoverySource, KubernetesService, parse_registry_url,
};
use evenkeel_core::unpoisoned;
use evenkeel_testkit::{Answer, Authority, Gateway, Received, Upstream, eventually};
use serde_json::{Value, json};

use crate::membership::under_load;
use crate::tls::{secured, tls};

/// How long the server lets a watch wait, whatever it asks for.
const WAIT: Duration = Duration::from_millis(300);

#[derive(Default)]
struct State {
    version: u64,
    slices: BTreeMap<String, Value>,
    /// What happened, with the version that it made.
    log: Vec<(u64, Value)>,
    /// Up to which version what happened was thrown away.
    oldest: u64,
    lists: usize,
    /// From which versions was watched.
    watched: Vec<u64>,
    token: &'static str,
}

#[derive(Clone, Default)]
struct Server(Arc<(Mutex<State>, Condvar)>);

impl Server {
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let (state, changed) = &*self.0;
        let mut state = unpoisoned(state.lock());
        let changed_to = change(&mut state);
        drop(state);
        changed.notify_all();
        changed_to
    }

    /// Sets a slice of pods, or removes it when there are none.
    fn set(&self, name: &str, port: u16, pods: &[(&str, &str, bool)]) {
        self.change(|state| {
            state.version += 1;
            let pod = |(name, address, is_ready): &(&str, &str, bool)| {
                json!({ "addresses": [address], "conditions": { "ready": is_ready }, "targetRef": { "kind": "Pod", "name": name } })
            };
            let slice = json!({
                "metadata": { "name": name, "resourceVersion": state.version.to_string() },
                "addressType": "IPv4",
                "ports": [{ "name": "http", "port": port, "protocol": "TCP" }],
                "endpoints": pods.iter().map(pod).collect::<Vec<_>>(),
            });
            let known = state.slices.contains_key(name);
            let kind = match (pods.is_empty(), known) {
                (true, _) => "DELETED",
                (false, true) => "MODIFIED",
                (false, false) => "ADDED",
            };
            match pods.is_empty() {
                true => state.slices.remove(name),
                false => state.slices.insert(name.to_owned(), slice.clone()),
            };
            state.log.push((state.version, json!({ "type": kind, "object": slice })));
        });
    }

    /// Something elsewhere moves the version, and what happened before is thrown away.
    fn forget(&self) {
        self.change(|state| {
            state.version += 100;
            state.oldest = state.version;
            state.log.clear();
        });
    }

    fn answer(&self, request: &Received) -> Answer {
        let (path, query) = request.target().split_once('?').expect("a query");
        assert_eq!(
            path,
            "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"
        );
        let parts: BTreeMap<&str, &str> = query
            .split('&')
            .filter_map(|one| one.split_once('='))
            .collect();
        assert_eq!(parts["labelSelector"], "kubernetes.io%2Fservice-name%3Dweb");
        let (state, changed) = &*self.0;
        let mut state = unpoisoned(state.lock());
        let bearer = format!("Bearer {}", state.token);
        if request.field("authorization") != Some(&bearer) {
            return Answer::status(
                401,
                r#"{"kind":"Status","message":"Unauthorized","code":401}"#,
            );
        }
        if !parts.contains_key("watch") {
            return list(&mut state, &parts);
        }
        assert_eq!(parts["allowWatchBookmarks"], "true");
        let from: u64 = parts["resourceVersion"].parse().expect("a version");
        state.watched.push(from);
        if from < state.oldest {
            let gone = r#"{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old resource version"}}"#;
            return Answer::chunks([format!("{gone}\n").as_bytes()]);
        }
        let nothing =
            |state: &mut State| state.log.last().is_none_or(|(version, _)| *version <= from);
        (state, _) = unpoisoned(changed.wait_timeout_while(state, WAIT, nothing));
        if from < state.oldest {
            // What it waited for was thrown away meanwhile: the watch ends.
            return Answer::chunks([]);
        }
        let news = state.log.iter().filter(|(version, _)| *version > from);
        let mut lines: Vec<String> = news.map(|(_, event)| format!("{event}\n")).collect();
        let version = state.version.to_string();
        let bookmark =
            json!({ "type": "BOOKMARK", "object": { "metadata": { "resourceVersion": version } } });
        lines.push(format!("{bookmark}\n"));
        Answer::chunks(lines.iter().map(String::as_bytes))
    }
}

/// A list in pages of one slice each.
fn list(state: &mut State, parts: &BTreeMap<&str, &str>) -> Answer {
    state.lists += 1;
    assert_eq!(parts["limit"], "500");
    let at: usize = parts
        .get("continue")
        .map_or(0, |at| at.parse().expect("a place"));
    let page: Vec<&Value> = state.slices.values().skip(at).take(1).collect();
    let rest = if at + 1 < state.slices.len() {
        (at + 1).to_string()
    } else {
        String::new()
    };
    let version = state.version.to_string();
    let body = json!({
        "kind": "EndpointSliceList",
        "metadata": { "resourceVersion": version, "continue": rest },
        "items": page,
    });
    Answer::ok(body.to_string())
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

/// A server whose token is in this file, and a gateway that asks it.
fn scene(server: &Server, token_file: &Path) -> (Upstream, Gateway) {
    server.change(|state| {
        if state.token.is_empty() {
            state.token = "t";
        }
    });
    let own = server.clone();
    let upstream = Upstream::answering(move |request| own.answer(request));
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
    let server = Server::default();
    server.set("web-1", 80, &[("a", "127.0.0.1", true)]);
    server.change(|state| state.token = "of the pod");
    let own = server.clone();
    let plain = Upstream::answering(move |request| own.answer(request));
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
fn watched(server: &Server) -> usize {
    let watches = || server.change(|state| !state.watched.is_empty());
    eventually("it is watched", watches);
    server.change(|state| state.lists)
}

#[test]
fn slices_are_followed_while_requests_flow() {
    let upstream = Upstream::ok("ok");
    let port = upstream.address().port();
    let server = Server::default();
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
    let server = Server::default();
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
    let server = Server::default();
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
