//! A lease: keys that live for as long as somebody says so.

use std::time::Duration;

use serde_json::json;

use super::client::Etcd;
use super::message::number;
use crate::listing::SourceError;

/// A lease of etcd. Keys that were set under it are gone when it is not kept alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Its number.
    pub id: i64,
    /// How long it lives after it was last kept alive.
    pub ttl: Duration,
}

impl Lease {
    /// Takes a lease of so long, in whole seconds from 1 on; etcd may make it longer.
    ///
    /// # Errors
    ///
    /// As [`Etcd::list`].
    pub async fn grant(etcd: &mut Etcd, ttl: Duration) -> Result<Self, SourceError> {
        let request = json!({ "TTL": ttl.as_secs().max(1).to_string() });
        let answer = etcd.call("/v3/lease/grant", &request).await?;
        let id = number(&answer, "ID");
        if id == 0 {
            let why = "etcd gave a lease without a number".to_owned();
            return Err(SourceError::Nonsense(why));
        }
        let seconds = number(&answer, "TTL").max(1).unsigned_abs();
        let ttl = Duration::from_secs(seconds);
        Ok(Self { id, ttl })
    }

    /// Keeps it alive for another while; false when it is gone already.
    ///
    /// # Errors
    ///
    /// As [`Etcd::list`].
    pub async fn keep_alive(self, etcd: &mut Etcd) -> Result<bool, SourceError> {
        let request = json!({ "ID": self.id.to_string() });
        let answer = etcd.call("/v3/lease/keepalive", &request).await?;
        Ok(number(&answer["result"], "TTL") > 0)
    }

    /// Ends it, and the keys under it.
    ///
    /// # Errors
    ///
    /// As [`Etcd::list`].
    pub async fn revoke(self, etcd: &mut Etcd) -> Result<(), SourceError> {
        let request = json!({ "ID": self.id.to_string() });
        etcd.call("/v3/lease/revoke", &request).await.map(|_| ())
    }
}
