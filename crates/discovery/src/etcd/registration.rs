//! A key that is there for as long as somebody stands behind it.

use std::time::Duration;

use super::client::Etcd;
use super::lease::Lease;
use super::message::number;
use crate::listing::SourceError;

/// A key under a lease. It is put back when it has gone, with an etcd that lost it or by another hand.
#[derive(Debug)]
pub struct Registration {
    etcd: Etcd,
    key: String,
    value: String,
    ttl: Duration,
    lease: Option<Lease>,
    /// The value is in etcd, as far as is known.
    is_written: bool,
    /// Somebody else has written the key since.
    is_taken: bool,
}

impl Registration {
    /// Nothing is sent yet. Without [`Registration::keep`] the key is gone after `ttl`, in whole seconds from 1 on.
    #[must_use]
    pub fn new(etcd: Etcd, key: String, value: String, ttl: Duration) -> Self {
        Self {
            etcd,
            key,
            value,
            ttl,
            lease: None,
            is_written: false,
            is_taken: false,
        }
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Sets another value, for [`Registration::keep`] to write.
    pub fn set_value(&mut self, value: String) {
        if self.value != value {
            (self.value, self.is_written) = (value, false);
        }
    }

    /// Whether somebody else had written the key, who stands behind it too, when it was looked at last.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.is_taken
    }

    /// Sees to it that the key is there, and says when to call again.
    ///
    /// # Errors
    ///
    /// As [`Etcd::list`]. Then the key goes when its lease ends, unless this is called again before.
    pub async fn keep(&mut self) -> Result<Duration, SourceError> {
        let kept = match self.lease {
            Some(lease) => lease.keep_alive(&mut self.etcd).await?,
            None => false,
        };
        let lease = match self.lease.filter(|_| kept) {
            Some(lease) => lease,
            None => Lease::grant(&mut self.etcd, self.ttl).await?,
        };
        self.lease = Some(lease);
        if kept && self.is_written {
            let behind = self.etcd.lease_of(&self.key).await?;
            self.is_written = behind.is_some();
            self.is_taken = behind.is_some_and(|other| other != lease.id);
        }
        if !kept || !self.is_written {
            self.is_written = false;
            let put = self.etcd.put(&self.key, &self.value, Some(lease.id));
            put.await?;
            self.is_written = true;
        }
        // Two of three calls may fail.
        Ok(lease.ttl / 3)
    }

    /// Removes the key; one that somebody else has put there since stays.
    ///
    /// # Errors
    ///
    /// As [`Etcd::list`]. Then the key goes when its lease ends.
    pub async fn leave(&mut self) -> Result<(), SourceError> {
        match self.lease.take() {
            Some(lease) => lease.revoke(&mut self.etcd).await,
            None => Ok(()),
        }
    }
}

impl Etcd {
    /// The lease of a key, 0 where it has none; none when there is no such key.
    async fn lease_of(&mut self, key: &str) -> Result<Option<i64>, SourceError> {
        let request = serde_json::json!({ "key": super::message::encoded(key), "keys_only": true });
        let answer = self.call("/v3/kv/range", &request).await?;
        Ok(answer["kvs"].get(0).map(|one| number(one, "lease")))
    }
}
