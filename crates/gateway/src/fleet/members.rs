//! Who belongs to the fleet: a key under a lease for each gateway.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_config::Fleet;
use evenkeel_discovery::etcd::{Change, Etcd, Feed, News, Registration};
use evenkeel_discovery::{Backoff, SourceError};
use serde_json::json;
use tokio::time::sleep;

use super::{Trouble, keys};
use crate::lifecycle::Shared;

/// After how long a gateway that is gone is no member any more.
pub(super) const TTL: Duration = Duration::from_secs(10);

fn prefix(fleet: &Fleet) -> String {
    format!("{}members/", fleet.prefix)
}

/// Keeps the key of this gateway for ever. It goes with the process, when its lease ends.
pub(super) async fn register(shared: &Arc<Shared>, fleet: &Fleet) {
    let key = format!("{}{}", prefix(fleet), keys::escaped(shared.site.instance()));
    let value = json!({ "version": env!("CARGO_PKG_VERSION") }).to_string();
    let mut registration = Registration::new(Etcd::new(&fleet.etcd), key, value, TTL);
    let mut backoff = Backoff::new(shared.seed.rotate_left(23));
    loop {
        match registration.keep().await {
            Ok(wait) => {
                backoff.reset();
                sleep(wait).await;
            }
            // Whoever follows the members says why.
            Err(_) => sleep(backoff.wait()).await,
        }
    }
}

/// Follows who belongs to the fleet, for ever.
pub(super) async fn follow(shared: &Arc<Shared>, fleet: &Fleet) {
    let mut feed = Feed::new(Etcd::new(&fleet.etcd), prefix(fleet));
    let mut backoff = Backoff::new(shared.seed.rotate_left(29));
    let mut trouble = Trouble::default();
    loop {
        let Err(error) = watch(shared, &mut feed, &mut backoff).await;
        // Those that were known stay: an etcd that is away does not end them.
        let what = "the members of the fleet are not followed for the moment";
        let now = shared.clock.now();
        trouble.tell(what, error, now);
        backoff.lost(now);
        sleep(backoff.wait()).await;
    }
}

/// There is no fleet any more, and no place in it.
pub(super) fn leave(shared: &Arc<Shared>) {
    take_place(shared, &BTreeSet::new());
}

/// Subsets that go by places go by this one from now on.
fn take_place(shared: &Arc<Shared>, members: &BTreeSet<Arc<str>>) {
    if shared.site.take_place(members.iter()) {
        let plan = shared.plan.load();
        plan.clusters
            .iter()
            .for_each(|cluster| cluster.follow_place());
    }
}

async fn watch(
    shared: &Arc<Shared>,
    feed: &mut Feed,
    backoff: &mut Backoff,
) -> Result<Infallible, SourceError> {
    let below = feed.prefix().len();
    let name = move |key: &str| keys::unescaped(key.get(below..)?).map(Arc::<str>::from);
    loop {
        let (listed, _) = feed.list().await?;
        backoff.answered(shared.clock.now());
        let mut members: BTreeSet<Arc<str>> =
            listed.iter().filter_map(|one| name(&one.key)).collect();
        loop {
            shared.fleet.set_members(members.clone());
            take_place(shared, &members);
            let News::Changes(changes) = feed.next().await? else {
                break;
            };
            for change in &changes {
                let Some(name) = name(&change.of().key) else {
                    continue;
                };
                match change {
                    Change::Put(_) => members.insert(name),
                    Change::Delete(_) => members.remove(&name),
                };
            }
        }
    }
}
