//! Who belongs to the fleet: a key under a lease for each gateway.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_config::Fleet;
use evenkeel_discovery::SourceError;
use evenkeel_discovery::etcd::{Change, Etcd, Feed, News, Registration};
use serde_json::json;
use tokio::time::sleep;

use super::contact::{Contact, Part};
use super::keys;
use crate::event::{Event, EventKind};
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
    let mut contact = Contact::new(shared, Part::Membership);
    loop {
        match registration.keep().await {
            Ok(wait) => {
                contact.made();
                sleep(wait).await;
            }
            Err(error) => {
                contact.lost(error);
                contact.wait().await;
            }
        }
    }
}

/// Follows who belongs to the fleet, for ever.
pub(super) async fn follow(shared: &Arc<Shared>, fleet: &Fleet) {
    let mut feed = Feed::new(Etcd::new(&fleet.etcd), prefix(fleet));
    let mut contact = Contact::new(shared, Part::Members);
    loop {
        let Err(error) = watch(shared, &mut feed, &mut contact).await;
        // Those that were known stay: an etcd that is away does not end them.
        contact.lost(error);
        contact.wait().await;
    }
}

/// Tells who joined and who left.
fn tell(shared: &Shared, before: &BTreeSet<Arc<str>>, now: &BTreeSet<Arc<str>>) {
    let publish = |cause, said: String| {
        let event = Event::new(EventKind::Fleet, cause, said);
        shared.site.events().publish(event);
    };
    for name in now.difference(before) {
        publish("joined", format!("{name} is a member of the fleet"));
    }
    for name in before.difference(now) {
        let why = "nothing was heard of it for as long as its lease lives, or it has gone";
        publish(
            "left",
            format!("{name} is no member of the fleet any more: {why}"),
        );
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
    contact: &mut Contact,
) -> Result<Infallible, SourceError> {
    let below = feed.prefix().len();
    let name = move |key: &str| keys::unescaped(key.get(below..)?).map(Arc::<str>::from);
    loop {
        let (listed, _) = feed.list().await?;
        contact.made();
        let mut members: BTreeSet<Arc<str>> =
            listed.iter().filter_map(|one| name(&one.key)).collect();
        loop {
            let before = shared.fleet.set_members(members.clone());
            tell(shared, before.as_ref().unwrap_or(&members), &members);
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
