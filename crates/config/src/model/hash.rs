//! Keys of requests.

use evenkeel_core::KeyPolicy;

use crate::value::key_source::KeySource;

/// What the strategies that choose by key take for one.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRules {
    /// Where the key comes from, the first one that is present; 1 to [`KeySource::MAX`].
    pub sources: Vec<KeySource>,
    /// What is done without one, and what an endpoint may have in flight.
    pub policy: KeyPolicy,
}

impl Default for KeyRules {
    /// The client's address; any endpoint without one; no bound.
    fn default() -> Self {
        Self {
            sources: vec![KeySource::SourceIp],
            policy: KeyPolicy::default(),
        }
    }
}
