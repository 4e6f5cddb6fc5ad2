//! Endpoints as keys of etcd: a list at one revision, and a watch from there on.

use std::collections::BTreeMap;
use std::time::Duration;

use evenkeel_config::{EtcdKeys, endpoint_from_json};
use evenkeel_core::{Ascending, Endpoint};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::client::Etcd;
use super::feed::{Feed, News};
use super::message::KeyValue;
use super::watch::Change;
use crate::entries::Entries;
use crate::listing::{Fault, Listing, SourceError};

/// For how long changes are gathered that come one upon the other: a list is made of them once.
const GATHER: Duration = Duration::from_millis(10);
const GATHER_MAX: Duration = Duration::from_millis(250);

/// Keys of etcd.
#[derive(Debug)]
pub(crate) struct EtcdSource {
    feed: Feed,
    /// What each key says.
    entries: BTreeMap<String, Result<Endpoint, String>>,
    /// They are others than those of the last list.
    is_dirty: bool,
}

impl EtcdSource {
    pub(crate) fn new(keys: &EtcdKeys) -> Self {
        Self {
            feed: Feed::new(Etcd::new(&keys.place), keys.prefix.to_string()),
            entries: BTreeMap::new(),
            is_dirty: false,
        }
    }

    /// Lists the keys.
    pub(crate) async fn read(&mut self) -> Result<Listing, SourceError> {
        let (keys, _) = self.feed.list().await?;
        let mut before = Ascending::new(std::mem::take(&mut self.entries));
        let read = |one: KeyValue| {
            let said = read(self.feed.prefix(), &one);
            // Who compares lists finds at once that it is the same.
            let same = before.take(&one.key).filter(|before| *before == said);
            (one.key, same.unwrap_or(said))
        };
        self.entries = keys.into_iter().map(read).collect();
        Ok(self.listing())
    }

    /// Waits until a key changes. Dropped, it loses nothing: what came is in the entries.
    pub(crate) async fn change(&mut self) -> Result<Listing, SourceError> {
        if !self.is_dirty {
            match self.feed.next().await? {
                News::Changes(all) => self.take(all),
                News::Forgotten => return self.read().await,
            }
        }
        let until = Instant::now() + GATHER_MAX;
        loop {
            let wait = (Instant::now() + GATHER).min(until);
            match timeout_at(wait, self.feed.next()).await {
                Ok(Ok(News::Changes(all))) => self.take(all),
                Ok(Ok(News::Forgotten)) => return self.read().await,
                // What went wrong does so again when it is asked next.
                Ok(Err(_)) | Err(_) => return Ok(self.listing()),
            }
        }
    }

    fn take(&mut self, changes: Vec<Change>) {
        self.is_dirty = true;
        for change in changes {
            match change {
                Change::Put(one) => {
                    let said = read(self.feed.prefix(), &one);
                    self.entries.insert(one.key, said);
                }
                Change::Delete(one) => {
                    self.entries.remove(&one.key);
                }
            }
        }
    }

    fn listing(&mut self) -> Listing {
        self.is_dirty = false;
        let mut entries = Entries::default();
        for (key, said) in &self.entries {
            match said {
                Ok(endpoint) => entries.add(key, endpoint.clone()),
                Err(why) => {
                    let fault = Fault::new(&**key, &**why);
                    entries.skip(fault.about([id(self.feed.prefix(), key)]));
                }
            }
        }
        entries.finish()
    }
}

/// The last part of a key.
fn id<'k>(prefix: &str, key: &'k str) -> &'k str {
    let below = key.strip_prefix(prefix).unwrap_or(key);
    below.rsplit('/').next().unwrap_or(below)
}

/// The endpoint that a key stands for: its last part is the id, its value says the rest.
fn read(prefix: &str, one: &KeyValue) -> Result<Endpoint, String> {
    let id = id(prefix, &one.key);
    if id.is_empty() {
        return Err("the last part of the key is empty, where the id should stand".to_owned());
    }
    let mut value: Value = serde_json::from_slice(&one.value)
        .map_err(|error| format!("its value is no JSON: {error}"))?;
    let Some(fields) = value.as_object_mut() else {
        return Err("its value is no object like {\"address\": \"127.0.0.1:9001\"}".to_owned());
    };
    if fields.get("id").is_some_and(|own| own != id) {
        return Err(format!(
            "its value names another id than the key, which is {id:?}"
        ));
    }
    fields.insert("id".to_owned(), id.into());
    endpoint_from_json(&value).map_err(|mistake| mistake.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(key: &str, value: &str) -> Result<Endpoint, String> {
        let (key, value, revision) = (key.to_owned(), value.as_bytes().to_vec(), 1);
        read(
            "/web/",
            &KeyValue {
                key,
                value,
                revision,
            },
        )
    }

    #[test]
    fn the_last_part_of_a_key_is_the_id() {
        let endpoint = said(
            "/web/rack1/a",
            r#"{"address":"127.0.0.1:1","weight":3,"zone":"z"}"#,
        );
        let endpoint = endpoint.expect("an endpoint");
        assert_eq!(
            (endpoint.id(), endpoint.weight(), endpoint.zone()),
            ("a", 3, Some("z"))
        );
        assert!(said("/web/a", r#"{"address":"127.0.0.1:1","id":"a"}"#).is_ok());
    }

    #[test]
    fn what_makes_no_sense_says_why() {
        for (key, value, begin) in [
            (
                "/web/",
                r#"{"address":"127.0.0.1:1"}"#,
                "the last part of the key is empty",
            ),
            ("/web/a", "127.0.0.1:1", "its value is no JSON"),
            ("/web/a", "\"127.0.0.1:1\"", "its value is no object"),
            ("/web/a", "{}", "the endpoint has no address"),
            ("/web/a", r#"{"address":"x"}"#, "address of the endpoint"),
            (
                "/web/a",
                r#"{"address":"a:1","id":"b"}"#,
                "its value names another id",
            ),
            ("/web/a", r#"{"address":"a:1","wieght":1}"#, "unknown key"),
        ] {
            let why = said(key, value).expect_err(value);
            assert!(why.starts_with(begin), "{why}");
        }
    }
}
