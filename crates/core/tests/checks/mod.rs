//! Checks on a virtual clock: when a death is noticed, what flapping comes to, how long a round takes.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_core::health::{
    ActivePolicy, ClusterHealth, Health, HealthPolicy, Listed, ProbeResult, ProbeSchedule,
};
use evenkeel_core::{Admin, Nanos};

/// What a check at that time finds: whether it passes and after how long. A hung one takes for ever.
type Behaviour<'b> = &'b dyn Fn(&str, Nanos) -> (bool, Nanos);

const MS: u64 = 1_000_000;
const HUNG: (bool, Nanos) = (false, Nanos(u64::MAX));

/// A cluster whose checks are made on a virtual clock.
struct World<'b> {
    policy: ActivePolicy,
    health: ClusterHealth,
    schedule: ProbeSchedule,
    behaviour: Behaviour<'b>,
    /// Checks under way by their end.
    ends: BTreeMap<(Nanos, Arc<str>), (Nanos, bool)>,
    /// When each was checked, in order.
    begun: BTreeMap<Arc<str>, Vec<Nanos>>,
    changes: Vec<(Nanos, Arc<str>, Health)>,
    most_under_way: usize,
}

impl<'b> World<'b> {
    fn new(ids: &[Arc<str>], behaviour: Behaviour<'b>, seed: u64) -> Self {
        let policy = ActivePolicy::default();
        let mut health = ClusterHealth::new(
            HealthPolicy {
                active: Some(policy),
                ..HealthPolicy::default()
            },
            seed,
        );
        let listed = ids.iter().map(|id| Listed {
            id: Arc::clone(id),
            address: Arc::clone(id),
            tier: 0,
            admin: Admin::Enabled,
            has_agent: false,
        });
        let _ = health.list(listed, true, Nanos(0));
        let mut schedule = ProbeSchedule::new(seed);
        for id in ids {
            schedule.add(id, policy.interval, Nanos(0));
        }
        Self {
            policy,
            health,
            schedule,
            behaviour,
            ends: BTreeMap::new(),
            begun: BTreeMap::new(),
            changes: Vec::new(),
            most_under_way: 0,
        }
    }

    fn run_until(&mut self, end: Nanos) {
        loop {
            let ending = self.ends.keys().next().map(|(at, _)| *at);
            let next = self.schedule.next().into_iter().chain(ending).min();
            let Some(now) = next.filter(|now| *now < end) else {
                return;
            };
            self.end_checks(now);
            self.begin_checks(now);
        }
    }

    fn end_checks(&mut self, now: Nanos) {
        while let Some(((at, id), (began, passed))) = self.ends.pop_first() {
            if at > now {
                self.ends.insert((at, id), (began, passed));
                return;
            }
            let result = ProbeResult {
                passed,
                seen: String::new(),
            };
            for happening in self.health.probed(&id, &result, at) {
                if let evenkeel_core::health::Happening::Endpoint(change) = happening {
                    self.changes.push((at, change.id, change.to));
                }
            }
            let pace = self.health.pace(&id, at).expect("it is checked");
            assert!(self.schedule.done(&id, began, pace, at), "it is there");
        }
    }

    fn begin_checks(&mut self, now: Nanos) {
        while let Some(id) = self.schedule.begin(now) {
            self.begun.entry(Arc::clone(&id)).or_default().push(now);
            let (passed, took) = (self.behaviour)(&id, now);
            let in_time = took <= self.policy.timeout;
            let took = took.min(self.policy.timeout);
            let twice = self.ends.keys().any(|(_, other)| *other == id);
            assert!(
                !twice || self.ends.len() > 1000,
                "no two checks of one endpoint at a time"
            );
            self.ends.insert((now + took, id), (now, passed && in_time));
        }
        self.most_under_way = self.most_under_way.max(self.schedule.under_way());
    }

    /// When the endpoint first left service.
    fn removed_at(&self) -> Option<Nanos> {
        let out = self
            .changes
            .iter()
            .find(|(_, _, health)| !health.is_usable());
        out.map(|(at, _, _)| *at)
    }
}

/// A hung or dead endpoint is out within 3 s, in whatever phase of its checks it dies.
#[test]
fn a_death_is_noticed_within_three_seconds_in_every_phase() {
    let ids: [Arc<str>; 1] = ["a".into()];
    let mut worst = Nanos(0);
    for phase in 0..1_000 {
        let death = Nanos::from_millis(5_000 + phase * 11 / 10);
        for hung in [true, false] {
            let behaviour = move |_: &str, now: Nanos| match (now < death, hung) {
                (true, _) => (true, Nanos(2 * MS)),
                (false, true) => HUNG,
                (false, false) => (false, Nanos(MS / 10)),
            };
            let mut world = World::new(&ids, &behaviour, phase);
            world.run_until(Nanos::from_secs(10));
            let took = world.removed_at().expect("it is removed").since(death);
            worst = worst.max(took);
        }
    }
    println!("a thousand phases: {} ms at worst", worst.as_millis());
    assert!(worst <= Nanos::from_secs(3), "{worst:?}");
    // What it takes without jitter is 2.5 s.
    assert!(worst >= Nanos::from_millis(2_400), "{worst:?}");
}

/// An endpoint that comes and goes every 25 s for five minutes is admitted three times at most.
#[test]
fn flapping_is_damped() {
    let ids: [Arc<str>; 1] = ["a".into()];
    for seed in 0..20 {
        let behaviour = |_: &str, now: Nanos| match now.0 / (25_000 * MS) % 2 {
            0 => (true, Nanos(MS)),
            _ => (false, Nanos(MS)),
        };
        let mut world = World::new(&ids, &behaviour, seed);
        world.run_until(Nanos::from_secs(300));
        let changes = world.changes.iter();
        let admissions = changes.filter(|(_, _, health)| *health == Health::Healthy);
        // From suspect back to healthy is no admission; it never passes in the middle of a bad spell.
        let admissions = admissions.count();
        assert!((1..=3).contains(&admissions), "{admissions}");
    }
}

/// With ten thousand endpoints of which a tenth hangs, each of the others is still checked once in every
/// interval, and the checks under way stay within their bound.
#[test]
fn a_round_of_ten_thousand_takes_no_longer_than_the_interval() {
    let ids: Vec<Arc<str>> = (0..10_000).map(|at| format!("e{at:05}").into()).collect();
    let behaviour = |id: &str, _: Nanos| match id.ends_with('7') {
        true => HUNG,
        false => (true, Nanos(3 * MS)),
    };
    let mut world = World::new(&ids, &behaviour, 3);
    world.run_until(Nanos::from_secs(6));
    assert!(world.most_under_way <= 1_250, "{}", world.most_under_way);
    for id in &ids {
        let begun = &world.begun[id];
        let gaps = begun.windows(2).map(|pair| pair[1].since(pair[0]));
        let longest = gaps.max().expect("it is checked again and again");
        assert!(begun[0] < Nanos::from_secs(1), "{id}: {:?}", begun[0]);
        assert!(longest <= Nanos::from_millis(1_100), "{id}: {longest:?}");
    }
    // They are spread from the start on: no millisecond has more than a few times its share of ten.
    let mut at_start = [0_u32; 1000];
    for begun in world.begun.values() {
        at_start[(begun[0].0 / MS) as usize] += 1;
    }
    assert!(
        at_start.iter().all(|count| *count < 40),
        "{:?}",
        at_start.iter().max()
    );
    let out = world
        .changes
        .iter()
        .filter(|(_, _, health)| *health == Health::Unhealthy);
    assert_eq!(out.count(), 1_000);
}

/// Nobody is asked who is gone, and nobody twice who comes again.
#[test]
fn the_schedule_follows_the_list() {
    let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
    let (second, now) = (Nanos::from_secs(1), Nanos::from_secs(9));
    let mut schedule = ProbeSchedule::new(1);
    schedule.add(&a, second, Nanos(0));
    schedule.add(&a, second, Nanos(0));
    schedule.hurry(&b, Nanos(0));
    assert_eq!(schedule.begin(Nanos(0)).as_deref(), Some("b"));
    assert_eq!(schedule.begin(now).as_deref(), Some("a"));
    assert_eq!((schedule.begin(now), schedule.next()), (None, None));
    schedule.remove("a");
    assert_eq!((schedule.under_way(), schedule.ids().count()), (1, 1));
    assert!(!schedule.done("a", now, second, now));
    assert!(schedule.done("b", now, second, now));
    let next = schedule.next().expect("b goes on").since(now);
    assert!((Nanos::from_millis(900)..=Nanos::from_millis(1_100)).contains(&next));
}
