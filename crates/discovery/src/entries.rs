//! Entries as they are written in files and registries: addresses, or tables with the keys of an endpoint.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_config::endpoint_from_json;
use evenkeel_core::Endpoint;
use serde_json::{Value, json};

use crate::listing::{Fault, Listing};

/// Gathers a list: the first one of an id counts.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// In the order of their ids. Most sources name theirs so, and then no search is needed for each.
    sorted: Vec<Endpoint>,
    /// Those that came after one with a greater id.
    others: BTreeMap<Arc<str>, Endpoint>,
    faults: Vec<Fault>,
}

impl Entries {
    /// Takes in what is written under a key.
    pub(crate) fn take(&mut self, key: String, value: &Value) {
        match read(value) {
            Ok(endpoint) => self.add(&key, endpoint),
            Err(why) => self.skip(Fault::new(key, why).about(identity(value))),
        }
    }

    /// Takes in an endpoint that was found under a key.
    pub(crate) fn add(&mut self, key: &str, endpoint: Endpoint) {
        if self.has(endpoint.id()) {
            let why = format!("the id {:?} is listed twice", endpoint.id());
            self.skip(Fault::new(key, why));
        } else if self.is_beyond(endpoint.id()) {
            self.sorted.push(endpoint);
        } else {
            self.others.insert(endpoint.shared_id(), endpoint);
        }
    }

    fn has(&self, id: &str) -> bool {
        let is_there = || self.sorted.binary_search_by_key(&id, Endpoint::id).is_ok();
        !self.is_beyond(id) && (self.others.contains_key(id) || is_there())
    }

    /// Whether it is greater than every id so far.
    fn is_beyond(&self, id: &str) -> bool {
        self.sorted.last().is_none_or(|last| last.id() < id)
    }

    pub(crate) fn skip(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    pub(crate) fn finish(self) -> Listing {
        let mut endpoints = self.sorted;
        endpoints.extend(self.others.into_values());
        // Two runs at most, which the sort finds.
        endpoints.sort_by(|one, other| one.id().cmp(other.id()));
        Listing {
            endpoints,
            faults: self.faults,
        }
    }
}

/// An address, or a table with the keys of an endpoint.
fn read(value: &Value) -> Result<Endpoint, String> {
    let endpoint = match value {
        Value::String(address) => endpoint_from_json(&json!({ "address": address })),
        other => endpoint_from_json(other),
    };
    endpoint.map_err(|mistake| mistake.to_string())
}

/// Which endpoint it would be, if it made sense: its id is its address where it has none.
fn identity(value: &Value) -> Option<&str> {
    let own = value.get("id").or_else(|| value.get("address"));
    own.unwrap_or(value).as_str()
}

/// The endpoints of a document `{"endpoints": [...]}`.
pub(crate) fn document(document: &Value) -> Result<Listing, String> {
    let Some(fields) = document.as_object() else {
        return Err("it is no table with `endpoints = [...]`".to_owned());
    };
    let Some(list) = fields.get("endpoints") else {
        return Err("it has no `endpoints = [...]`".to_owned());
    };
    let Some(list) = list.as_array() else {
        return Err("its `endpoints` is not a list".to_owned());
    };
    let mut entries = Entries::default();
    for (index, value) in list.iter().enumerate() {
        entries.take(format!("endpoints[{index}]"), value);
    }
    for unknown in fields.keys().filter(|key| *key != "endpoints") {
        entries.skip(Fault::new(unknown, "only `endpoints` is known here"));
    }
    Ok(entries.finish())
}

#[cfg(test)]
mod tests {
    use evenkeel_config::endpoint_to_json;

    use super::*;

    #[test]
    fn what_makes_no_sense_is_skipped_by_its_key_and_the_rest_counts() {
        let listing = document(&json!({
            "endpoints": [
                "127.0.0.1:2",
                { "id": "a", "address": "127.0.0.1:1", "weight": 3, "zone": "z", "labels": { "v": "2" } },
                { "id": "b" },
                "127.0.0.1",
                { "id": "a", "address": "127.0.0.1:9" },
                7,
            ],
            "endpoint": [],
        }));
        let listing = listing.expect("a list");
        let ids: Vec<&str> = listing.endpoints.iter().map(Endpoint::id).collect();
        assert_eq!(ids, ["127.0.0.1:2", "a"]);
        assert_eq!(listing.endpoints[1].weight(), 3);
        assert_eq!(listing.endpoints[1].zone(), Some("z"));
        let faults: Vec<String> = listing.faults.iter().map(Fault::to_string).collect();
        for (fault, begin) in faults.iter().zip([
            "endpoints[2]: the endpoint has no address",
            "endpoints[3]: address of the endpoint: the address \"127.0.0.1\" has no port",
            "endpoints[4]: the id \"a\" is listed twice",
            "endpoints[5]: the endpoint is not an object",
            "endpoint: only `endpoints` is known here",
        ]) {
            assert!(fault.starts_with(begin), "{fault}");
        }
        assert_eq!(faults.len(), 5, "{faults:?}");
        let about = listing.faults.iter().flat_map(|fault| &fault.ids);
        let about: Vec<&str> = about.map(AsRef::as_ref).collect();
        assert_eq!(about, ["b", "127.0.0.1"]);
    }

    /// In whatever order they come.
    #[test]
    fn a_list_is_in_the_order_of_ids_and_has_each_once() {
        let mut entries = Entries::default();
        for (at, id) in ["c", "a", "d", "b", "a", "d", "e", "c"].iter().enumerate() {
            entries.add(
                &at.to_string(),
                Endpoint::new(*id, format!("127.0.0.1:{at}")),
            );
        }
        let listing = entries.finish();
        let all = listing.endpoints.iter();
        let all: Vec<String> = all
            .map(|one| format!("{} {}", one.id(), one.address()))
            .collect();
        let first = [
            "a 127.0.0.1:1",
            "b 127.0.0.1:3",
            "c 127.0.0.1:0",
            "d 127.0.0.1:2",
            "e 127.0.0.1:6",
        ];
        assert_eq!(all, first);
        let twice: Vec<&str> = listing.faults.iter().map(|fault| &*fault.key).collect();
        assert_eq!(twice, ["4", "5", "7"]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let endpoint = Endpoint::new("a", "web.internal:80")
            .with_weight(7)
            .with_tier(2)
            .with_zone("z1")
            .with_capacity(9)
            .with_agent("127.0.0.1:9102")
            .with_label("v", "2");
        assert_eq!(read(&endpoint_to_json(&endpoint)), Ok(endpoint));
    }

    #[test]
    fn what_is_no_list_is_refused_as_a_whole() {
        for wrong in [json!([]), json!({}), json!({ "endpoints": {} }), json!("")] {
            assert!(document(&wrong).is_err(), "{wrong}");
        }
    }
}
