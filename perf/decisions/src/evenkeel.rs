//! Ours, as a worker of the gateway uses it: a look whether there is a new snapshot, then a pick with
//! the key's hash given. Every strategy of the registry is measured, so a new one needs no line here.

use crate::contender::{Build, Case, Contender, Entry, address, weight};
use anyhow::Result;
use evenkeel_core::strategy::registry::{DEFAULT, Descriptor, STRATEGIES};
use evenkeel_core::{
    Endpoint, Lease, Membership, Nanos, PickContext, Picker, PickerSeed, Published, Reader, Rng,
    Snapshot,
};
use std::hint::black_box;
use std::sync::Arc;

const SYSTEM: &str = "evenkeel";
/// Latency never changes here, so the time of a pick only has to be some time.
const NOW: Nanos = Nanos(1_000_000_000);
const SEED: u64 = 7;

pub(crate) fn entries() -> Vec<Entry> {
    STRATEGIES.iter().copied().map(entry).collect()
}

fn entry(strategy: &'static Descriptor) -> Entry {
    // Only the strategies named so: the rivals' counterparts of the others have no weights.
    let weighted = strategy.name.starts_with("weighted_");
    let weight = if weighted { weight } else { |_| 1 };
    let entry = Entry::new(SYSTEM, strategy.name, build(strategy.name, weight));
    // A lease costs the same under every strategy.
    Entry {
        lease_row: strategy.name == DEFAULT,
        ..entry
    }
}

struct Evenkeel {
    snapshot: &'static Snapshot,
    reader: Reader<Snapshot>,
    picker: Picker,
    keys: Rng,
    held: Vec<Lease<'static>>,
}

impl Contender for Evenkeel {
    fn pick(&mut self, picks: usize) {
        let Self {
            snapshot,
            reader,
            picker,
            keys,
            held,
        } = self;
        held.extend((0..picks).map(|_| {
            black_box(reader.refresh());
            let context = PickContext::at(NOW).with_key(keys.next_u64());
            let lease = picker.pick(snapshot, &context);
            lease.expect("every endpoint is in service")
        }));
    }

    fn release(&mut self) {
        self.held.clear();
    }
}

fn build(strategy: &'static str, weight: fn(usize) -> u16) -> Build {
    Box::new(move |case| {
        let snapshot = Arc::new(snapshot(strategy, case, weight)?);
        let published = Arc::new(Published::new(Arc::clone(&snapshot)));
        // Leases that are held borrow the snapshot, so it stays for the life of the program.
        let snapshot: &'static Arc<Snapshot> = Box::leak(Box::new(snapshot));
        let contender = |thread: usize| {
            let seed = PickerSeed {
                root: SEED,
                picker: thread as u32,
            };
            let contender = Evenkeel {
                snapshot,
                reader: Reader::new(Arc::clone(&published)),
                picker: Picker::new(seed),
                keys: Rng::new(thread as u64),
                held: Vec::new(),
            };
            Box::new(contender) as Box<dyn Contender>
        };
        Ok((0..case.threads).map(contender).collect())
    })
}

fn snapshot(strategy: &str, case: Case, weight: fn(usize) -> u16) -> Result<Snapshot> {
    let mut members = Membership::new(
        "bench",
        evenkeel_core::strategy::registry::build(strategy, &[])?,
    );
    for i in 0..case.endpoints {
        members.upsert(Endpoint::new(format!("endpoint-{i}"), address(i)).with_weight(weight(i)));
    }
    Ok(members.snapshot())
}
