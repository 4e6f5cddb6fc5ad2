//! An API server of Kubernetes, as its documentation has it, as far as EndpointSlices go.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use evenkeel_core::unpoisoned;
use serde_json::{Value, json};

use crate::upstream::{Answer, Received, Upstream};

/// How long the server lets a watch wait, whatever it asks for.
const WAIT: Duration = Duration::from_millis(300);

/// What a server knows.
#[derive(Debug, Default)]
pub struct KubernetesState {
    /// The version of the newest change.
    pub version: u64,
    /// By their names.
    pub slices: BTreeMap<String, Value>,
    /// What happened, with the version that it made.
    log: Vec<(u64, Value)>,
    /// Up to which version what happened was thrown away.
    oldest: u64,
    /// How often it was asked for a page of its list.
    pub lists: usize,
    /// From which versions was watched.
    pub watched: Vec<u64>,
    /// What whoever asks must show.
    pub token: &'static str,
}

/// An API server with the EndpointSlices of the Service `web` in the namespace `shop`.
#[derive(Clone, Debug, Default)]
pub struct Kubernetes(Arc<(Mutex<KubernetesState>, Condvar)>);

impl Kubernetes {
    /// Begins to answer.
    #[must_use]
    pub fn serve(&self) -> Upstream {
        let own = self.clone();
        Upstream::answering(move |request| own.answer(request))
    }

    /// Changes what it knows, or asks it, and wakes the watches.
    pub fn change<T>(&self, change: impl FnOnce(&mut KubernetesState) -> T) -> T {
        let (state, changed) = &*self.0;
        let mut state = unpoisoned(state.lock());
        let changed_to = change(&mut state);
        drop(state);
        changed.notify_all();
        changed_to
    }

    /// Sets a slice of pods, or removes it when there are none.
    pub fn set(&self, name: &str, port: u16, pods: &[(&str, &str, bool)]) {
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
    pub fn forget(&self) {
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
        let nothing = |state: &mut KubernetesState| {
            state.log.last().is_none_or(|(version, _)| *version <= from)
        };
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
fn list(state: &mut KubernetesState, parts: &BTreeMap<&str, &str>) -> Answer {
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
