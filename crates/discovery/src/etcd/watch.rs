//! What changes of keys, as a stream of lines of JSON.

use hyper::body::Incoming;
use serde_json::Value;

use super::message::{self, KeyValue, key_value};
use crate::http::Lines;
use crate::listing::SourceError;

/// A watch over keys.
#[derive(Debug)]
pub struct Watch {
    lines: Lines,
}

/// What became of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was set.
    Put(KeyValue),
    /// It is gone; its value is empty.
    Delete(KeyValue),
}

impl Change {
    /// The key that it is about.
    #[must_use]
    pub fn of(&self) -> &KeyValue {
        let (Self::Put(one) | Self::Delete(one)) = self;
        one
    }
}

/// What happened at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// Up to which revision everything is known by now; 0 when nothing happened. That of the answer's head
    /// would be too high: at the beginning of a watch it is ahead of what is sent.
    pub revision: i64,
    /// In their order.
    pub all: Vec<Change>,
    /// What the watch began at was thrown away: keys have to be listed anew.
    pub is_compacted: bool,
}

impl Watch {
    pub(super) fn new(body: Incoming) -> Self {
        Self {
            lines: Lines::new(body),
        }
    }

    /// Waits for what happens next.
    ///
    /// # Errors
    ///
    /// When the watch ends or cannot be understood; then it is to be begun again from the revision that is
    /// known.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it loses nothing.
    pub async fn next(&mut self) -> Result<Changes, SourceError> {
        match self.lines.next().await {
            Ok(Some(line)) => read(&line),
            Ok(None) => Err(SourceError::Unreachable("etcd ended its watch".to_owned())),
            Err(error) => Err(SourceError::Unreachable(format!("etcd's watch: {error}"))),
        }
    }
}

fn read(line: &[u8]) -> Result<Changes, SourceError> {
    let nonsense = || SourceError::Nonsense("etcd's watch makes no sense".to_owned());
    let value: Value = serde_json::from_slice(line).map_err(|_| nonsense())?;
    if let Some(error) = value.get("error") {
        let why = error["message"].as_str().unwrap_or("it failed");
        return Err(SourceError::Unreachable(format!("etcd's watch: {why}")));
    }
    let result = value.get("result").ok_or_else(nonsense)?;
    let compacted = message::number(result, "compact_revision");
    let is_canceled = result["canceled"] == Value::Bool(true);
    if is_canceled && compacted == 0 {
        let why = result["cancel_reason"]
            .as_str()
            .unwrap_or("no reason given");
        return Err(SourceError::Refused(format!(
            "etcd refuses the watch: {why}"
        )));
    }
    let events = result["events"].as_array().map_or(&[][..], Vec::as_slice);
    let change = |event: &Value| {
        let of = key_value(event.get("kv")?)?;
        Some(match event["type"].as_str() {
            Some("DELETE") => Change::Delete(of),
            _ => Change::Put(of),
        })
    };
    let all: Option<Vec<Change>> = events.iter().map(change).collect();
    let all = all.ok_or_else(nonsense)?;
    let revision = |change: &Change| change.of().revision;
    Ok(Changes {
        revision: all.iter().map(revision).max().unwrap_or(0),
        all,
        is_compacted: is_canceled,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let line = br#"{"result":{"header":{"revision":"9"},"events":[
            {"kv":{"key":"YQ==","value":"eA==","mod_revision":"8"}},
            {"type":"DELETE","kv":{"key":"YQ==","mod_revision":"9"}}]}}"#;
        let changes = read(line).expect("changes");
        assert_eq!((changes.revision, changes.is_compacted), (9, false));
        let [Change::Put(put), Change::Delete(gone)] = &changes.all[..] else {
            panic!("{changes:?}");
        };
        assert_eq!((&*put.key, &*put.value, put.revision), ("a", &b"x"[..], 8));
        assert_eq!((&*gone.key, gone.revision), ("a", 9));
        let compacted =
            br#"{"result":{"header":{"revision":"9"},"canceled":true,"compact_revision":"7"}}"#;
        assert!(read(compacted).expect("changes").is_compacted);
        let refused = br#"{"result":{"canceled":true,"cancel_reason":"permission denied"}}"#;
        assert_eq!(
            read(refused).map_err(|error| error.as_str()),
            Err("credentials")
        );
        for nonsense in ["", "{}", "[]", r#"{"result":{"events":[{}]}}"#] {
            assert!(read(nonsense.as_bytes()).is_err(), "{nonsense}");
        }
    }
}
