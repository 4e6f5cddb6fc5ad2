//! What etcd's JSON gateway takes and gives: bytes in base64, numbers of 64 bits as texts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// The key; what is no UTF-8 in it is replaced.
    pub key: String,
    /// The value.
    pub value: Vec<u8>,
    /// The revision that last changed it.
    pub revision: i64,
}

/// The keys with a prefix at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The revision of that moment.
    pub revision: i64,
    /// In the order of the keys.
    pub all: Vec<KeyValue>,
}

/// Bytes as they are sent.
pub(super) fn encoded(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

/// All keys with a prefix.
pub(super) fn range(prefix: &str) -> Value {
    json!({ "key": encoded(prefix), "range_end": encoded(end(prefix.as_bytes())) })
}

/// The first key after all those with a prefix; `[0]` means: to the end.
fn end(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    vec![0]
}

/// A number of 64 bits; 0 when it is not there, as 0 is left out.
pub(super) fn number(value: &Value, name: &str) -> i64 {
    match &value[name] {
        Value::String(text) => text.parse().unwrap_or(0),
        Value::Number(number) => number.as_i64().unwrap_or(0),
        _ => 0,
    }
}

fn bytes(value: &Value, name: &str) -> Option<Vec<u8>> {
    match &value[name] {
        Value::Null => Some(Vec::new()),
        Value::String(text) => STANDARD.decode(text).ok(),
        _ => None,
    }
}

/// A key with its value, as ranges and events have them.
pub(super) fn key_value(value: &Value) -> Option<KeyValue> {
    Some(KeyValue {
        key: String::from_utf8_lossy(&bytes(value, "key")?).into_owned(),
        value: bytes(value, "value")?,
        revision: number(value, "mod_revision"),
    })
}

/// The answer to a range. One without a revision is none: nothing could be watched from there on.
pub(super) fn keys(answer: &Value) -> Option<Keys> {
    let list = match &answer["kvs"] {
        Value::Array(list) => list.as_slice(),
        Value::Null => &[],
        _ => return None,
    };
    let revision = number(answer.get("header")?, "revision");
    let all = list.iter().map(key_value).collect::<Option<_>>()?;
    (1..i64::MAX)
        .contains(&revision)
        .then_some(Keys { revision, all })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_the_next_key() {
        assert_eq!(end(b"/a/"), b"/a0");
        assert_eq!(end(&[1, 255]), [2]);
        assert_eq!(end(&[255, 255]), [0]);
        assert_eq!(end(b""), [0]);
    }

    #[test]
    fn answers_are_read() {
        let answer = json!({
            "header": { "revision": "12" },
            "kvs": [{ "key": "L2Ev", "value": "eA==", "mod_revision": "7" }, { "key": "L2I=" }],
            "count": "2",
        });
        let keys = keys(&answer).expect("keys");
        assert_eq!(keys.revision, 12);
        assert_eq!(
            (&*keys.all[0].key, &*keys.all[0].value, keys.all[0].revision),
            ("/a/", &b"x"[..], 7)
        );
        assert_eq!((&*keys.all[1].key, keys.all[1].value.len()), ("/b", 0));
        assert!(super::keys(&json!({})).is_none());
        let broken = json!({ "header": { "revision": "12" }, "kvs": [{ "key": "*" }] });
        assert!(super::keys(&broken).is_none());
        for revision in ["0", "-1", "9223372036854775807", "18446744073709551616", ""] {
            let answer = json!({ "header": { "revision": revision } });
            assert!(super::keys(&answer).is_none(), "{revision}");
        }
    }
}
