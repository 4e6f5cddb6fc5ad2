//! A pick allocates nothing, whatever it meets.

use std::sync::Arc;

use allocation_counter::measure;
use evenkeel_core::strategy::Strategy;
use evenkeel_core::{
    Endpoint, Membership, Nanos, Outcome, PickContext, Picker, PickerSeed, Receipt, Shadow,
    ShadowPicker, Snapshot, Witness,
};
use evenkeel_testkit::laws::forms;

/// Small and large, with cycles that are written down and such that are not, with tiers and caps.
fn snapshots(strategy: &Arc<dyn Strategy>) -> Vec<Snapshot> {
    let shape = |size: usize, heaviest: u16, cap: Option<u32>| {
        let mut members = Membership::new("allocations", Arc::clone(strategy));
        for at in 0..size {
            let weight = if at == 0 { heaviest } else { 1 + at as u16 % 5 };
            let endpoint = Endpoint::new(format!("e{at:04}"), "10.0.0.1:80").with_weight(weight);
            let endpoint = endpoint.with_tier(u8::from(at >= size - size / 4));
            members.upsert(match cap {
                Some(cap) => endpoint.with_capacity(cap),
                None => endpoint,
            });
        }
        // Two of tier 0: the small cluster spills over.
        for at in 1..3 {
            members
                .set_healthy(&format!("e{at:04}"), false)
                .expect("known");
        }
        members.snapshot()
    };
    [6, 1_000]
        .into_iter()
        .flat_map(|size| {
            [
                shape(size, 3, None),
                shape(size, 65_521, None),
                shape(size, 3, Some(2)),
            ]
        })
        .collect()
}

/// Picks that are finished, fail, are tried again, refused, and end with every slot taken.
fn exercise(picker: &mut Picker, snapshot: &Snapshot) {
    for round in 0..40 {
        let now = Nanos::from_millis(round);
        let mut ctx = PickContext::at(now).with_key(round);
        for _ in 0..10 {
            let Ok(lease) = picker.pick(snapshot, &ctx) else {
                break;
            };
            ctx.attempts.push(lease.state().serial());
            lease.finish(Outcome::Failure, now);
        }
    }
    // Held in place, without a list that would grow.
    let mut held = [const { None }; 24];
    for slot in &mut held {
        *slot = picker.pick(snapshot, &PickContext::default()).ok();
    }
}

#[test]
fn a_pick_allocates_nothing() {
    for (_, strategy) in forms() {
        for snapshot in snapshots(&strategy) {
            let mut picker = Picker::new(PickerSeed { root: 5, picker: 0 });
            // The first pick on a snapshot makes the cursors.
            drop(picker.pick(&snapshot, &PickContext::default()));
            let seen = measure(|| exercise(&mut picker, &snapshot));
            let size = snapshot.endpoints().len();
            assert_eq!(seen.count_total, 0, "{strategy:?} over {size} endpoints");
        }
    }
}

/// A receipt's memory is used again: once it is as long as it gets, tracing allocates nothing.
#[test]
fn a_traced_pick_uses_its_receipt_again() {
    for (_, strategy) in forms() {
        for snapshot in snapshots(&strategy) {
            let mut picker = Picker::new(PickerSeed { root: 5, picker: 0 });
            let mut receipt = Receipt::default();
            receipt.draws.reserve(100);
            receipt.candidates.reserve(100);
            let ctx = PickContext::default();
            drop(picker.pick_traced(&snapshot, &ctx, &mut receipt));
            let seen = measure(|| {
                for _ in 0..100 {
                    drop(picker.pick_traced(&snapshot, &ctx, &mut receipt));
                }
            });
            assert_eq!(seen.count_total, 0, "{strategy:?}");
        }
    }
}

/// The counter counts: else the tests above would say nothing.
#[test]
fn the_counter_counts() {
    assert_eq!(
        measure(|| drop(std::hint::black_box(Box::new(1)))).count_total,
        1
    );
}

/// A shadow decides on the same path as the live strategy, and holds what it chose.
#[test]
fn a_shadow_allocates_nothing() {
    for (_, strategy) in forms() {
        let live = snapshots(&strategy).swap_remove(0);
        let snapshot = Shadow::new("allocations", strategy).follow(&live);
        let mut witness = Witness::default();
        witness.follow(&live);
        for index in 0..live.candidates().len() {
            witness.saw(index, Outcome::Success, Nanos::from_millis(9), 1);
        }
        let mut picker = ShadowPicker::new(PickerSeed { root: 5, picker: 0 });
        let mut round = |ms: u64| {
            let ctx = PickContext::at(Nanos::from_millis(ms)).with_key(ms);
            let (index, held) = picker.pick(&snapshot, &ctx, &witness).expect("uncapped");
            assert!(held.is_none());
            witness.saw(index, Outcome::Success, Nanos::from_millis(ms % 20), 1);
        };
        round(0);
        // Ten times what it may hold, so that it has to end some before their time.
        let seen = measure(|| (1..100_000).for_each(|n| round(n / 10_000)));
        assert_eq!(seen.count_total, 0, "{:?}", snapshot.strategy());
    }
}
