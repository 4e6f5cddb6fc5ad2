//! The fastest of the endpoints last heard of that is not among the busiest.
//!
//! Source: Wydrowski et al., "Load is not what you should balance: Introducing Prequal", NSDI 2024. The
//! pool and its rule are in `pool.rs`. What endpoints report comes through [`crate::Picker::report`]: piggy-backed
//! on answers, or because the host asks for it, as `probe_path` says. Without probes each decision looks at
//! one endpoint drawn by weight too, as this process sees it, so that no endpoint is forgotten. With them it
//! does not: one gateway of many sees little of a load, so what it sees would look inviting beside what is said.

use std::sync::Arc;

use super::alias::AliasTable;
use super::least_request::least_request;
use super::params::{Kind, Param};
use super::pool::{POOL_MAX, Pool, Report, Upkeep};
use super::registry::{Descriptor, Traits};
use super::{Cursor, Inputs, Members, Params, Place, Probing, Strategy, Table, Value};
use crate::pick::receipt::Fallback;

/// Describes `prequal`.
pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    name: "prequal",
    aliases: &[],
    summary: "the fastest of the endpoints last heard of that is not among the busiest",
    advice: "For many callers that each see little of an endpoint's load, when endpoints report it. \
             Without reports it knows only what this process sees and is no better than peak_ewma. \
             Until two endpoints are known, it chooses as least_request does. Latency decides before \
             load: shares follow weights where latencies are alike.",
    cost: "O(pool)",
    source: "Wydrowski et al., NSDI 2024",
    params: &[
        Param {
            name: "probe_path",
            kind: Kind::Path,
            default: "",
            doc: "asks endpoints for their load at this path; without it load reports and what the gateway \
                  sees fill the pool",
        },
        Param {
            name: "probe_rate",
            kind: Kind::Number(0.01, 10.0),
            default: "3",
            doc: "how many endpoints are asked for each request",
        },
        Param {
            name: "pool",
            kind: Kind::Integer(2, POOL_MAX as u64),
            default: "16",
            doc: "how many endpoints are remembered",
        },
    ],
    traits: Traits {
        weighted: true,
        load_aware: true,
        latency_aware: true,
        ..Traits::NONE
    },
    build: |params: &Params| {
        Arc::new(Prequal {
            pool: params.integer("pool", 16) as usize,
            probe_path: params.text("probe_path").map(Arc::from),
            probe_rate: params.number("probe_rate", 3.0),
        })
    },
};

/// How many endpoints are looked at for each decision.
const LOOKS: f64 = 1.0;

#[derive(Debug)]
struct Prequal {
    pool: usize,
    probe_path: Option<Arc<str>>,
    probe_rate: f64,
}

impl Strategy for Prequal {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn params(&self) -> Vec<(&'static str, Value)> {
        let path = self.probe_path.as_ref();
        let path = path.map(|path| ("probe_path", Value::Text(path.to_string())));
        let others = [
            ("probe_rate", Value::Number(self.probe_rate)),
            ("pool", Value::Integer(self.pool as u64)),
        ];
        path.into_iter().chain(others).collect()
    }

    fn goes_by_load(&self) -> bool {
        true
    }

    fn probing(&self) -> Option<Probing> {
        let path = self.probe_path.clone()?;
        let rate = self.probe_rate;
        Some(Probing { path, rate })
    }

    fn takes_reports(&self) -> bool {
        true
    }

    fn table(&self, members: &Members<'_>) -> Box<dyn Table> {
        let looks = self.probe_path.is_none();
        let rate = if looks { LOOKS } else { self.probe_rate };
        Box::new(PoolTable {
            alias: looks.then(|| AliasTable::new(members)),
            upkeep: Upkeep::new(self.pool, rate, members.eligible().len()),
            without: least_request(members),
        })
    }
}

#[derive(Debug)]
struct PoolTable {
    /// What is looked at for each decision, without probes.
    alias: Option<AliasTable>,
    upkeep: Upkeep,
    /// What chooses as long as too little is known.
    without: Box<dyn Table>,
}

impl Table for PoolTable {
    fn cursor(&self, _place: Place) -> Cursor {
        Cursor::Own(Box::new(Pool::new(self.upkeep)))
    }

    #[inline]
    fn choose(&self, cursor: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
        let seen = self.alias.as_ref().map(|alias| alias.draw(inputs));
        let pool = match cursor {
            Cursor::Own(own) => own.as_any().downcast_mut::<Pool>(),
            _ => None,
        }?;
        if inputs.is_replaying() {
            *pool = self.recorded(inputs);
        } else {
            pool.expire(inputs.now());
            if let Some(seen) = seen {
                pool.insert_seen(inputs.see(seen));
            }
        }
        let best = if inputs.nobody_refused() {
            pool.best()
        } else {
            pool.best_of(|index| !inputs.is_refused(index))
        };
        let Some((best, bar)) = best else {
            inputs.note_fallback(Fallback::NoReports);
            return self.without.choose(&mut Cursor::None, inputs);
        };
        let index = pool.entries()[best].report.index;
        if inputs.is_traced() {
            for (at, entry) in pool.entries().iter().enumerate() {
                let pressure = pool.pressure(at);
                inputs.note_report(&entry.report, pressure, pressure > bar);
            }
        }
        pool.spend(best, bar);
        Some(index)
    }
}

impl PoolTable {
    /// The pool as it was when the decision was made.
    #[cold]
    fn recorded(&self, inputs: &mut Inputs<'_>) -> Pool {
        let mut pool = Pool::new(self.upkeep);
        let mut reports: Vec<Report> = Vec::new();
        while reports.len() < self.upkeep.size
            && let Some(report) = inputs.recorded_report(&reports)
        {
            reports.push(report);
        }
        for report in reports {
            pool.insert(report);
        }
        pool
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::registry;
    use crate::{
        Endpoint, LoadReport, Membership, Nanos, PickContext, Picker, PickerSeed, Snapshot,
    };
    use crate::{Receipt, Score};

    #[test]
    fn a_receipt_tells_who_was_among_the_busiest() {
        let mut members =
            Membership::new("web", registry::build("prequal", &[]).expect("registered"));
        for id in ["a", "b", "c"] {
            members.upsert(Endpoint::new(id, "10.0.0.1:80"));
        }
        let snapshot = members.snapshot();
        let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
        let at = PickContext::at(Nanos::from_secs(100));
        for (candidate, in_flight) in snapshot.candidates().iter().zip([1, 9, 1]) {
            let latency = Some(Nanos::from_millis(10));
            picker.report(
                &snapshot,
                candidate.serial(),
                LoadReport { in_flight, latency },
                at.now,
            );
        }
        let mut receipt = Receipt::default();
        let lease = picker.pick_traced(&snapshot, &at, &mut receipt);
        assert_ne!(lease.expect("they are open").index(), 1);
        let hot = receipt
            .candidates
            .iter()
            .filter(|one| matches!(one.score, Score::Hot(..)));
        let hot: Vec<u32> = hot.map(|one| one.index).collect();
        assert_eq!(hot, [1]);
    }

    /// With probes only reports count, and those of a second ago no more.
    #[test]
    fn old_reports_are_not_gone_by() {
        let path = ("probe_path".to_owned(), Value::Text("/load".to_owned()));
        let strategy = registry::build("prequal", &[path]).expect("a path");
        let mut members = Membership::new("web", strategy);
        for id in ["a", "b"] {
            members.upsert(Endpoint::new(id, "10.0.0.1:80"));
        }
        let snapshot = members.snapshot();
        let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
        let told = Nanos::from_secs(100);
        for (candidate, ms) in snapshot.candidates().iter().zip([90, 10]) {
            let said = LoadReport {
                in_flight: 1,
                latency: Some(Nanos::from_millis(ms)),
            };
            picker.report(&snapshot, candidate.serial(), said, told);
        }
        let mut pick = |snapshot: &Snapshot, ms| {
            let at = PickContext::at(told + Nanos::from_millis(ms));
            let lease = picker.pick(snapshot, &at).expect("they are open");
            (lease.index(), lease.fallback())
        };
        assert_eq!(pick(&snapshot, 1_000), (1, None), "the faster");
        // They go along to the next generation, where the other one, less busy now, has the next place.
        members.upsert(Endpoint::new("0", "10.0.0.1:80"));
        assert_eq!(pick(&members.snapshot(), 1_000), (1, None));
        assert_eq!(
            pick(&members.snapshot(), 1_001).1,
            Some(Fallback::NoReports)
        );
    }
}
