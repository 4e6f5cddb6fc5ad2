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
use evenkeel_core::Nanos;
use evenkeel_core::health::Votes;
use evenkeel_discovery::etcd::{Change, Etcd, Feed, KeyValue, News, Registration};
use evenkeel_discovery::{Backoff, SourceError};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::members::TTL;
use super::{Trouble, keys};
use crate::lifecycle::Shared;

/// For how long verdicts are gathered that change one upon the other.
const GATHER: Duration = Duration::from_millis(20);

/// How often what the others hold is put in force without news of it, for clusters that came with a reload.
const AGAIN: Duration = Duration::from_secs(12);

/// The endpoints that gateways hold out, by instance and cluster.
type Verdicts = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

fn prefix(fleet: &Fleet) -> String {
    format!("{}health/", fleet.prefix)
}

/// Gives the verdicts of this gateway, for ever.
pub(super) async fn give(shared: &Arc<Shared>, fleet: &Fleet) {
    let key = format!("{}{}", prefix(fleet), keys::escaped(shared.site.instance()));
    let mut registration = Registration::new(Etcd::new(&fleet.etcd), key, own(shared), TTL);
    let mut backoff = Backoff::new(shared.seed.rotate_left(37));
    loop {
        registration.set_value(own(shared));
        match registration.keep().await {
            Ok(wait) => {
                backoff.reset();
                if timeout(wait, shared.site.judged().notified()).await.is_ok() {
                    sleep(GATHER).await;
                }
            }
            // Whoever follows the others says why.
            Err(_) => sleep(backoff.wait()).await,
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
    let mut backoff = Backoff::new(shared.seed.rotate_left(41));
    let mut state = Following::default();
    loop {
        let Err(error) = watch(shared, &mut feed, &mut backoff, &mut state).await;
        let now = shared.clock.now();
        backoff.lost(now);
        // As long as their leases would live the others are believed; then each goes by itself.
        let lost_since = *state.lost_since.get_or_insert(now);
        if now >= lost_since + TTL.into() {
            forget(shared);
        }
        let what =
            "verdicts on endpoints are not shared for the moment: each gateway goes by its own";
        state.trouble.tell(what, error, now);
        sleep(backoff.wait()).await;
    }
}

/// How following goes.
#[derive(Default)]
struct Following {
    trouble: Trouble,
    lost_since: Option<Nanos>,
}

/// What others said counts no more.
pub(super) fn forget(shared: &Shared) {
    apply(shared, &Verdicts::new());
}

async fn watch(
    shared: &Arc<Shared>,
    feed: &mut Feed,
    backoff: &mut Backoff,
    state: &mut Following,
) -> Result<Infallible, SourceError> {
    loop {
        let (listed, _) = feed.list().await?;
        backoff.answered(shared.clock.now());
        state.lost_since = None;
        state
            .trouble
            .is_over("verdicts on endpoints are shared again");
        let mut verdicts = Verdicts::new();
        listed
            .iter()
            .for_each(|one| take(feed.prefix(), &mut verdicts, one));
        loop {
            apply(shared, &verdicts);
            let changes = match timeout(AGAIN, feed.next()).await {
                Ok(Ok(News::Changes(changes))) => changes,
                Ok(Ok(News::Forgotten)) => break,
                Ok(Err(error)) => return Err(error),
                Err(_) => continue,
            };
            for change in &changes {
                match change {
                    Change::Put(one) => take(feed.prefix(), &mut verdicts, one),
                    Change::Delete(one) => {
                        verdicts.remove(&one.key);
                    }
                }
            }
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
        let given: Vec<&BTreeSet<String>> = verdicts
            .values()
            .filter_map(|clusters| clusters.get(cluster.name()))
            .collect();
        cluster.fleet_said(&votes(&given));
    }
}

/// How many hold each endpoint out.
fn votes(given: &[&BTreeSet<String>]) -> BTreeMap<Arc<str>, Votes> {
    let of = given.len() as u32;
    let mut votes: BTreeMap<Arc<str>, Votes> = BTreeMap::new();
    for id in given.iter().flat_map(|out| out.iter()) {
        let votes = votes.entry(id.as_str().into());
        votes.or_insert(Votes { out: 0, of }).out += 1;
    }
    votes
}
