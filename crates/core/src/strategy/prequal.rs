//! The fastest of the endpoints last heard of that is not among the busiest.
//!
//! Source: Wydrowski et al., "Load is not what you should balance: Introducing Prequal", NSDI 2024. The
//! pool and its rule are in `pool.rs`. What endpoints report comes through [`crate::Picker::report`];
//! beside it each decision looks at one endpoint drawn by weight, as this process sees it, so that no
//! endpoint is forgotten.

use std::sync::Arc;

use super::alias::AliasTable;
use super::least_request::least_request;
use super::params::{Kind, Param};
use super::pool::{POOL_MAX, Pool, Report, Upkeep};
use super::registry::{Descriptor, Traits};
use super::{Cursor, Inputs, Members, Params, Place, Strategy, Table, Value};
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
    params: &[Param {
        name: "pool",
        kind: Kind::Integer(2, POOL_MAX as u64),
        default: "16",
        doc: "how many endpoints are remembered",
    }],
    traits: Traits {
        weighted: true,
        load_aware: true,
        latency_aware: true,
        ..Traits::NONE
    },
    build: |params: &Params| {
        Arc::new(Prequal {
            pool: params.integer("pool", 16) as usize,
        })
    },
};

/// How many endpoints are looked at for each decision.
const LOOKS: f64 = 1.0;

#[derive(Debug)]
struct Prequal {
    pool: usize,
}

impl Strategy for Prequal {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn params(&self) -> Vec<(&'static str, Value)> {
        vec![("pool", Value::Integer(self.pool as u64))]
    }

    fn takes_reports(&self) -> bool {
        true
    }

    fn table(&self, members: &Members<'_>) -> Box<dyn Table> {
        Box::new(PoolTable {
            alias: AliasTable::new(members),
            upkeep: Upkeep::new(self.pool, LOOKS, members.eligible().len()),
            without: least_request(members),
        })
    }
}

#[derive(Debug)]
struct PoolTable {
    alias: AliasTable,
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
        let seen = self.alias.draw(inputs);
        let pool = match cursor {
            Cursor::Own(own) => own.as_any().downcast_mut::<Pool>(),
            _ => None,
        }?;
        if inputs.is_replaying() {
            *pool = self.recorded(inputs);
        } else {
            pool.expire(inputs.now());
            pool.insert(inputs.see(seen));
        }
        let usable = if inputs.nobody_refused() {
            pool.all()
        } else {
            pool.usable(|index| !inputs.is_refused(index))
        };
        let Some((best, bar)) = pool.best(usable) else {
            inputs.note_fallback(Fallback::NoReports);
            return self.without.choose(&mut Cursor::None, inputs);
        };
        let index = pool.entries()[best].report.index;
        if inputs.is_traced() {
            for entry in pool.entries() {
                inputs.note_report(&entry.report, entry.pressure, entry.pressure > bar);
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
