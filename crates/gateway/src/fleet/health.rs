//! Which endpoints the gateways of a fleet hold out: each gives its own verdicts, and a quorum of them counts for all.
//!
//! Below the prefix of the fleet, `health/INSTANCE` holds what a gateway holds out by itself, `{"web": ["a"]}` with an
//! entry for each of its clusters, under a lease: a gateway that is gone has no vote. What a quorum is and what
//! follows from it is decided in the core.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_config::Fleet;
use evenkeel_core::health::Votes;
use evenkeel_discovery::SourceError;
use evenkeel_discovery::etcd::{Change, Etcd, Feed, KeyValue, News, Registration};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::contact::{Contact, Part};
use super::keys;
use super::members::TTL;
use crate::lifecycle::Shared;

/// For how long verdicts are gathered that change one upon the other: an endpoint that many clusters have fails in
/// all of them within some milliseconds, and hold-downs and checks take hundreds.
const GATHER: Duration = Duration::from_millis(20);

/// How often what the others hold is put in force without news of it, for clusters that came with a reload: as long
/// as a verdict is believed of which nothing is heard, so that neither view of a fleet is older than the other.
const AGAIN: Duration = TTL;

/// The endpoints that gateways hold out, by instance and cluster.
type Verdicts = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

fn prefix(fleet: &Fleet) -> String {
    format!("{}health/", fleet.prefix)
}

/// Gives the verdicts of this gateway, for ever.
pub(super) async fn give(shared: &Arc<Shared>, fleet: &Fleet) {
    let key = format!("{}{}", prefix(fleet), keys::escaped(shared.site.instance()));
    let mut registration = Registration::new(Etcd::new(&fleet.etcd), key, own(shared), TTL);
    let mut contact = Contact::new(shared, Part::OwnVerdicts);
    loop {
        registration.set_value(own(shared));
        match registration.keep().await {
            Ok(wait) => {
                contact.made();
                if timeout(wait, shared.site.judged().notified()).await.is_ok() {
                    sleep(GATHER).await;
                }
            }
            Err(error) => {
                contact.lost(error);
                contact.wait().await;
            }
        }
    }
}

/// What is held out here, as it is written.
fn own(shared: &Shared) -> String {
    let mut value = json!({});
    for cluster in &shared.plan.load().clusters {
        value[cluster.name()] = json!(cluster.own_out());
    }
    value.to_string()
}

/// Follows the verdicts of all, for ever.
pub(super) async fn follow(shared: &Arc<Shared>, fleet: &Fleet) {
    let mut feed = Feed::new(Etcd::new(&fleet.etcd), prefix(fleet));
    let mut contact = Contact::new(shared, Part::Verdicts);
    loop {
        let Err(error) = watch(shared, &mut feed, &mut contact).await;
        contact.lost(error);
        tokio::select! {
            () = contact.wait() => {}
            () = forget_at(shared, believed_until(feed.heard())) => {}
        }
    }
}

/// As long as their leases would live the others are believed, then each goes by itself.
fn believed_until(heard: Option<Instant>) -> Instant {
    heard.map_or_else(Instant::now, |heard| heard + TTL)
}

/// Forgets at that time what the others said, and never ends.
async fn forget_at(shared: &Shared, at: Instant) {
    sleep_until(at).await;
    forget(shared);
    std::future::pending().await
}

/// What others said counts no more.
pub(super) fn forget(shared: &Shared) {
    apply(shared, &Verdicts::new());
}

async fn watch(
    shared: &Arc<Shared>,
    feed: &mut Feed,
    contact: &mut Contact,
) -> Result<Infallible, SourceError> {
    loop {
        let (listed, _) = feed.list().await?;
        contact.made();
        let mut verdicts = Verdicts::new();
        listed
            .iter()
            .for_each(|one| take(feed.prefix(), &mut verdicts, one));
        while follow_changes(shared, feed, &mut verdicts).await? {}
    }
}

/// Puts in force what follows from the verdicts, and takes in what changes of them next; false: they have to be
/// listed anew.
async fn follow_changes(
    shared: &Arc<Shared>,
    feed: &mut Feed,
    verdicts: &mut Verdicts,
) -> Result<bool, SourceError> {
    let began = Instant::now();
    apply(shared, verdicts);
    // However many there are and however often they change: a tenth of the control thread at most goes into them.
    let rested = Instant::now() + began.elapsed() * 9;
    let mut wait = AGAIN;
    loop {
        match timeout(wait, feed.next()).await {
            Ok(Ok(News::Changes(changes))) => {
                for change in &changes {
                    follow_change(feed.prefix(), verdicts, change);
                }
            }
            Ok(Ok(News::Forgotten)) => return Ok(false),
            Ok(Err(error)) => return Err(error),
            Err(_) => return Ok(true),
        }
        wait = rested.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            return Ok(true);
        }
    }
}

fn follow_change(prefix: &str, verdicts: &mut Verdicts, change: &Change) {
    match change {
        Change::Put(one) => take(prefix, verdicts, one),
        Change::Delete(one) => {
            verdicts.remove(&one.key);
        }
    }
}

/// Takes in what a gateway holds out. What makes no sense is no verdict.
fn take(prefix: &str, verdicts: &mut Verdicts, one: &KeyValue) {
    match serde_json::from_slice::<BTreeMap<String, BTreeSet<String>>>(&one.value) {
        Ok(out) => {
            verdicts.insert(one.key.clone(), out);
        }
        Err(why) => {
            verdicts.remove(&one.key);
            let below = one.key.strip_prefix(prefix).unwrap_or(&one.key);
            tracing::warn!("the verdicts {prefix}{below} are skipped: {why}");
        }
    }
}

/// Puts in force what follows from the verdicts of all.
fn apply(shared: &Shared, verdicts: &Verdicts) {
    for cluster in &shared.plan.load().clusters {
        cluster.fleet_said(&votes(verdicts, cluster.name()));
    }
}

/// How many hold each endpoint of a cluster out, of how many that give verdicts for it.
fn votes(verdicts: &Verdicts, cluster: &str) -> BTreeMap<Arc<str>, Votes> {
    let given = verdicts.values();
    let given: Vec<_> = given.filter_map(|all| all.get(cluster)).collect();
    let of = given.len() as u32;
    let mut votes: BTreeMap<Arc<str>, Votes> = BTreeMap::new();
    for id in given.iter().flat_map(|out| out.iter()) {
        let votes = votes.entry(id.as_str().into());
        votes.or_insert(Votes { out: 0, of }).out += 1;
    }
    votes
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = "/fleet/health/";

    fn key(instance: &str, value: &str) -> KeyValue {
        KeyValue {
            key: format!("{PREFIX}{instance}"),
            value: value.into(),
            revision: 1,
        }
    }

    fn put(verdicts: &mut Verdicts, instance: &str, value: &str) {
        follow_change(PREFIX, verdicts, &Change::Put(key(instance, value)));
    }

    fn counted(verdicts: &Verdicts, cluster: &str) -> Vec<String> {
        let votes = votes(verdicts, cluster);
        let votes = votes.iter();
        votes
            .map(|(id, votes)| format!("{id} {}/{}", votes.out, votes.of))
            .collect()
    }

    #[test]
    fn whoever_has_a_cluster_has_a_vote_on_its_endpoints() {
        let mut verdicts = Verdicts::new();
        assert!(counted(&verdicts, "web").is_empty());
        put(&mut verdicts, "one", r#"{"web":["a","b"],"api":["a"]}"#);
        put(&mut verdicts, "two", r#"{"web":["b"]}"#);
        put(&mut verdicts, "three", r#"{"web":[]}"#);
        assert_eq!(counted(&verdicts, "web"), ["a 1/3", "b 2/3"]);
        assert_eq!(counted(&verdicts, "api"), ["a 1/1"]);
        assert!(counted(&verdicts, "nobody's").is_empty());
        // What one says now takes the place of what it said; twice is once.
        put(&mut verdicts, "one", r#"{"web":["b","b"]}"#);
        assert_eq!(counted(&verdicts, "web"), ["b 2/3"]);
        assert!(counted(&verdicts, "api").is_empty());
    }

    #[test]
    fn who_is_gone_has_no_vote() {
        let mut verdicts = Verdicts::new();
        put(&mut verdicts, "one", r#"{"web":["a"]}"#);
        put(&mut verdicts, "two", r#"{"web":["a"]}"#);
        let gone = Change::Delete(key("one", ""));
        follow_change(PREFIX, &mut verdicts, &gone);
        follow_change(PREFIX, &mut verdicts, &gone);
        assert_eq!(counted(&verdicts, "web"), ["a 1/1"]);
    }

    /// Nor is what it said before believed, which it no longer says.
    #[test]
    fn what_makes_no_sense_is_no_vote() {
        for nonsense in [
            "",
            "no",
            "[]",
            "{\"web\":\"a\"}",
            "{\"web\":[1]}",
            "{\"web\":null}",
        ] {
            let mut verdicts = Verdicts::new();
            put(&mut verdicts, "one", r#"{"web":["a"]}"#);
            put(&mut verdicts, "two", r#"{"web":["a"]}"#);
            put(&mut verdicts, "one", nonsense);
            assert_eq!(counted(&verdicts, "web"), ["a 1/1"], "{nonsense}");
        }
    }
}
