//! Who changed a key last, for the events of the others.
//!
//! Below the prefix of the fleet, `by/KEY` holds the name of the gateway that writes `admin/KEY`. It lies beside the
//! value, since gateways of before would refuse a value with a name in it, and is gone after a minute. What comes of
//! it is a word in an event: whatever goes wrong with it is no trouble.

use std::collections::BTreeMap;
use std::time::Duration;

use evenkeel_config::Fleet;
use evenkeel_discovery::etcd::{Etcd, Lease};
use tokio::time::Instant;

/// How long it is known who changed a key, at most; at least half of that.
const KNOWN: Duration = Duration::from_secs(60);

/// The longest name that is shown.
const NAME_MAX: usize = 100;

/// Who changed keys.
pub(super) struct Signatures {
    prefix: String,
    /// The lease of those that are written from here, and until when others may be put under it.
    lease: Option<(Lease, Instant)>,
}

impl Signatures {
    pub(super) fn new(fleet: &Fleet) -> Self {
        Self {
            prefix: format!("{}by/", fleet.prefix),
            lease: None,
        }
    }

    /// Signs a key that is about to be written.
    pub(super) async fn sign(&mut self, etcd: &mut Etcd, key: &str, instance: &str) {
        let now = Instant::now();
        let lease = match self.lease.take().filter(|(_, until)| now < *until) {
            Some(known) => known,
            None => match Lease::grant(etcd, KNOWN).await {
                Ok(lease) => (lease, now + KNOWN / 2),
                Err(_) => return,
            },
        };
        let key = format!("{}{key}", self.prefix);
        if etcd.put(&key, instance, Some(lease.0.id)).await.is_ok() {
            self.lease = Some(lease);
        }
    }

    /// Who changed a key a moment ago.
    pub(super) async fn of(&self, etcd: &mut Etcd, key: &str) -> Option<String> {
        let found = etcd.get(&format!("{}{key}", self.prefix)).await.ok()??;
        name(&found)
    }

    /// Who changed which key lately.
    pub(super) async fn all(&self, etcd: &mut Etcd) -> BTreeMap<String, String> {
        let listed = etcd.list(&self.prefix).await;
        let listed = listed.map(|keys| keys.all).unwrap_or_default();
        let named = listed.into_iter().filter_map(|one| {
            let key = one.key.strip_prefix(&self.prefix)?;
            Some((key.to_owned(), name(&one.value)?))
        });
        named.collect()
    }
}

/// A name as it is shown: it comes from elsewhere.
fn name(value: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(value);
    let shown = text.chars().filter(|letter| !letter.is_control());
    let name: String = shown.take(NAME_MAX).collect();
    (!name.trim().is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_as_text() {
        assert_eq!(name(b"gw-1").as_deref(), Some("gw-1"));
        assert_eq!(name(b"gw\n\x1b[1m1").as_deref(), Some("gw[1m1"));
        assert_eq!(name(&[b'a'; 500]).map(|name| name.len()), Some(NAME_MAX));
        for nobody in [&b""[..], b"  ", b"\n"] {
            assert_eq!(name(nobody), None);
        }
    }
}
