//! Which endpoints a decision begins with: zones, subsets, labels.

use evenkeel_core::strategy::registry;
use evenkeel_core::{
    CallerPlace, Endpoint, Fallback, LabelSelector, Membership, Nanos, NoEndpoint, PickContext,
    Picker, PickerSeed, Rng, Snapshot, Subset, SubsetMethod,
};
use evenkeel_testkit::laws::fits;

fn members(strategy: &str) -> Membership {
    Membership::new("views", registry::build(strategy, &[]).expect("registered"))
}

fn endpoint(id: &str) -> Endpoint {
    Endpoint::new(id, "10.0.0.1:80")
}

/// Counts picks by the first letter of the id, in order; each is answered at once.
fn counts(snapshot: &Snapshot, letters: &str, picks: usize) -> Vec<u64> {
    let mut picker = Picker::new(PickerSeed { root: 4, picker: 0 });
    let mut keys = Rng::new(5);
    let mut counts = vec![0; letters.len()];
    for _ in 0..picks {
        let ctx = PickContext::at(Nanos(0)).with_key(keys.next_u64());
        let lease = picker.pick(snapshot, &ctx).expect("an endpoint");
        let id = snapshot.endpoint(lease.index()).id();
        counts[letters.find(&id[..1]).expect("a letter")] += 1;
    }
    counts
}

/// Endpoints of zones a, b and c, so many of each.
fn zoned(strategy: &str, counts: [usize; 3]) -> Membership {
    let mut members = members(strategy);
    for (zone, count) in ["a", "b", "c"].into_iter().zip(counts) {
        for at in 0..count {
            members.upsert(endpoint(&format!("{zone}{at}")).with_zone(zone));
        }
    }
    members.set_zone(Some("a".into()));
    members
}

#[test]
fn a_zone_with_its_share_of_endpoints_keeps_its_traffic() {
    let mut members = zoned("weighted_random", [3, 3, 3]);
    assert_eq!(counts(&members.snapshot(), "abc", 1_000), [1_000, 0, 0]);
    members.set_zone(None);
    let spread = counts(&members.snapshot(), "abc", 9_000);
    fits(&spread, &[1.0, 1.0, 1.0]).expect("without a zone all are used alike");
}

/// 2 of 10 endpoints at home, a third of the callers: 3/5 stay, the rest goes where there is more.
#[test]
fn what_the_own_zone_cannot_bear_goes_elsewhere() {
    let mut members = zoned("round_robin", [2, 4, 4]);
    let spread = counts(&members.snapshot(), "abc", 30_000);
    fits(&spread, &[6.0, 2.0, 2.0]).expect("3/5 at home");
    // With one of the two gone, less stays.
    members.set_healthy("a0", false).expect("known");
    let spread = counts(&members.snapshot(), "abc", 30_000);
    fits(&spread, &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]).expect("1/9 over 1/3 at home");
}

#[test]
fn a_full_zone_spills_over() {
    let mut members = members("least_request");
    for id in ["a0", "a1", "a2", "b0", "b1", "b2"] {
        members.upsert(endpoint(id).with_zone(&id[..1]).with_capacity(1));
    }
    members.set_zone(Some("a".into()));
    let snapshot = members.snapshot();
    let mut picker = Picker::new(PickerSeed { root: 4, picker: 0 });
    let mut pick = || picker.pick(&snapshot, &PickContext::at(Nanos(0)));
    let held: Vec<_> = (0..6).map(|_| pick().expect("a slot")).collect();
    assert!(held[..3].iter().all(|lease| lease.fallback().is_none()));
    assert!(
        held[3..]
            .iter()
            .all(|lease| lease.fallback() == Some(Fallback::Zone))
    );
    assert_eq!(pick().err(), Some(NoEndpoint::AllFull));
}

/// A key has one home in a cluster, whichever zone asks.
#[test]
fn keys_know_no_zones() {
    let spread = counts(&zoned("maglev", [3, 3, 3]).snapshot(), "abc", 9_000);
    assert!(spread.iter().all(|count| *count > 2_700), "{spread:?}");
}

#[test]
fn a_subset_is_all_that_is_used() {
    for strategy in registry::STRATEGIES {
        let mut members = members(strategy.name);
        for at in 0..60 {
            members.upsert(endpoint(&format!("e{at:02}")).with_tier(u8::from(at >= 50)));
        }
        members.set_subset(Some(Subset::new(6, "gw-1")));
        let snapshot = members.snapshot();
        let used = |tier: usize| snapshot.groups()[tier].eligible();
        assert_eq!((used(0).len(), used(1).len()), (6, 6), "{}", strategy.name);
        members.set_subset(Some(Subset::new(6, "gw-2")));
        assert_ne!(members.snapshot().groups()[0].eligible(), used(0));
    }
}

/// Requests follow what an arc covers of each endpoint, whether or not the strategy knows weights; keys do not, since a
/// key has one home.
#[test]
fn an_endpoint_at_the_end_of_an_arc_gets_its_part() {
    for strategy in ["weighted_random", "random", "round_robin"] {
        let mut sums = std::collections::BTreeMap::new();
        for index in 0..3 {
            let mut members = members(strategy);
            for at in 0..10 {
                members.upsert(endpoint(&format!("e{at}")));
            }
            let place = CallerPlace::new(index, 3);
            let subset = Subset::new(3, "gw").by(SubsetMethod::DeterministicAperture, place);
            members.set_subset(Some(subset));
            let snapshot = members.snapshot();
            let mut picker = Picker::new(PickerSeed {
                root: 4,
                picker: index,
            });
            let mut keys = Rng::new(6 + u64::from(index));
            for _ in 0..30_000 {
                let ctx = PickContext::at(Nanos(0)).with_key(keys.next_u64());
                let lease = picker.pick(&snapshot, &ctx).expect("an endpoint");
                *sums.entry(lease.index()).or_insert(0_u32) += 1;
            }
        }
        // 90,000 of three callers at ten endpoints.
        assert_eq!(sums.len(), 10, "{strategy}: {sums:?}");
        let even = sums.values().all(|count| (8_600..9_400).contains(count));
        assert!(even, "{strategy}: {sums:?}");
    }
}

/// Two golden ones of four.
fn labelled(strategy: &str) -> Membership {
    let mut members = members(strategy);
    for id in ["a", "b", "c", "d"] {
        let class = if id < "c" { "gold" } else { "tin" };
        members.upsert(endpoint(id).with_label("class", class));
    }
    let gold = || LabelSelector::new([("class", "gold")]);
    let lead = || LabelSelector::new([("class", "lead")]);
    members.set_views(vec![gold(), gold().or_any(), lead(), lead().or_any()]);
    members
}

/// Whom a hundred requests that see `view` go to.
fn seen(snapshot: &Snapshot, view: u16) -> Result<String, NoEndpoint> {
    let mut picker = Picker::new(PickerSeed { root: 4, picker: 0 });
    let mut keys = Rng::new(6);
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..100 {
        let ctx = PickContext::at(Nanos(0)).with_key(keys.next_u64());
        let lease = picker.pick(snapshot, &ctx.with_view(view))?;
        ids.insert(snapshot.endpoint(lease.index()).id());
    }
    Ok(ids.into_iter().collect())
}

#[test]
fn labels_choose_endpoints_and_say_when_there_are_none() {
    for strategy in registry::STRATEGIES {
        let snapshot = labelled(strategy.name).snapshot();
        let seen = |view| seen(&snapshot, view);
        assert_eq!(seen(0), Ok("abcd".into()), "{}", strategy.name);
        assert_eq!(seen(1), Ok("ab".into()), "{}", strategy.name);
        assert_eq!(seen(2), Ok("ab".into()), "{}", strategy.name);
        assert_eq!(seen(3), Err(NoEndpoint::NoneLabelled));
        assert_eq!(seen(4), Ok("abcd".into()), "{}", strategy.name);
        assert_eq!(seen(5), Err(NoEndpoint::UnknownView));
    }
}

#[test]
fn when_none_with_the_labels_can_serve_any_will_do_if_so_told() {
    let mut members = labelled("least_request");
    for id in ["a", "b"] {
        members.set_healthy(id, false).expect("known");
    }
    let snapshot = members.snapshot();
    // Alone they are in panic; where any will do the healthy ones serve.
    assert_eq!(seen(&snapshot, 1), Ok("ab".into()));
    assert_eq!(seen(&snapshot, 2), Ok("cd".into()));
}

#[test]
fn when_those_with_the_labels_are_full_any_will_do_if_so_told() {
    let mut members = members("round_robin");
    for id in ["a", "b", "c"] {
        let class = if id == "a" { "gold" } else { "tin" };
        members.upsert(endpoint(id).with_label("class", class).with_capacity(1));
    }
    let gold = || LabelSelector::new([("class", "gold")]);
    members.set_views(vec![gold(), gold().or_any()]);
    let snapshot = members.snapshot();
    let mut picker = Picker::new(PickerSeed { root: 4, picker: 0 });
    let mut pick = |view| picker.pick(&snapshot, &PickContext::at(Nanos(0)).with_view(view));
    let first = pick(2).expect("a slot");
    assert_eq!((first.index(), first.fallback()), (0, None));
    assert_eq!(pick(1).err(), Some(NoEndpoint::AllFull));
    let second = pick(2).expect("a slot elsewhere");
    assert_eq!(second.fallback(), Some(Fallback::Labels));
    let _third = pick(2).expect("a slot elsewhere");
    assert_eq!(pick(2).err(), Some(NoEndpoint::AllFull));
}
