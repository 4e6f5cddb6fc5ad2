//! Who belongs to the fleet: a key under a lease for each gateway.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use evenkeel_config::Fleet;
use evenkeel_discovery::SourceError;
use evenkeel_discovery::etcd::{Change, Etcd, Feed, KeyValue, News, Registration};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};

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
    let mut was_taken = false;
    loop {
        match registration.keep().await {
            Ok(wait) => {
                contact.made();
                let is_taken = registration.is_taken();
                if is_taken && !was_taken {
                    tell_taken(shared);
                }
                was_taken = is_taken;
                sleep(wait).await;
            }
            Err(error) => {
                contact.lost(error);
                contact.wait().await;
            }
        }
    }
}

/// Tells that another gateway has the same name. One that takes the place of this one has it rightly.
fn tell_taken(shared: &Shared) {
    if shared.draining.load(Ordering::Relaxed) {
        return;
    }
    let name = shared.site.instance();
    let said = format!(
        "another gateway of the fleet is named {name:?} too: they have one place and one vote together until \
         runtime.instance is another one at each"
    );
    tracing::warn!("{said}");
    let event = Event::new(EventKind::Fleet, "name_taken", said);
    shared.site.events().publish(event);
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
    loop {
        let (listed, _) = feed.list().await?;
        contact.made();
        let known = shared.fleet.members().unwrap_or_default();
        let mut members = Known::new(listed.iter().filter_map(|one| member(below, one)), known);
        loop {
            let now = members.all();
            let before = shared.fleet.set_members(now.clone());
            tell(shared, before.as_ref().unwrap_or(&now), &now);
            take_place(shared, &now);
            let news = tokio::select! {
                news = feed.next() => news?,
                () = sleep_until(members.until), if !members.awaited.is_empty() => {
                    members.awaited.clear();
                    continue;
                }
            };
            let News::Changes(changes) = news else {
                break;
            };
            for change in &changes {
                if let Some(name) = name(below, change.of()) {
                    members.follow(name, matches!(change, Change::Put(one) if is_member(one)));
                }
            }
        }
    }
}

/// Who belongs to the fleet, and who did when it was last heard of. Leases end while etcd is away, and the first
/// gateway that lists its members afterwards finds none: those that come back in time keep their places.
struct Known {
    there: BTreeSet<Arc<str>>,
    awaited: BTreeSet<Arc<str>>,
    until: Instant,
}

impl Known {
    fn new(there: impl Iterator<Item = Arc<str>>, known: Vec<Arc<str>>) -> Self {
        let there: BTreeSet<Arc<str>> = there.collect();
        let awaited = known.into_iter().filter(|name| !there.contains(name));
        Self {
            awaited: awaited.collect(),
            there,
            until: Instant::now() + TTL,
        }
    }

    fn all(&self) -> BTreeSet<Arc<str>> {
        self.there.union(&self.awaited).cloned().collect()
    }

    fn follow(&mut self, name: Arc<str>, is_there: bool) {
        self.awaited.remove(&name);
        match is_there {
            true => self.there.insert(name),
            false => self.there.remove(&name),
        };
    }
}

/// The gateway whose key it is.
fn name(below: usize, one: &KeyValue) -> Option<Arc<str>> {
    let part = one.key.get(below..)?;
    let name = keys::unescaped(part).filter(|_| !part.is_empty() && !part.contains('/'));
    name.map(Into::into)
}

/// Whether it is a gateway that wrote it: any other key would stand for one that serves nobody, and where subsets go by
/// places it would leave its endpoints alone.
fn is_member(one: &KeyValue) -> bool {
    let value = serde_json::from_slice::<Value>(&one.value);
    value.is_ok_and(|value| value["version"].is_string())
}

fn member(below: usize, one: &KeyValue) -> Option<Arc<str>> {
    name(below, one).filter(|_| is_member(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_there_before_etcd_was_away_is_awaited() {
        let names = |text: &str| {
            text.split_whitespace()
                .map(Arc::from)
                .collect::<Vec<Arc<str>>>()
        };
        let mut known = Known::new(names("b").into_iter(), names("a b c"));
        let all = |known: &Known| known.all().into_iter().collect::<Vec<_>>();
        assert_eq!(all(&known), names("a b c"));
        known.follow("a".into(), true);
        known.follow("d".into(), true);
        known.follow("b".into(), false);
        assert_eq!(all(&known), names("a c d"));
        // The time is over.
        known.awaited.clear();
        assert_eq!(all(&known), names("a d"));
    }

    #[test]
    fn only_gateways_are_members() {
        let read = |below: &str, value: &str| {
            let prefix = "/fleet/members/";
            let one = KeyValue {
                key: format!("{prefix}{below}"),
                value: value.into(),
                revision: 1,
            };
            member(prefix.len(), &one).map(|name| name.to_string())
        };
        let version = "{\"version\":\"0.1.0\"}";
        assert_eq!(read("gw-1", version).as_deref(), Some("gw-1"));
        assert_eq!(
            read("a%2fb %25\u{fc}", version).as_deref(),
            Some("a/b %\u{fc}")
        );
        assert_eq!(
            read("gw-1", "{\"version\":\"9\",\"more\":1}").as_deref(),
            Some("gw-1")
        );
        for below in ["", "a/b", "a%", "a%zz"] {
            assert_eq!(read(below, version), None, "{below}");
        }
        for value in ["", "x", "{}", "[]", "{\"version\":1}", "null"] {
            assert_eq!(read("gw-1", value), None, "{value}");
        }
    }
}
