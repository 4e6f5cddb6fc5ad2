//! What a gateway knows of its fleet.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use evenkeel_core::unpoisoned;

use super::keys::Keys;

/// What a gateway knows of its fleet.
#[derive(Debug, Default)]
pub(crate) struct FleetState {
    /// Who belongs to it; none when there is no fleet, or nobody was heard of yet.
    members: Mutex<Option<BTreeSet<Arc<str>>>>,
    /// What etcd and this gateway agreed on last of what operators changed.
    agreed: Mutex<Keys>,
}

impl FleetState {
    /// Who belongs to the fleet, in the order of the names; none when there is none, or nobody was heard of yet.
    pub(crate) fn members(&self) -> Option<Vec<Arc<str>>> {
        let members = unpoisoned(self.members.lock());
        Some(members.as_ref()?.iter().cloned().collect())
    }

    pub(super) fn set_members(&self, members: BTreeSet<Arc<str>>) {
        let mut known = unpoisoned(self.members.lock());
        if known.as_ref() != Some(&members) {
            let all: Vec<&str> = members.iter().map(AsRef::as_ref).collect();
            tracing::info!("members of the fleet: {}", all.join(", "));
            *known = Some(members);
        }
    }

    pub(super) fn agreed(&self) -> MutexGuard<'_, Keys> {
        unpoisoned(self.agreed.lock())
    }

    pub(super) fn agree(&self, key: String, value: Option<String>) {
        let mut agreed = self.agreed();
        match value {
            Some(value) => agreed.insert(key, value),
            None => agreed.remove(&key),
        };
    }

    /// There is no fleet any more.
    pub(super) fn clear(&self) {
        *unpoisoned(self.members.lock()) = None;
        self.agreed().clear();
    }
}
