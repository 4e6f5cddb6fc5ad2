//! What a gateway knows of its fleet.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use evenkeel_core::unpoisoned;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::contact::Part;

use super::keys::Keys;

/// What a gateway knows of its fleet.
#[derive(Debug, Default)]
pub(crate) struct FleetState {
    /// Who belongs to it; none when there is no fleet, or nobody was heard of yet.
    members: Mutex<Option<BTreeSet<Arc<str>>>>,
    /// What etcd and this gateway agreed on last of what operators changed.
    agreed: Mutex<Keys>,
    /// What is not heard of at the moment.
    lost: Mutex<BTreeSet<Part>>,
    /// How often contact was made again, and what rings then.
    contacts: AtomicU64,
    contact: Notify,
}

impl FleetState {
    /// Who belongs to the fleet, in the order of the names; none when there is none, or nobody was heard of yet.
    pub(crate) fn members(&self) -> Option<Vec<Arc<str>>> {
        let members = unpoisoned(self.members.lock());
        Some(members.as_ref()?.iter().cloned().collect())
    }

    /// Takes in who belongs to the fleet, and says who was known to belong to it before, if anybody was.
    pub(super) fn set_members(&self, members: BTreeSet<Arc<str>>) -> Option<BTreeSet<Arc<str>>> {
        let mut known = unpoisoned(self.members.lock());
        if known.as_ref() != Some(&members) {
            let all: Vec<&str> = members.iter().map(AsRef::as_ref).collect();
            tracing::info!("members of the fleet: {}", all.join(", "));
        }
        known.replace(members)
    }

    /// Whether all is heard that gateways share.
    pub(crate) fn is_in_contact(&self) -> bool {
        unpoisoned(self.lost.lock()).is_empty()
    }

    pub(super) fn contact_lost(&self, part: Part) {
        unpoisoned(self.lost.lock()).insert(part);
    }

    /// Has the other parts that wait ask at once, when this one was lost.
    pub(super) fn contact_made(&self, part: Part) {
        if unpoisoned(self.lost.lock()).remove(&part) {
            self.contacts.fetch_add(1, Ordering::Relaxed);
            self.contact.notify_waiters();
        }
    }

    pub(super) fn contacts(&self) -> u64 {
        self.contacts.load(Ordering::Relaxed)
    }

    /// Waits for so long, or until contact was made again more often than `known`; says how often it was.
    pub(super) async fn until_contact(&self, known: u64, wait: Duration) -> u64 {
        let made = self.contact.notified();
        if self.contacts() == known {
            let _ = timeout(wait, made).await;
        }
        self.contacts()
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

    /// It is another fleet, or none, of which nobody was heard of yet.
    pub(super) fn forget_members(&self) {
        *unpoisoned(self.members.lock()) = None;
        unpoisoned(self.lost.lock()).clear();
    }

    /// There is no fleet any more.
    pub(super) fn clear(&self) {
        self.forget_members();
        self.agreed().clear();
    }
}
