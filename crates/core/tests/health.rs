//! Laws of the health machines, on a virtual clock.

mod checks;
mod sick;

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_core::health::{
    ActivePolicy, Cause, ClusterHealth, Happening, Health, HealthPolicy, Initial, Listed, Observed,
    OutlierPolicy, ProbeResult, SlowStart, Transition,
};
use evenkeel_core::{Admin, AgentLine, FULL_WEIGHT, Nanos};
use proptest::prelude::*;
use sick::{cluster, id, listed};

fn at(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

fn checked(active: ActivePolicy) -> HealthPolicy {
    HealthPolicy {
        active: Some(active),
        ..HealthPolicy::default()
    }
}

fn watched(outlier: OutlierPolicy) -> HealthPolicy {
    HealthPolicy {
        outlier: Some(outlier),
        ..HealthPolicy::default()
    }
}

fn transitions(happenings: Vec<Happening>) -> Vec<Transition> {
    let of = |happening| match happening {
        Happening::Endpoint(transition) => Some(transition),
        Happening::SharedCause { .. } => None,
    };
    happenings.into_iter().filter_map(of).collect()
}

fn probe(health: &mut ClusterHealth, number: usize, passed: bool, now: Nanos) -> Vec<Transition> {
    let result = ProbeResult {
        passed,
        seen: "seen".to_owned(),
    };
    transitions(health.probed(&id(number), &result, now))
}

fn runs(health: &mut ClusterHealth, runs: &[u32], now: Nanos) -> Vec<Happening> {
    let ids: Vec<String> = (0..runs.len()).map(id).collect();
    let runs = ids.iter().map(String::as_str).zip(runs.iter().copied());
    health.runs(runs, now)
}

fn ejected(health: &ClusterHealth, count: usize) -> usize {
    let is_out =
        |number: &usize| health.verdict(&id(*number)).map(|it| it.health) == Some(Health::Ejected);
    (0..count).filter(is_out).count()
}

/// What a stream of answers comes to by the text: a slow version of the law.
#[derive(Default)]
struct Witness {
    passes: u32,
    removals: Vec<Nanos>,
}

proptest! {
    /// Never back with fewer than `rise` good answers in a row, nor before the hold-down is over; never out
    /// with fewer than `fall` bad ones in a row.
    #[test]
    fn nobody_returns_too_early(
        answers in prop::collection::vec((any::<bool>(), 1_u64..40_000), 1..400),
        rise in 1_u32..5,
        fall in 1_u32..5,
        first in any::<bool>(),
    ) {
        let policy = ActivePolicy { rise, fall, hold_down_first: first, ..ActivePolicy::default() };
        let mut health = cluster(checked(policy), 1);
        let (mut witness, mut failures, mut now) = (Witness::default(), 0, Nanos(0));
        for (passed, wait) in answers {
            now = now + Nanos::from_millis(wait);
            (witness.passes, failures) = if passed { (witness.passes + 1, 0) } else { (0, failures + 1) };
            for change in probe(&mut health, 0, passed, now) {
                prop_assert!(change.from != change.to && !change.evidence.is_empty());
                if change.from.is_usable() && !change.to.is_usable() {
                    prop_assert!(failures >= fall);
                    witness.removals.push(now);
                }
                if change.to.is_usable() && !change.from.is_usable() {
                    prop_assert!(witness.passes >= rise, "{} of {rise}", witness.passes);
                    let removed = *witness.removals.last().expect("it was removed");
                    let recent = witness.removals.iter().filter(|at| removed.since(**at) < Nanos::from_secs(600));
                    let counted = (recent.count().min(16) - usize::from(!first)) as u32;
                    let hold = if counted == 0 { 0 } else { (60_u64 << (counted - 1)).min(600) };
                    prop_assert!(now.since(removed) >= at(hold), "{:?} of {hold}", now.since(removed));
                }
            }
        }
    }

    /// All machines at once, with operators and lists that change: nothing changes without an event that says from what
    /// to what, and each endpoint is as the worst of its machines has it.
    #[test]
    fn nothing_changes_without_an_event(
        steps in prop::collection::vec((0_u8..8, 0_usize..4, any::<bool>(), 0_u64..20_000), 1..300),
    ) {
        let policy = HealthPolicy {
            active: Some(ActivePolicy::default()),
            outlier: Some(OutlierPolicy { max_ejected: 0.5, ..OutlierPolicy::default() }),
            slow_start: Some(SlowStart::default()),
        };
        let mut health = cluster(policy, 0);
        let mut known: BTreeMap<Arc<str>, Health> = BTreeMap::new();
        let mut speaks = [None; 4];
        let mut here = [false; 4];
        let mut admin = [Admin::Enabled; 4];
        let mut now = Nanos(0);
        for (what, which, good, wait) in steps {
            now = now + Nanos::from_millis(wait);
            let happenings = match what {
                0 | 1 => health.probed(&id(which), &ProbeResult { passed: good, seen: String::new() }, now),
                2 => runs(&mut health, &[if good { 0 } else { 9 }; 4][..=which], now),
                3 => {
                    let line = if good { "up" } else { "down" };
                    let line = AgentLine::parse(line.as_bytes()).expect("well-formed");
                    if here[which] {
                        speaks[which] = Some(good);
                    }
                    health.agent_said(&id(which), &line, now)
                }
                4 | 5 => {
                    here[which] |= good;
                    if what == 5 {
                        here[which] = good;
                        admin[which] = if good { Admin::Draining } else { Admin::Enabled };
                    }
                    let all = listed(4).zip(here).zip(admin).filter(|((_, here), _)| *here);
                    let all: Vec<Listed> = all
                        .map(|((listed, _), admin)| Listed { admin, has_agent: true, ..listed })
                        .collect();
                    let happenings = health.list(all.into_iter(), false, now);
                    for number in (0..4).filter(|number| !here[*number]) {
                        known.remove(&*id(number));
                        speaks[number] = None;
                    }
                    happenings
                }
                _ => health.tick(now),
            };
            for change in transitions(happenings) {
                let before = known.insert(Arc::clone(&change.id), change.to).unwrap_or_default();
                prop_assert_eq!(before, change.from);
                prop_assert!(change.from != change.to && !change.evidence.is_empty());
            }
            for number in 0..4 {
                let verdict = health.verdict(&id(number));
                prop_assert_eq!(verdict.is_some(), here[number]);
                let Some(verdict) = verdict else { continue };
                let told = known.get(&*id(number)).copied().unwrap_or_default();
                prop_assert_eq!(verdict.health, told, "a change that nobody was told of");
                if speaks[number] == Some(false) {
                    prop_assert_eq!(verdict.health, Health::Unhealthy, "its agent says it is down");
                }
            }
        }
    }

    /// Never more out than the cap, never the last good one, never without an event, and every ejection
    /// is over in its time.
    #[test]
    fn no_more_are_ejected_than_may_be(
        steps in prop::collection::vec((0_u8..4, prop::collection::vec(0_u32..12, 8), 0_u64..20_000), 1..200),
        share in 0.0_f64..1.0,
        count in 1_usize..8,
    ) {
        let policy = OutlierPolicy { max_ejected: share, ..OutlierPolicy::default() };
        let mut health = cluster(watched(policy), count);
        // Worked out here as well: the share, but one at least.
        let whole = if share > 0.0 { ((count as f64 * share + 1e-9) as usize).max(1) } else { 0 };
        let most = whole.min(count - 1);
        let mut now = Nanos(0);
        let mut known: BTreeMap<Arc<str>, Health> = BTreeMap::new();
        for (what, numbers, wait) in steps {
            now = now + Nanos::from_millis(wait);
            let happenings = match what {
                0 => runs(&mut health, &numbers[..count], now),
                1 => {
                    let ids: Vec<String> = (0..count).map(id).collect();
                    let observed = numbers.iter().map(|number| Observed {
                        successes: 100, failures: u64::from(*number) * 20, ..Observed::default()
                    });
                    health.interval(ids.iter().map(String::as_str).zip(observed), now)
                }
                _ => health.tick(now),
            };
            for change in transitions(happenings) {
                let before = known.insert(Arc::clone(&change.id), change.to).unwrap_or_default();
                prop_assert_eq!(before, change.from);
                if change.to == Health::Ejected {
                    let until = change.until.expect("an ejection ends by itself");
                    prop_assert!(until.since(now) <= at(330));
                }
            }
            prop_assert!(ejected(&health, count) <= most);
            for number in 0..count {
                let verdict = health.verdict(&id(number)).expect("it is there");
                let told = known.get(&*id(number)).copied().unwrap_or_default();
                prop_assert_eq!(verdict.health, told, "a change that nobody was told of");
            }
        }
        // All of them return by themselves.
        while let Some(next) = health.next_tick(now) {
            now = next;
            let _ = health.tick(now);
        }
        prop_assert_eq!(ejected(&health, count), 0);
    }
}

#[test]
fn failures_in_a_row_eject_for_a_time() {
    let mut health = cluster(watched(OutlierPolicy::default()), 3);
    assert!(runs(&mut health, &[4, 0, 1], at(1)).is_empty());
    let change = transitions(runs(&mut health, &[5, 0, 1], at(1))).remove(0);
    assert_eq!(
        (&*change.id, change.to, change.cause),
        ("e0", Health::Ejected, Cause::ConsecutiveFailures)
    );
    let until = change.until.expect("it ends");
    assert!((at(31)..=at(34)).contains(&until), "{until:?}");
    assert!(
        change.evidence.contains("5 requests in a row failed"),
        "{}",
        change.evidence
    );
    // One of three is the most.
    assert!(
        runs(&mut health, &[9, 5, 1], at(2))
            .iter()
            .all(|it| !matches!(it, Happening::Endpoint(_)))
    );
    assert!(health.tick(Nanos(until.0 - 1)).is_empty());
    let back = transitions(health.tick(until)).remove(0);
    assert_eq!(
        (back.to, back.cause),
        (Health::Healthy, Cause::EjectionOver)
    );
}

/// A single endpoint is never ejected, and of several never the last good one.
#[test]
fn the_last_good_one_stays() {
    let mut alone = cluster(watched(OutlierPolicy::default()), 1);
    assert!(runs(&mut alone, &[1000], at(1)).is_empty());
    let both = HealthPolicy {
        active: Some(ActivePolicy {
            fall: 1,
            ..ActivePolicy::default()
        }),
        ..watched(OutlierPolicy {
            max_ejected: 1.0,
            ..OutlierPolicy::default()
        })
    };
    let mut pair = cluster(both, 2);
    assert_eq!(probe(&mut pair, 0, false, at(1)).len(), 1);
    assert!(runs(&mut pair, &[0, 50], at(2)).is_empty());
}

/// Those that operators took out are none of those of which a share may be ejected, nor the good one that is left.
#[test]
fn the_cap_is_a_share_of_those_in_use() {
    let policy = OutlierPolicy {
        max_ejected: 0.25,
        ..OutlierPolicy::default()
    };
    let mut health = cluster(watched(policy), 0);
    let with_admin = |in_use: usize| {
        listed(8).enumerate().map(move |(at, listed)| Listed {
            admin: match at < in_use {
                true => Admin::Enabled,
                false => Admin::Disabled,
            },
            ..listed
        })
    };
    let _ = health.list(with_admin(4), true, Nanos(0));
    // One after the other, so that the cause is not shared.
    let _ = runs(&mut health, &[9, 0, 0, 0], at(1));
    let _ = runs(&mut health, &[0, 9, 0, 0], at(2));
    assert_eq!(ejected(&health, 8), 1);
    let mut health = cluster(watched(policy), 0);
    let _ = health.list(with_admin(1), true, Nanos(0));
    assert!(runs(&mut health, &[99], at(1)).is_empty());
}

/// When most fail at once the cause is taken to be shared: some are out, far fewer than the cap allows.
#[test]
fn a_shared_cause_stops_ejections() {
    let policy = OutlierPolicy {
        max_ejected: 1.0,
        ..OutlierPolicy::default()
    };
    let mut health = cluster(watched(policy), 10);
    let mut said = 0;
    for step in 0..100 {
        // All of them fail, more or less in turn.
        let failures: Vec<u32> = (0..10)
            .map(|number| step / 2 + u32::from(number % 2 == 0))
            .collect();
        let happenings = runs(&mut health, &failures, at(1));
        said += happenings
            .iter()
            .filter(|it| matches!(it, Happening::SharedCause { begins: true, .. }))
            .count();
    }
    assert_eq!((said, health.has_shared_cause()), (1, true));
    assert_eq!(ejected(&health, 10), 0);
    let ids: Vec<String> = (0..10).map(id).collect();
    let calm = ids.iter().map(|id| {
        (
            id.as_str(),
            Observed {
                successes: 100,
                ..Observed::default()
            },
        )
    });
    let over = health.interval(calm, at(11));
    assert!(
        matches!(over[..], [Happening::SharedCause { begins: false, .. }]),
        "{over:?}"
    );
}

/// The cap is counted in each tier, so that none of them is lost as a whole.
#[test]
fn the_cap_holds_in_each_tier() {
    let policy = OutlierPolicy {
        max_ejected: 0.5,
        ..OutlierPolicy::default()
    };
    let mut health = ClusterHealth::new(watched(policy), 1);
    let tiers = listed(8)
        .zip([0, 0, 1, 1, 1, 1, 1, 1])
        .map(|(listed, tier)| Listed { tier, ..listed });
    let _ = health.list(tiers, true, Nanos(0));
    let changes = runs(&mut health, &[9, 0, 9, 0, 0, 0, 0, 0], at(1));
    assert_eq!(changes.len(), 2);
    assert!(
        runs(&mut health, &[9, 9, 9, 0, 0, 0, 0, 0], at(2))
            .iter()
            .all(|it| matches!(it, Happening::SharedCause { .. }))
    );
    assert_eq!(ejected(&health, 8), 2);
}

#[test]
fn what_joins_or_returns_warms_up_and_what_starts_does_not() {
    let policy = HealthPolicy {
        active: Some(ActivePolicy {
            fall: 1,
            rise: 1,
            ..ActivePolicy::default()
        }),
        slow_start: Some(SlowStart::default()),
        outlier: None,
    };
    let mut health = cluster(policy, 3);
    assert_eq!(health.warmth("e0"), None);
    assert_eq!(probe(&mut health, 0, false, at(10)).len(), 1);
    assert_eq!(probe(&mut health, 0, true, at(50)).len(), 1);
    assert_eq!(health.warmth("e0"), Some((25, at(80))));
    // The window begins when it is back, however long it was out (case A21).
    let mut steps = vec![25];
    while let Some(next) = health.next_tick(at(50) + Nanos::from_millis(steps.len() as u64)) {
        assert!(next > at(50));
        let now = at(50) + Nanos::from_secs(steps.len() as u64);
        let _ = health.tick(now);
        steps.push(
            health
                .warmth("e0")
                .map_or(FULL_WEIGHT, |(warmth, _)| warmth),
        );
    }
    assert_eq!((steps.len(), steps[15], steps[30]), (31, 128, FULL_WEIGHT));
    assert!(steps.is_sorted(), "{steps:?}");
    let _ = health.list(listed(4), false, at(100));
    assert_eq!(health.warmth("e3"), Some((25, at(130))));
    // Three of five: nobody is spared.
    let _ = health.list(listed(6), false, at(101));
    assert_eq!(health.warmth("e3").map(|(warmth, _)| warmth), Some(25));
    let _ = health.list(listed(7), false, at(102));
    let _ = health.list(listed(8), false, at(103));
    assert_eq!(health.warmth("e3"), None, "five of eight warm up");
}

/// Who is drained and put back is as warm as it was, unless it was seen to restart; who was disabled is
/// taken to be cold.
#[test]
fn operators_who_put_back_what_is_warm_need_not_wait() {
    let active = ActivePolicy {
        fall: 1,
        rise: 1,
        ..ActivePolicy::default()
    };
    let policy = HealthPolicy {
        slow_start: Some(SlowStart::default()),
        ..checked(active)
    };
    let mut health = cluster(policy, 4);
    let with = |admin| {
        listed(4).map(move |listed| match &*listed.id {
            "e0" => Listed { admin, ..listed },
            _ => listed,
        })
    };
    let _ = health.list(with(Admin::Draining), false, at(1));
    let _ = health.list(with(Admin::Enabled), false, at(2));
    assert_eq!(health.warmth("e0"), None);
    let _ = health.list(with(Admin::Draining), false, at(10));
    let _ = probe(&mut health, 0, false, at(20));
    let _ = probe(&mut health, 0, true, at(30));
    let _ = health.list(with(Admin::Enabled), false, at(100));
    assert_eq!(health.warmth("e0"), Some((25, at(130))));
    let _ = health.list(with(Admin::Disabled), false, at(200));
    let _ = health.list(with(Admin::Enabled), false, at(201));
    assert_eq!(health.warmth("e0"), Some((25, at(231))));
}

#[test]
fn a_new_address_is_a_new_beginning_and_a_reload_is_none() {
    let policy = HealthPolicy {
        slow_start: Some(SlowStart::default()),
        ..checked(ActivePolicy::default())
    };
    let mut health = cluster(policy, 3);
    for second in 1..4 {
        let _ = probe(&mut health, 0, false, at(second));
    }
    let before = health.verdict("e0").cloned();
    assert_eq!(before.as_ref().map(|it| it.health), Some(Health::Unhealthy));
    assert!(health.list(listed(3), false, at(5)).is_empty());
    assert!(
        health
            .set_policy(
                checked(ActivePolicy {
                    rise: 3,
                    ..ActivePolicy::default()
                }),
                at(6)
            )
            .is_empty()
    );
    assert_eq!(health.verdict("e0").cloned(), before);
    let _ = health.set_policy(policy, at(6));
    let moved = listed(3).map(|listed| match &*listed.id {
        "e0" => Listed {
            address: "127.0.0.1:99".into(),
            ..listed
        },
        _ => listed,
    });
    let change = transitions(health.list(moved, false, at(7))).remove(0);
    assert_eq!(
        (change.to, change.cause),
        (Health::Healthy, Cause::NewAddress)
    );
    assert!(health.warmth("e0").is_some());
    let off = health.set_policy(HealthPolicy::default(), at(8));
    assert!(off.is_empty() && health.warmth("e0").is_none());
}

#[test]
fn what_is_turned_off_lets_go() {
    let mut health = cluster(
        checked(ActivePolicy {
            fall: 1,
            initial: Initial::ProbeFirst,
            ..ActivePolicy::default()
        }),
        2,
    );
    assert_eq!(
        health.verdict("e0").map(|it| it.health),
        Some(Health::Unhealthy)
    );
    let changes = transitions(health.set_policy(HealthPolicy::default(), at(1)));
    assert_eq!(changes.len(), 2);
    assert!(
        changes
            .iter()
            .all(|change| change.to == Health::Healthy && change.cause == Cause::TurnedOff)
    );
}

/// The word of an agent and that of checks are apart, and the worse one counts; each ends only what is its own. The
/// word is that of one agent: it is gone with it.
#[test]
fn an_agent_has_a_say_of_its_own() {
    let mut health = cluster(checked(ActivePolicy::default()), 2);
    let said = |health: &mut ClusterHealth, line: &str, second| {
        let line = AgentLine::parse(line.as_bytes()).expect("well-formed");
        transitions(health.agent_said("e0", &line, at(second)))
    };
    let now = |health: &ClusterHealth| health.verdict("e0").expect("it is there").clone();
    let down = said(&mut health, "down#disk", 1).remove(0);
    assert_eq!((down.to, down.cause), (Health::Unhealthy, Cause::AgentDown));
    assert!(said(&mut health, "down#fire", 2).is_empty());
    assert!(now(&health).reason.contains("(fire), until it says up"));
    assert!(said(&mut health, "75%", 2).is_empty(), "that says nothing");
    for second in 3..8 {
        assert!(probe(&mut health, 0, true, at(second)).is_empty());
    }
    for second in 8..11 {
        assert!(probe(&mut health, 0, false, at(second)).is_empty());
    }
    assert!(now(&health).reason.contains("checks in a row failed"));
    // Its checks keep it out by now, and let go of it before its agent does or after.
    assert!(said(&mut health, "up", 11).is_empty());
    assert_eq!(now(&health).health, Health::Unhealthy);
    assert!(said(&mut health, "stopped", 12).is_empty());
    for second in 13..15 {
        assert!(probe(&mut health, 0, true, at(second)).is_empty());
    }
    assert!(
        now(&health)
            .reason
            .contains("its agent says that it is down")
    );
    let mut listed: Vec<Listed> = listed(2).collect();
    let gone = transitions(health.list(listed.clone().into_iter(), false, at(16)));
    assert_eq!(
        (gone[0].to, gone[0].cause),
        (Health::Healthy, Cause::TurnedOff)
    );
    listed[0].has_agent = true;
    assert!(
        health
            .list(listed.clone().into_iter(), false, at(17))
            .is_empty()
    );
    let _ = said(&mut health, "failed", 18);
    assert!(
        health.list(listed.into_iter(), false, at(19)).is_empty(),
        "it stays"
    );
    let up = said(&mut health, "up", 20).remove(0);
    assert_eq!((up.to, up.cause), (Health::Healthy, Cause::AgentUp));
}
