//! How evenly fleets would use the endpoints of a cluster with subsets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use evenkeel_config::{Cluster, Config, SubsetRules};
use evenkeel_core::SubsetBalance;

/// How many fleets are looked at, each with other names; fewer of large ones, and of how many pairs of a gateway
/// and an endpoint in all.
const FLEETS: usize = 10;
const PAIRS: usize = 10_000_000;

/// Names of gateways and ids of endpoints.
type Names = Vec<Arc<str>>;

/// What to say of all clusters with subsets, for fleets of so many gateways; `endpoints`: of so many endpoints,
/// instead of those that are configured.
pub(super) fn report(config: &Config, gateways: &[u16], endpoints: Option<u32>) -> String {
    let mut report = String::new();
    for cluster in &config.clusters {
        if let Some(rules) = cluster.subset {
            let count = endpoints.map_or_else(|| largest_tier(cluster), |count| count as usize);
            of_cluster(&mut report, &cluster.name, rules, count, gateways);
        }
    }
    report
}

/// How many endpoints the largest tier has: each tier has a subset of its own.
fn largest_tier(cluster: &Cluster) -> usize {
    let mut tiers: BTreeMap<u8, usize> = BTreeMap::new();
    for endpoint in &cluster.endpoints {
        *tiers.entry(endpoint.tier()).or_default() += 1;
    }
    tiers.into_values().max().unwrap_or(0)
}

fn of_cluster(out: &mut String, name: &str, rules: SubsetRules, count: usize, gateways: &[u16]) {
    let (size, method) = (rules.size, rules.method.as_str());
    // Writing to a string does not fail.
    if count <= size as usize {
        let all = match count {
            0 => "no endpoints are configured".to_owned(),
            _ => format!("a subset of {size} takes all of {count} endpoints"),
        };
        let _ = writeln!(
            out,
            "{name}: {all}; --endpoints 200 shows what it would be of as many"
        );
        return;
    }
    let _ = writeln!(
        out,
        "{name}: subsets of {size} of {count} endpoints by {method}, if all gateways send alike\n\
         gateways  busiest    worst  unused  moved"
    );
    for gateways in gateways {
        let fleets = (PAIRS / (usize::from(*gateways) * count)).clamp(1, FLEETS);
        let balances: Vec<SubsetBalance> = (0..fleets)
            .map(|fleet| balance(rules, fleet, usize::from(*gateways), count))
            .collect();
        let mean = |of: fn(&SubsetBalance) -> f64| {
            balances.iter().map(of).sum::<f64>() / balances.len() as f64
        };
        let worst = balances.iter().map(|balance| balance.busiest);
        let worst = worst.fold(0.0, f64::max);
        let unused = balances.iter().map(|balance| balance.unused);
        let _ = writeln!(
            out,
            "{gateways:>8}  {:>6.2}x  {worst:>6.2}x  {:>6}  {:>4.0}%",
            mean(|balance| balance.busiest),
            unused.max().unwrap_or(0),
            mean(|balance| balance.moved) * 100.0,
        );
    }
}

fn balance(rules: SubsetRules, fleet: usize, gateways: usize, count: usize) -> SubsetBalance {
    let names = |what: &str, count: usize| -> Names {
        let all = 0..count;
        all.map(|at| format!("{what}-{fleet}-{at:05}").into())
            .collect()
    };
    let (callers, endpoints) = (names("gateway", gateways), names("endpoint", count));
    SubsetBalance::of(rules.method, rules.size as usize, &callers, &endpoints)
}
