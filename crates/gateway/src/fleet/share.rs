//! Keeps what operators changed here and what they changed elsewhere the same.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use evenkeel_config::Fleet;
use evenkeel_discovery::etcd::{Change as KeyChange, Etcd, Feed, News};
use evenkeel_discovery::{Backoff, SourceError};
use tokio::time::sleep;

use super::Trouble;
use super::keys::{self, Change, Keys};
use crate::cluster::Cluster;
use crate::event::{Event, EventKind};
use crate::lifecycle::{Plan, Shared};

/// What a key said before, and says now.
type Amended = (Option<String>, Option<String>);

/// One gateway's side.
pub(super) struct Share {
    shared: Arc<Shared>,
    feed: Feed,
    /// The plan by which it was last decided which keys are of clusters that are here.
    plan: Arc<Plan>,
    /// The revisions of what was written from here: what comes back of a key up to there is older.
    own: BTreeMap<String, i64>,
}

impl Share {
    pub(super) fn new(shared: Arc<Shared>, fleet: &Fleet) -> Self {
        let prefix = format!("{}admin/", fleet.prefix);
        Self {
            feed: Feed::new(Etcd::new(&fleet.etcd), prefix),
            plan: shared.plan.load(),
            shared,
            own: BTreeMap::new(),
        }
    }

    /// Shares for ever.
    pub(super) async fn follow(mut self) {
        let mut backoff = Backoff::new(self.shared.seed.rotate_left(17));
        let mut trouble = Trouble::default();
        loop {
            let Err(error) = self.stay(&mut backoff, &mut trouble).await;
            let what =
                "what operators change is not shared for the moment, and stays in force here";
            let now = self.shared.clock.now();
            trouble.tell(what, error, now);
            backoff.lost(now);
            sleep(backoff.wait()).await;
        }
    }

    /// Shares until etcd is lost.
    async fn stay(
        &mut self,
        backoff: &mut Backoff,
        trouble: &mut Trouble,
    ) -> Result<Infallible, SourceError> {
        self.meet().await?;
        loop {
            backoff.answered(self.shared.clock.now());
            trouble.is_over("what operators change is shared again");
            let shared = Arc::clone(&self.shared);
            let news = tokio::select! {
                news = self.feed.next() => news?,
                () = shared.site.operated().notified() => {
                    // Clusters that came with a reload may have keys that meant nothing before.
                    match Arc::ptr_eq(&self.plan, &self.shared.plan.load()) {
                        true => self.write().await?,
                        false => self.meet().await?,
                    }
                    continue;
                }
            };
            match news {
                News::Forgotten => self.meet().await?,
                News::Changes(all) => all.iter().for_each(|change| self.heard(change)),
            }
        }
    }

    /// Lists what the others have changed, takes it over, and writes what was changed here meanwhile.
    pub(super) async fn meet(&mut self) -> Result<(), SourceError> {
        let (listed, went_back) = self.feed.list().await?;
        if went_back {
            // What it no longer knows was lost, and not taken back: it is told again.
            self.shared.fleet.agreed().clear();
        }
        self.plan = self.shared.plan.load();
        let below = self.feed.prefix().len();
        let there: Keys = listed
            .into_iter()
            .map(|one| {
                let value = String::from_utf8_lossy(&one.value).into_owned();
                (one.key.get(below..).unwrap_or_default().to_owned(), value)
            })
            .collect();
        let pending = self.pending();
        let agreed = self.shared.fleet.agreed().clone();
        for key in agreed.keys().filter(|key| !there.contains_key(*key)) {
            if !pending.contains_key(key) {
                self.take(key, None);
            }
        }
        for (key, value) in &there {
            if !pending.contains_key(key) {
                self.take(key, Some(value));
            }
        }
        self.own.clear();
        self.write().await
    }

    /// What was changed here and is not in etcd yet; nothing: it was taken back.
    fn pending(&self) -> BTreeMap<String, Option<String>> {
        let (now, agreed) = (self.present(), self.shared.fleet.agreed());
        let mut pending = BTreeMap::new();
        for (key, value) in &now {
            if agreed.get(key) != Some(value) {
                pending.insert(key.clone(), Some(value.clone()));
            }
        }
        for key in agreed.keys().filter(|key| !now.contains_key(*key)) {
            // One of a cluster that went with a reload is not ours to take back.
            let cluster = keys::cluster(key);
            if cluster.is_some_and(|name| self.plan.cluster(&name).is_some()) {
                pending.insert(key.clone(), None);
            }
        }
        pending
    }

    /// What operators changed of all clusters.
    fn present(&self) -> Keys {
        let mut all = Keys::new();
        for cluster in &self.plan.clusters {
            keys::written(cluster.name(), &cluster.overrides(), &mut all);
        }
        all
    }

    /// Writes what was changed here.
    async fn write(&mut self) -> Result<(), SourceError> {
        for (key, value) in self.pending() {
            let whole = format!("{}{key}", self.feed.prefix());
            let etcd = self.feed.etcd();
            let revision = match &value {
                Some(value) => etcd.put(&whole, value, None).await?,
                None => etcd.delete(&whole).await?,
            };
            self.own.insert(key.clone(), revision);
            self.shared.fleet.agree(key, value);
        }
        Ok(())
    }

    /// Takes in what the watch says.
    fn heard(&self, change: &KeyChange) {
        let one = change.of();
        let Some(key) = one.key.strip_prefix(self.feed.prefix()) else {
            return;
        };
        let is_echo = self.own.get(key).is_some_and(|own| one.revision <= *own);
        // What was changed here a moment ago is written a moment later, and counts then.
        if is_echo || self.pending().contains_key(key) {
            return;
        }
        match change {
            KeyChange::Put(_) => self.take(key, Some(&String::from_utf8_lossy(&one.value))),
            KeyChange::Delete(_) => self.take(key, None),
        }
    }

    /// Puts in force what another gateway has changed.
    fn take(&self, key: &str, value: Option<&str>) {
        let (name, change) = match keys::read(key, value) {
            Ok(read) => read,
            Err(why) => {
                let prefix = self.feed.prefix();
                tracing::warn!("the key {prefix}{key} is skipped: {why}");
                return;
            }
        };
        // Gateways of a fleet may have clusters that others do not have.
        let Some(cluster) = self.plan.cluster(&name) else {
            return;
        };
        let endpoint = match &change {
            Change::Strategy(_) => None,
            Change::Endpoint(id, _) => Some(Arc::clone(id)),
        };
        let Some((before, now)) = self.amend(cluster, key, change) else {
            return;
        };
        let is_new = before != now;
        self.shared.fleet.agree(key.to_owned(), now);
        if !is_new {
            return;
        }
        let said = format!("by another gateway: {}", keys::in_words(value));
        let event = Event::new(EventKind::Operator, "fleet", said);
        let mut event = event.of_cluster(cluster.shared_name());
        if let Some(id) = endpoint {
            event = event.of_endpoint(id);
        }
        self.shared.site.events().publish(event);
        // An endpoint that was added may be a name.
        self.shared.resolver.ask();
    }

    /// Changes a cluster unless an operator has changed the same here: what the key said before and says
    /// now, as it is written here, since another version of us may put the same in other words.
    fn amend(&self, cluster: &Cluster, key: &str, change: Change) -> Option<Amended> {
        let agreed = self.shared.fleet.agreed().get(key).cloned();
        let (mut before, mut now) = (Keys::new(), Keys::new());
        // In one step: what an operator changes just now is written a moment later, and counts then.
        cluster.amend(|overrides| {
            keys::written(cluster.name(), overrides, &mut before);
            if before.get(key) == agreed.as_ref() {
                match change {
                    Change::Strategy(strategy) => overrides.amend_strategy(strategy),
                    Change::Endpoint(id, over) => overrides.amend_endpoint(&id, over),
                }
                keys::written(cluster.name(), overrides, &mut now);
            }
        });
        let before = before.remove(key);
        (before == agreed).then(|| (before, now.remove(key)))
    }
}
