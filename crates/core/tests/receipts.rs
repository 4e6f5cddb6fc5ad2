//! Explanations lead to their choice, and what was changed in them is found.
//!
//! Random clusters in random states: weights, tiers, health, caps, failures, requests in flight,
//! endpoints that had been tried; also with every slot taken.

use evenkeel_core::strategy::{Place, Value, registry};
use evenkeel_core::{
    Compared, Endpoint, Exclusion, Fallback, KeyPolicy, LabelSelector, Lease, Load, Membership,
    Nanos, NoEndpoint, Outcome, PickContext, Picker, PickerSeed, QueuePolicy, Receipt, Refusal,
    Score, Snapshot, Subset, WaitingRoom, Watermarks,
};
use evenkeel_testkit::laws::forms;
use proptest::prelude::*;

/// One endpoint of a random cluster.
#[derive(Clone, Debug)]
struct Spec {
    weight: u16,
    factor: u16,
    tier: u8,
    cap: Option<u32>,
    healthy: bool,
    zone: u8,
}

fn spec() -> impl Strategy<Value = Spec> {
    let weight = prop_oneof![4 => 1u16..6, 1 => Just(0), 1 => 60_000u16..=65_535];
    let factor = prop_oneof![4 => Just(256u16), 1 => 1u16..256];
    let tier = prop_oneof![3 => Just(0u8), 1 => 1u8..3];
    let cap = prop_oneof![2 => Just(None), 1 => (1u32..6).prop_map(Some)];
    let healthy = prop::bool::weighted(0.8);
    let all = (weight, factor, tier, cap, healthy, 0u8..3);
    all.prop_map(|(weight, factor, tier, cap, healthy, zone)| Spec {
        weight,
        factor,
        tier,
        cap,
        healthy,
        zone,
    })
}

/// A random cluster, a strategy, what happens before, and how many endpoints have been tried.
#[derive(Clone, Debug)]
struct Scene {
    specs: Vec<Spec>,
    strategy: usize,
    root: u64,
    held: usize,
    failures: usize,
    tried: usize,
    capped: bool,
    policies: Policies,
}

/// What else a cluster may be told, and whether its requests have keys.
#[derive(Clone, Copy, Debug, Default)]
struct Policies {
    zones: bool,
    subset: bool,
    bounded: bool,
    view: u16,
    keyless: bool,
    marks: bool,
    queue: bool,
}

fn policies() -> impl Strategy<Value = Policies> {
    let flags = any::<(bool, bool, bool, bool, bool, bool)>();
    (flags, 0u16..4).prop_map(
        |((zones, subset, bounded, keyless, marks, queue), view)| Policies {
            zones,
            subset,
            bounded,
            view,
            keyless,
            marks,
            queue,
        },
    )
}

fn scene() -> impl Strategy<Value = Scene> {
    (
        prop_oneof![3 => prop::collection::vec(spec(), 1..12), 1 => prop::collection::vec(spec(), 12..90)],
        0..forms().len(),
        any::<u64>(),
        (0usize..60, 0usize..5, 0usize..10, any::<bool>()),
        policies(),
    )
        .prop_map(|(specs, strategy, root, (held, failures, tried, capped), policies)| Scene {
            specs,
            strategy,
            root,
            held,
            failures,
            tried,
            capped,
            policies,
        })
}

const NOW: Nanos = Nanos::from_secs(50);

impl Policies {
    fn apply(self, members: &mut Membership) {
        members.set_zone(self.zones.then(|| "z1".into()));
        members.set_subset(self.subset.then(|| Subset::new(7, "gw-1")));
        members.set_key_policy(KeyPolicy {
            bounded_load: self.bounded.then_some(1.5),
            ..KeyPolicy::default()
        });
        let marks = Watermarks::new(0.7, 0.4).filter(|_| self.marks);
        members.set_watermarks(marks);
        let queue = || WaitingRoom::new(QueuePolicy::default()).into();
        members.set_waiting_room(self.queue.then(queue));
        members.set_views(vec![
            LabelSelector::new([("class", "gold")]),
            LabelSelector::new([("class", "gold")]).or_any(),
            LabelSelector::new([("class", "lead")]).or_any(),
        ]);
    }
}

impl Scene {
    fn snapshot(&self) -> Snapshot {
        let (_, strategy) = forms().swap_remove(self.strategy);
        let mut members = Membership::new("receipts", strategy);
        for (at, spec) in self.specs.iter().enumerate() {
            let id = format!("e{at:03}");
            let mut endpoint = Endpoint::new(id.clone(), "10.0.0.1:80").with_tier(spec.tier);
            endpoint = endpoint.with_weight(spec.weight);
            endpoint = endpoint.with_zone(format!("z{}", spec.zone));
            endpoint = endpoint.with_label("class", ["tin", "gold"][usize::from(spec.zone) % 2]);
            if let Some(cap) = spec.cap.or(self.capped.then_some(2)) {
                endpoint = endpoint.with_capacity(cap);
            }
            members.upsert(endpoint);
            members.set_factor(&id, spec.factor).expect("known");
            members.set_healthy(&id, spec.healthy).expect("known");
        }
        self.policies.apply(&mut members);
        members.snapshot()
    }

    fn picker(&self) -> Picker {
        Picker::new(PickerSeed {
            root: self.root,
            picker: 3,
        })
    }

    /// What happens before the picks that are looked at.
    fn prepare<'s>(&self, picker: &mut Picker, snapshot: &'s Snapshot) -> Vec<Lease<'s>> {
        let ctx = PickContext::at(NOW).with_view(self.policies.view);
        for _ in 0..self.failures {
            if let Ok(lease) = picker.pick(snapshot, &ctx) {
                lease.finish(Outcome::Failure, Nanos(NOW.0 - self.root % 300_000_000));
            }
        }
        let held = (0..self.held).map(|_| picker.pick(snapshot, &ctx));
        held.filter_map(Result::ok).collect()
    }

    fn context(&self, snapshot: &Snapshot) -> PickContext {
        let mut ctx = PickContext::at(NOW).with_view(self.policies.view);
        ctx.key = (!self.policies.keyless).then_some(self.root);
        let candidates = snapshot.candidates().iter().cycle();
        let first = self.root as usize % self.specs.len();
        for candidate in candidates
            .skip(first)
            .take(self.tried.min(self.specs.len()))
        {
            ctx.attempts.push(candidate.serial());
        }
        ctx
    }

    /// Some traced picks with their receipts, held to the end.
    fn receipts(&self, snapshot: &Snapshot) -> Vec<Receipt> {
        let mut picker = self.picker();
        let mut held = self.prepare(&mut picker, snapshot);
        let ctx = self.context(snapshot);
        let mut receipts = Vec::new();
        for _ in 0..6 {
            let mut receipt = Receipt::default();
            held.extend(picker.pick_traced(snapshot, &ctx, &mut receipt).ok());
            receipts.push(receipt);
        }
        receipts
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// Derived when all loads are long gone, so nothing can come from shared state.
    #[test]
    fn a_receipt_leads_to_its_choice(scene in scene()) {
        let snapshot = scene.snapshot();
        for receipt in scene.receipts(&snapshot) {
            prop_assert_eq!(receipt.derive(&snapshot), Ok(()));
        }
    }

    /// On a snapshot that was built again from its record.
    #[test]
    fn a_record_leads_to_the_same_choices(scene in scene()) {
        let snapshot = scene.snapshot();
        let rebuilt = snapshot.record().rebuild().expect("no id is listed twice");
        for receipt in scene.receipts(&snapshot) {
            prop_assert_eq!(receipt.derive(&rebuilt), Ok(()));
        }
    }

    /// A decision that is tried out is the one that would be made, and takes nothing.
    #[test]
    fn trying_out_changes_nothing(scene in scene()) {
        let snapshot = scene.snapshot();
        let mut prepared = scene.picker();
        let held = scene.prepare(&mut prepared, &snapshot);
        let in_flight = || -> Vec<u32> {
            let all = snapshot.candidates().iter();
            all.map(|candidate| candidate.state().in_flight().count()).collect()
        };
        let (before, ctx) = (in_flight(), scene.context(&snapshot));
        let (mut tried, mut made) = (Receipt::default(), Receipt::default());
        let chosen = scene.picker().try_out(&snapshot, &ctx, &mut tried).ok();
        prop_assert_eq!(in_flight(), before);
        prop_assert_eq!(tried.derive(&snapshot), Ok(()));
        let lease = scene.picker().pick_traced(&snapshot, &ctx, &mut made);
        prop_assert_eq!(chosen, lease.as_ref().ok().map(|lease| lease.index() as u32));
        prop_assert_eq!(tried, made);
        drop(held);
    }

    /// Two clusters built alike: tracing changes no choice.
    #[test]
    fn tracing_changes_no_choice(scene in scene()) {
        let (left, right) = (scene.snapshot(), scene.snapshot());
        let (mut traced, mut plain) = (scene.picker(), scene.picker());
        let mut held = (scene.prepare(&mut traced, &left), scene.prepare(&mut plain, &right));
        let contexts = (scene.context(&left), scene.context(&right));
        let mut receipt = Receipt::default();
        for _ in 0..12 {
            let with = traced.pick_traced(&left, &contexts.0, &mut receipt);
            let without = plain.pick(&right, &contexts.1);
            let seen = |choice: &Result<Lease<'_>, _>| match choice {
                Ok(lease) => Ok((lease.index(), lease.fallback())),
                Err(error) => Err(*error),
            };
            prop_assert_eq!(seen(&with), seen(&without));
            let chosen = with.as_ref().ok().map(|lease| lease.index() as u32);
            prop_assert_eq!(receipt.chosen, chosen);
            held.0.extend(with.ok());
            held.1.extend(without.ok());
        }
    }

    #[test]
    fn what_is_changed_is_found(scene in scene(), at in any::<prop::sample::Index>()) {
        let snapshot = scene.snapshot();
        for receipt in scene.receipts(&snapshot) {
            for (what, changed) in changes(&receipt, &at) {
                let found = changed.derive(&snapshot).is_err();
                prop_assert!(found, "{} of {:?}", what, receipt);
            }
        }
    }
}

/// Changes that can be told from a receipt's own words. A draw, and which endpoint had been tried,
/// are inputs: only if another one leads elsewhere is it found.
fn changes(receipt: &Receipt, at: &prop::sample::Index) -> Vec<(&'static str, Receipt)> {
    let mut all = Vec::new();
    let mut change = |what, edit: &dyn Fn(&mut Receipt)| {
        let mut changed = receipt.clone();
        edit(&mut changed);
        all.push((what, changed));
    };
    change("generation", &|receipt| receipt.generation += 1);
    change("tier", &|receipt| receipt.tier ^= 1);
    change("chosen", &|receipt| {
        receipt.chosen = receipt.chosen.map_or(Some(0), |chosen| Some(chosen + 1));
    });
    change("nobody", &|receipt| {
        receipt.nobody = match receipt.nobody {
            Some(NoEndpoint::AllFull) => None,
            _ => Some(NoEndpoint::AllFull),
        };
    });
    change("fallback", &|receipt| {
        receipt.fallback = match receipt.fallback {
            Some(Fallback::Tier) => None,
            _ => Some(Fallback::Tier),
        };
    });
    change("one more draw", &|receipt| receipt.draws.push(7));
    change("form of the cursor", &|receipt| {
        receipt.cursor = match receipt.cursor {
            Some(place) => Some(Place::new(place.at, place.of - 1)),
            None => Some(Place::START),
        };
    });
    if !receipt.candidates.is_empty() {
        let at = at.index(receipt.candidates.len());
        change("load", &|receipt| {
            receipt.candidates[at].load.in_flight += 1
        });
        change("weight", &|receipt| receipt.candidates[at].weight += 1);
        // Which endpoints had reported is an input: only if another one leads elsewhere is it found.
        let report = matches!(
            receipt.candidates[at].score,
            Score::Cold(..) | Score::Hot(..)
        );
        if !report {
            change("index", &|receipt| receipt.candidates[at].index += 1);
            change("one less", &|receipt| {
                receipt.candidates.remove(at);
            });
        }
        change("latency", &|receipt| {
            let latency = &mut receipt.candidates[at].latency;
            *latency = Some(Nanos(latency.map_or(1, |latency| latency.0 + 1)));
        });
    }
    all.extend(changed_refusals(receipt, at));
    all
}

/// Changes of who was full, as far as anyone was.
fn changed_refusals(receipt: &Receipt, at: &prop::sample::Index) -> Vec<(&'static str, Receipt)> {
    let refused = receipt.excluded.iter();
    let full = refused
        .filter(|other| matches!(other.refusal, Refusal::Full | Refusal::Saturated))
        .count();
    if full == 0 {
        return Vec::new();
    }
    // Those that had been tried come first.
    let at = receipt.excluded.len() - full + at.index(full);
    let [mut reason, mut level] = [receipt.clone(), receipt.clone()];
    let [mut who, mut less] = [receipt.clone(), receipt.clone()];
    level.excluded[at].refusal = match level.excluded[at].refusal {
        Refusal::Full => Refusal::Saturated,
        _ => Refusal::Full,
    };
    reason.excluded[at].refusal = Refusal::NotInService;
    who.excluded[at].index += 1;
    less.excluded.remove(at);
    vec![
        ("why one refused", reason),
        ("at which level one refused", level),
        ("who refused", who),
        ("one less refused", less),
    ]
}

/// In turn the next place always leads to another endpoint.
#[test]
fn another_place_in_the_schedule_is_found() {
    for (strategy, weights) in [
        ("round_robin", [1, 1, 1]),
        ("weighted_round_robin", [65_535, 64_000, 63_001]),
    ] {
        let strategy = registry::build(strategy, &[]).expect("registered");
        let mut members = Membership::new("receipts", strategy);
        for (at, weight) in weights.into_iter().enumerate() {
            let endpoint = Endpoint::new(format!("e{at}"), "10.0.0.1:80");
            members.upsert(endpoint.with_weight(weight));
        }
        let snapshot = members.snapshot();
        let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
        let mut receipts = [Receipt::default(), Receipt::default()];
        for receipt in &mut receipts {
            let lease = picker.pick_traced(&snapshot, &PickContext::at(NOW), receipt);
            drop(lease.expect("an endpoint"));
        }
        let changed = Receipt {
            cursor: receipts[1].cursor,
            ..receipts[0].clone()
        };
        assert_eq!(receipts[0].derive(&snapshot), Ok(()));
        assert!(changed.derive(&snapshot).is_err(), "{changed:?}");
    }
}

/// Three in turn with a slot each.
fn three_slots() -> Snapshot {
    let strategy = registry::build("round_robin", &[]).expect("registered");
    let mut members = Membership::new("receipts", strategy);
    for id in ["a", "b", "c"] {
        members.upsert(Endpoint::new(id, "10.0.0.1:80").with_capacity(1));
    }
    members.snapshot()
}

/// What only a race leads to, written by hand: all are full one after the other, though a slot was
/// free all the time. The search begins again, gives those that were full another chance, and only
/// them: the first endpoint had been tried.
#[test]
fn a_slot_that_moves_is_found() {
    let refused = |index, refusal| Exclusion { index, refusal };
    let compared = |index, in_flight| Compared {
        index,
        weight: 256,
        load: Load {
            in_flight,
            penalty: 0,
        },
        latency: None,
        score: Score::LoadOverWeight(u64::from(in_flight) << 8, 256),
    };
    let receipt = Receipt {
        generation: 1,
        attempt: 1,
        cursor: Some(Place::new(0, 3)),
        draws: vec![0, 0],
        candidates: vec![compared(1, 1), compared(2, 0)],
        excluded: vec![
            refused(0, Refusal::Tried),
            refused(1, Refusal::Full),
            refused(2, Refusal::Full),
        ],
        chosen: Some(2),
        fallback: Some(Fallback::Scan),
        ..Receipt::default()
    };
    assert_eq!(receipt.derive(&three_slots()), Ok(()));
}

/// An endpoint without a cap is never full, so nobody can pretend that it was.
#[test]
fn a_made_up_refusal_is_found() {
    let snapshot = Scene {
        specs: vec![
            Spec {
                weight: 1,
                factor: 256,
                tier: 0,
                cap: None,
                healthy: true,
                zone: 0,
            };
            3
        ],
        strategy: 0,
        root: 1,
        held: 0,
        failures: 0,
        tried: 0,
        capped: false,
        policies: Policies::default(),
    };
    let snapshot = snapshot.snapshot();
    let made_up = |excluded| Receipt {
        generation: 1,
        cursor: Some(Place::new(0, 3)),
        chosen: Some(1),
        excluded,
        ..Receipt::default()
    };
    let refusal = Refusal::Full;
    let full = made_up(vec![Exclusion { index: 0, refusal }]);
    assert!(full.derive(&snapshot).is_err());
    assert_eq!(full.derive(&three_slots()), Ok(()), "with a cap it may be");
}

/// A decision reads each load once, however many it draws.
#[test]
fn a_load_is_read_once() {
    let integer = |name: &str, n| (name.to_owned(), Value::Integer(n));
    let choices = [integer("scan", 0), integer("choices", 10)];
    let strategy = registry::build("least_request", &choices).expect("registered");
    let mut members = Membership::new("receipts", strategy);
    for at in 0..8 {
        members.upsert(Endpoint::new(format!("e{at}"), "10.0.0.1:80"));
    }
    let snapshot = members.snapshot();
    let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
    let mut receipt = Receipt::default();
    for _ in 0..200 {
        drop(picker.pick_traced(&snapshot, &PickContext::at(NOW), &mut receipt));
        let mut read: Vec<u32> = receipt.candidates.iter().map(|one| one.index).collect();
        let count = read.len();
        read.sort_unstable();
        read.dedup();
        assert_eq!(read.len(), count, "{receipt:?}");
    }
}

/// Receipts come from files: nonsense must not make a derivation panic.
#[test]
fn nonsense_is_refused() {
    let strategy = registry::build("weighted_round_robin", &[]).expect("registered");
    let mut members = Membership::new("receipts", strategy);
    members.upsert(Endpoint::new("a", "10.0.0.1:80").with_weight(65_535));
    members.upsert(Endpoint::new("b", "10.0.0.2:80").with_weight(32_768));
    let snapshot = members.snapshot();
    let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
    let mut receipt = Receipt::default();
    drop(picker.pick_traced(&snapshot, &PickContext::at(NOW), &mut receipt));
    for place in [
        Place::new(9, 0),
        Place::new(u64::MAX, 1),
        Place::new(5, u64::MAX),
    ] {
        let mut nonsense = receipt.clone();
        nonsense.cursor = Some(place);
        nonsense.attempt = 200;
        for one in &mut nonsense.candidates {
            one.index = u32::MAX;
        }
        nonsense.excluded = vec![
            Exclusion {
                index: 77,
                refusal: Refusal::Tried,
            };
            40
        ];
        assert!(nonsense.derive(&snapshot).is_err());
    }
}

/// Lost races for the last slots are inputs: receipts hold under contention too.
#[test]
fn receipts_hold_under_contention() {
    for (at, (_, strategy)) in forms().into_iter().enumerate() {
        let mut members = Membership::new("receipts", strategy);
        for at in 0..24 {
            let endpoint = Endpoint::new(format!("e{at:02}"), "10.0.0.1:80");
            let endpoint = endpoint.with_tier(u8::from(at >= 20));
            members.upsert(endpoint.with_weight(1 + at % 3).with_capacity(1));
        }
        let snapshot = members.snapshot();
        std::thread::scope(|scope| {
            for picker in 0..4 {
                let snapshot = &snapshot;
                let seed = PickerSeed {
                    root: at as u64,
                    picker,
                };
                scope.spawn(move || trace_and_derive(snapshot, Picker::new(seed)));
            }
        });
    }
}

/// Up to seven requests of this thread are held at once: all four fill the cluster.
fn trace_and_derive(snapshot: &Snapshot, mut picker: Picker) {
    let mut held = std::collections::VecDeque::new();
    let mut receipt = Receipt::default();
    for _ in 0..1_500 {
        let picked = picker.pick_traced(snapshot, &PickContext::at(NOW), &mut receipt);
        held.extend(picked.ok());
        assert_eq!(receipt.derive(snapshot), Ok(()));
        if held.len() == 7 {
            held.drain(..3);
        }
    }
}
