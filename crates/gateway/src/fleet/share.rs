//! Keeps what operators changed here and what they changed elsewhere the same.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use evenkeel_config::Fleet;
use evenkeel_discovery::SourceError;
use evenkeel_discovery::etcd::{Change as KeyChange, Etcd, Feed, News};

use super::contact::{Contact, Part};
use super::keys::{self, Change, Keys};
use super::signatures::Signatures;
use crate::cluster::Cluster;
use crate::event::{Event, EventKind};
use crate::lifecycle::{Plan, Shared};

/// What a key said before, and says now.
type Amended = (Option<String>, Option<String>);

/// What another gateway changed, and is in force here now.
struct Taken {
    key: String,
    /// In words.
    said: String,
    cluster: Arc<str>,
    endpoint: Option<Arc<str>>,
}

/// One gateway's side.
pub(super) struct Share {
    shared: Arc<Shared>,
    feed: Feed,
    /// The plan by which it was last decided which keys are of clusters that are here.
    plan: Arc<Plan>,
    /// The revisions of what was written from here: what comes back of a key up to there is older.
    own: BTreeMap<String, i64>,
    signatures: Signatures,
}

impl Share {
    pub(super) fn new(shared: Arc<Shared>, fleet: &Fleet) -> Self {
        let prefix = format!("{}admin/", fleet.prefix);
        Self {
            feed: Feed::new(Etcd::new(&fleet.etcd), prefix),
            plan: shared.plan.load(),
            shared,
            own: BTreeMap::new(),
            signatures: Signatures::new(fleet),
        }
    }

    /// Shares for ever.
    pub(super) async fn follow(mut self) {
        let mut contact = Contact::new(&self.shared, Part::Changes);
        loop {
            let Err(error) = self.stay(&mut contact).await;
            contact.lost(error);
            contact.wait().await;
        }
    }

    /// Shares until etcd is lost.
    async fn stay(&mut self, contact: &mut Contact) -> Result<Infallible, SourceError> {
        self.meet().await?;
        loop {
            contact.made();
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
                News::Changes(all) => {
                    let taken: Vec<Taken> = all.iter().filter_map(|one| self.heard(one)).collect();
                    // Who it was is asked when all is in force.
                    for taken in taken {
                        let by = self.signatures.of(self.feed.etcd(), &taken.key).await;
                        self.tell(&taken, by.as_deref());
                    }
                }
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
        let signed = self.signatures.all(self.feed.etcd()).await;
        let take = |key: &str, value: Option<&str>| {
            if let Some(taken) = self.take(key, value) {
                self.tell(&taken, signed.get(key).map(String::as_str));
            }
        };
        for key in agreed.keys().filter(|key| !there.contains_key(*key)) {
            if !pending.contains_key(key) {
                take(key, None);
            }
        }
        for (key, value) in &there {
            if !pending.contains_key(key) {
                take(key, Some(value));
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
            let instance = self.shared.site.instance();
            let etcd = self.feed.etcd();
            self.signatures.sign(etcd, &key, instance).await;
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
    fn heard(&self, change: &KeyChange) -> Option<Taken> {
        let one = change.of();
        let key = one.key.strip_prefix(self.feed.prefix())?;
        let is_echo = self.own.get(key).is_some_and(|own| one.revision <= *own);
        // What was changed here a moment ago is written a moment later, and counts then.
        if is_echo || self.pending().contains_key(key) {
            return None;
        }
        match change {
            KeyChange::Put(_) => self.take(key, Some(&String::from_utf8_lossy(&one.value))),
            KeyChange::Delete(_) => self.take(key, None),
        }
    }

    /// Puts in force what another gateway has changed; none when it makes no difference here.
    fn take(&self, key: &str, value: Option<&str>) -> Option<Taken> {
        let (name, change) = match keys::read(key, value) {
            Ok(read) => read,
            Err(why) => {
                let prefix = self.feed.prefix();
                tracing::warn!("the key {prefix}{key} is skipped: {why}");
                return None;
            }
        };
        // Gateways of a fleet may have clusters that others do not have.
        let cluster = self.plan.cluster(&name)?;
        let endpoint = match &change {
            Change::Strategy(_) => None,
            Change::Endpoint(id, _) => Some(Arc::clone(id)),
        };
        let (before, now) = self.amend(cluster, key, change)?;
        let is_new = before != now;
        self.shared.fleet.agree(key.to_owned(), now);
        // An endpoint that was added may be a name.
        self.shared.resolver.ask();
        is_new.then(|| Taken {
            key: key.to_owned(),
            said: keys::in_words(value),
            cluster: cluster.shared_name(),
            endpoint,
        })
    }

    fn tell(&self, taken: &Taken, by: Option<&str>) {
        let said = format!("by {}: {}", by.unwrap_or("another gateway"), taken.said);
        let event = Event::new(EventKind::Operator, "fleet", said);
        let mut event = event.of_cluster(Arc::clone(&taken.cluster));
        if let Some(id) = &taken.endpoint {
            event = event.of_endpoint(Arc::clone(id));
        }
        self.shared.site.events().publish(event);
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
