//! The cheaper of two, drawn by weight: cost is how long an endpoint takes to answer, times how many
//! requests it has in flight, over its weight.
//!
//! Source: Finagle's `PeakEwma`; tower, linkerd and brpc have it too. Latency is peak-sensitive: see
//! [`crate::PeakEwma`].

use std::sync::Arc;

use super::alias::AliasTable;
use super::params::{Kind, Param};
use super::registry::{Descriptor, Traits};
use super::{Cursor, Inputs, Members, Params, Place, Reading, Strategy, Table, Value};
use crate::clock::Nanos;
use crate::load::Cost;

/// Describes `peak_ewma`.
pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    name: "peak_ewma",
    aliases: &[],
    summary: "the cheaper of two by latency and load, drawn by weight",
    advice: "For short requests to endpoints of unequal or changing speed: a slow answer is noticed with \
             the answer, not when requests have piled up. For long polls and streams latency says \
             nothing: use least_request. Failures count as slow answers, so an endpoint that fails fast \
             is no bait. On an idle cluster the heavier endpoint wins nearly always; shares follow \
             weights once there is load.",
    cost: "O(1), two endpoints are compared",
    source: "Finagle, Peak EWMA; choice of two as in Mitzenmacher 2001",
    params: &[
        Param {
            name: "decay",
            kind: Kind::Duration(Nanos::from_millis(100), Nanos::from_secs(600)),
            default: "10s",
            doc: "in this time what is known of an endpoint's latency fades by a factor of e",
        },
        Param {
            name: "default_latency",
            kind: Kind::Duration(Nanos::from_millis(1), Nanos::from_secs(30)),
            default: "30ms",
            doc: "the latency of an endpoint that has not answered, until the cluster has a median",
        },
        Param {
            name: "tie",
            kind: Kind::Number(0.0, 0.9),
            default: "0.15",
            doc: "costs that differ by less than this share are ties, decided by weight",
        },
    ],
    traits: Traits {
        weighted: true,
        load_aware: true,
        latency_aware: true,
        ..Traits::NONE
    },
    build: |params: &Params| {
        Arc::new(PeakEwma {
            decay: params.duration("decay", Nanos::from_secs(10)),
            default_latency: params.duration("default_latency", Nanos::from_millis(30)),
            tie: params.number("tie", 0.15),
        })
    },
};

/// Up to so many endpoints all are compared: drawing distinct ones by weight distorts the shares of
/// small sets.
const SCAN: usize = 4;

/// How often an endpoint that was drawn before is drawn again, before it is accepted.
const REDRAWS: usize = 4;

#[derive(Debug)]
struct PeakEwma {
    decay: Nanos,
    default_latency: Nanos,
    tie: f64,
}

impl Strategy for PeakEwma {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn params(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("decay", Value::Duration(self.decay)),
            ("default_latency", Value::Duration(self.default_latency)),
            ("tie", Value::Number(self.tie)),
        ]
    }

    fn latency_decay(&self) -> Option<Nanos> {
        Some(self.decay)
    }

    fn table(&self, members: &Members<'_>) -> Box<dyn Table> {
        let few = members.eligible().len() <= SCAN;
        Box::new(CostTable {
            alias: AliasTable::new(members),
            all: if few {
                members.eligible().into()
            } else {
                Box::default()
            },
            unknown: members.median_latency().unwrap_or(self.default_latency),
            clear: Margin::new(self.tie),
        })
    }
}

/// By how much a cost must be below another not to tie with it.
#[derive(Clone, Copy, Debug)]
struct Margin {
    /// What is left of the other, in 1/1024.
    part: u64,
}

impl Margin {
    fn new(tie: f64) -> Self {
        Self {
            part: ((1.0 - tie) * 1024.0) as u64,
        }
    }

    #[inline]
    fn is_clear(self, cost: Cost, other: Cost) -> bool {
        cost.is_below(other, self.part)
    }
}

#[derive(Debug)]
struct CostTable {
    alias: AliasTable,
    /// All that are eligible, if they are few.
    all: Box<[u32]>,
    /// The latency of an endpoint that has not answered.
    unknown: Nanos,
    clear: Margin,
}

impl Table for CostTable {
    fn cursor(&self, _place: Place) -> Cursor {
        Cursor::None
    }

    #[inline]
    fn choose(&self, _cursor: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
        if self.all.is_empty() {
            Some(self.choose_of_two(inputs))
        } else {
            self.choose_of_all(inputs)
        }
    }
}

impl CostTable {
    /// A tie goes to the one drawn first, so by weight.
    #[inline]
    fn choose_of_two(&self, inputs: &mut Inputs<'_>) -> u32 {
        let first = self.alias.draw(inputs);
        let mut other = self.alias.draw(inputs);
        for _ in 0..REDRAWS {
            if other != first {
                break;
            }
            other = self.alias.draw(inputs);
        }
        if other == first {
            return first;
        }
        let (reading, other_reading) = (inputs.read(first), inputs.read(other));
        // One that has not answered is taken to be like the other: so it gets its share by load, and
        // neither a flood nor nothing at all.
        let known = reading.latency.or(other_reading.latency);
        let unknown = known.unwrap_or(self.unknown);
        let cost = inputs.cost(first, reading, unknown);
        let other_cost = inputs.cost(other, other_reading, unknown);
        let wins = self.clear.is_clear(other_cost, cost) || inputs.is_refused(first);
        if wins && !inputs.is_refused(other) {
            other
        } else {
            first
        }
    }

    /// Those that tie with the cheapest are drawn from by weight.
    fn choose_of_all(&self, inputs: &mut Inputs<'_>) -> Option<u32> {
        let mut readings = [None; SCAN];
        for (index, slot) in self.all.iter().zip(&mut readings) {
            if !inputs.is_refused(*index) {
                *slot = Some(inputs.read(*index));
            }
        }
        let unknown = typical(&readings).unwrap_or(self.unknown);
        let mut costs = [None; SCAN];
        let mut least: Option<Cost> = None;
        for ((index, reading), slot) in self.all.iter().zip(readings).zip(&mut costs) {
            let Some(reading) = reading else { continue };
            let cost = inputs.cost(*index, reading, unknown);
            *slot = Some(cost);
            if least.is_none_or(|least| cost.is_below(least, 1024)) {
                least = Some(cost);
            }
        }
        let least = least?;
        let tied = |cost: &Option<Cost>| cost.filter(|cost| !self.clear.is_clear(least, *cost));
        let weight = |cost: &Option<Cost>| tied(cost).map_or(0, |cost| u64::from(cost.weight));
        let total = costs.iter().map(weight).sum();
        let (ticket, _) = inputs.draw(total);
        let mut sum = 0;
        let winner = costs.iter().position(|cost| {
            sum += weight(cost);
            sum > ticket
        });
        self.all.get(winner?).copied()
    }
}

/// The mean of the latencies that are known.
fn typical(readings: &[Option<Reading>]) -> Option<Nanos> {
    let known = || {
        readings
            .iter()
            .flatten()
            .filter_map(|reading| reading.latency)
    };
    let sum: u64 = known().map(|latency| latency.0).sum();
    sum.checked_div(known().count() as u64).map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::registry;
    use crate::{Endpoint, Membership, Outcome, PickContext, Picker, PickerSeed, Receipt};

    fn members(param: &str, value: Nanos) -> Membership {
        let param = (param.to_owned(), Value::Duration(value));
        let strategy = registry::build("peak_ewma", &[param]).expect("in range");
        let mut members = Membership::new("web", strategy);
        for number in 0..6 {
            members.upsert(Endpoint::new(format!("e{number}"), "10.0.0.1:80"));
        }
        members
    }

    /// The latencies that were compared in some picks, of all endpoints in turn.
    fn compared(members: &mut Membership, now: Nanos) -> Vec<Option<Nanos>> {
        let snapshot = members.snapshot();
        let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
        let mut receipt = Receipt::default();
        let mut latencies = Vec::new();
        for _ in 0..50 {
            let lease = picker.pick_traced(&snapshot, &PickContext::at(now), &mut receipt);
            drop(lease.expect("all are open"));
            latencies.extend(receipt.candidates.iter().map(|compared| compared.latency));
        }
        latencies.sort_unstable();
        latencies.dedup();
        latencies
    }

    fn answer(members: &mut Membership, took: Nanos) {
        let snapshot = members.snapshot();
        let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
        let lease = picker.pick(&snapshot, &PickContext::at(Nanos(0)));
        lease.expect("all are open").finish(Outcome::Success, took);
    }

    #[test]
    fn who_has_not_answered_is_taken_to_be_usual() {
        let default = Nanos::from_millis(70);
        let mut members = members("default_latency", default);
        assert_eq!(compared(&mut members, Nanos(0)), [Some(default)]);
        let took = Nanos::from_millis(10);
        answer(&mut members, took);
        assert_eq!(compared(&mut members, took), [Some(took)]);
    }

    /// Others do not go by latencies, and show them: they fade within seconds, not at once.
    #[test]
    fn a_latency_fades_slowly_where_nobody_goes_by_it() {
        let strategy = registry::build("least_request", &[]).expect("registered");
        let mut members = Membership::new("web", strategy);
        members.upsert(Endpoint::new("a", "10.0.0.1:80"));
        let took = Nanos::from_millis(100);
        answer(&mut members, took);
        let snapshot = members.snapshot();
        let shown = snapshot.candidates()[0]
            .latency(took + Nanos::from_secs(1), snapshot.terms.latency_decay);
        assert!(shown > Some(Nanos::from_millis(90)), "{shown:?}");
    }

    #[test]
    fn a_latency_fades_as_fast_as_is_wanted() {
        let mut members = members("decay", Nanos::from_secs(1));
        let took = Nanos::from_millis(100);
        answer(&mut members, took);
        let seen = compared(&mut members, took + Nanos::from_secs(1));
        let faded = seen.iter().flatten().min().expect("some").0 as f64 / 1e6;
        assert!((faded - 36.788).abs() < 0.01, "{seen:?}");
    }
}
