//! Consul, as its documentation has it.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use evenkeel_core::unpoisoned;
use serde_json::{Value, json};

use crate::upstream::{Answer, Received, Upstream};

/// How long the server lets a query wait, whatever it asks for.
pub const CONSUL_WAIT: Duration = Duration::from_millis(500);

/// What a server knows.
#[derive(Debug, Default)]
pub struct ConsulState {
    /// The index of its answers.
    pub index: u64,
    /// Its answer.
    pub instances: Vec<Value>,
    /// What whoever asks must show.
    pub token: Option<&'static str>,
    /// What it says of its leader beside: whether it knows one, and for how many milliseconds it has not heard of it.
    pub leader: Option<(&'static str, &'static str)>,
}

/// A server of `/v1/health/service/web` with blocking queries, which wants the tag `v2` and the datacenter `dc1`.
#[derive(Clone, Debug, Default)]
pub struct Consul(Arc<(Mutex<ConsulState>, Condvar)>);

impl Consul {
    /// Changes what it knows, and ends the queries that wait.
    pub fn change(&self, change: impl FnOnce(&mut ConsulState)) {
        let (state, changed) = &*self.0;
        let mut state = unpoisoned(state.lock());
        change(&mut state);
        drop(state);
        changed.notify_all();
    }

    /// Registers instances: id, node, upstream; and its index moves.
    pub fn set(&self, instances: &[(&str, &str, &Upstream)]) {
        let instance = |(id, node, upstream): &(&str, &str, &Upstream)| {
            json!({
                "Node": { "Node": node, "Address": "127.0.0.1" },
                "Service": {
                    "ID": id, "Service": "web", "Address": "", "Port": upstream.address().port(),
                    "Weights": { "Passing": 3, "Warning": 1 },
                },
            })
        };
        self.change(|state| {
            state.instances = instances.iter().map(instance).collect();
            state.index += 10;
        });
    }

    /// Begins to answer.
    #[must_use]
    pub fn serve(&self) -> Upstream {
        let own = self.clone();
        Upstream::answering(move |request| own.answer(request))
    }

    fn answer(&self, request: &Received) -> Answer {
        let (path, query) = request.target().split_once('?').expect("a query");
        assert_eq!(path, "/v1/health/service/web");
        let has = |part: &str| query.split('&').any(|one| one == part);
        assert!(has("passing") && has("tag=v2") && has("dc=dc1"), "{query}");
        let asked = query.split('&').find_map(|one| one.strip_prefix("index="));
        let asked: Option<u64> = asked.map(|index| index.parse().expect("a number"));
        let (state, changed) = &*self.0;
        let mut state = unpoisoned(state.lock());
        if state.token.is_some() && request.field("x-consul-token") != state.token {
            return Answer::status(403, "Permission denied");
        }
        if let Some(asked) = asked {
            assert!(asked > 0 && has("stale") && has("wait=60s"), "{query}");
            let same = |state: &mut ConsulState| state.index == asked;
            (state, _) = unpoisoned(changed.wait_timeout_while(state, CONSUL_WAIT, same));
        }
        let body = json!(state.instances).to_string();
        let (leader, contact) = state.leader.unwrap_or(("true", "0"));
        Answer::raw(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-consul-index: {}\r\nx-consul-knownleader: {leader}\r\n\
             x-consul-lastcontact: {contact}\r\ncontent-length: {}\r\n\r\n{body}",
            state.index,
            body.len()
        ))
    }
}
