//! What the sources of the stress test claim, beside what comes out here.

use std::time::Duration;

use evenkeel_config::{Amount, Fault, FaultKind, Scenario, Source, Stage, Variant};

use crate::report::Figures;
use crate::run::{Comparison, Options, compare};
use crate::tally::Tally;

/// The scenario that claims are made of.
const SIX_BACKENDS: &str = "six-backends";

/// The target that capacities are measured at, in milliseconds at p99.
const TARGET_MS: f64 = 280.0;

/// How long one run in the search for a capacity lasts, and when it begins to count: weights that follow load
/// need most of a minute.
const LASTING: Duration = Duration::from_secs(60);
const WARMUP: Duration = Duration::from_secs(40);

/// Whose capacities are looked for.
const MEASURED: [&str; 3] = ["round_robin", "least_request", "dynamic"];

/// How often the search halves what is left.
const HALVINGS: u32 = 6;

/// A claim, and what holds of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What is claimed.
    pub what: String,
    /// The sources' figures.
    pub theirs: String,
    /// Ours.
    pub ours: String,
    /// Whether the direction holds.
    pub holds: bool,
}

impl Claim {
    /// The verdict in a word.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        if self.holds { "yes" } else { "no" }
    }
}

/// The highest rate that a variant serves within the target while one of the backends is slowed by a third.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityAt {
    /// The variant.
    pub label: String,
    /// Requests a second.
    pub rate: f64,
}

/// The capacities of the variants of a scenario, if it is the one that claims are made of.
#[must_use]
pub fn capacities(name: &str, scenario: &Scenario, options: &Options) -> Vec<CapacityAt> {
    if name != SIX_BACKENDS {
        return Vec::new();
    }
    let variants = scenario.variants.iter();
    let variants = variants.filter(|variant| MEASURED.contains(&variant.label.as_str()));
    let capacity = |variant: &Variant| CapacityAt {
        label: variant.label.clone(),
        rate: capacity(scenario, variant, options),
    };
    variants.map(capacity).collect()
}

fn capacity(scenario: &Scenario, variant: &Variant, options: &Options) -> f64 {
    let (mut low, mut high) = (8_000.0, 13_000.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high).round();
        let run = compare(&slowed(scenario, variant, middle), options, &|_| {});
        let tally = &run.results[0];
        let lost = tally.counts.failure_rate() + tally.counts.shed_rate();
        if Figures::of(&tally.counts).p99 <= TARGET_MS && lost <= 0.001 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn slowed(scenario: &Scenario, variant: &Variant, rate: f64) -> Scenario {
    let mut scenario = Scenario {
        variants: vec![variant.clone()],
        references: false,
        ..scenario.clone()
    };
    scenario.load.amount = Amount::Lasting(LASTING);
    scenario.load.warmup = WARMUP;
    if let Source::Open { stages, .. } = &mut scenario.load.source {
        *stages = vec![Stage {
            rate,
            lasting: Duration::MAX,
        }];
    }
    scenario.faults = vec![Fault {
        at: Duration::ZERO,
        lasting: None,
        every: None,
        backends: vec![0],
        clients: None,
        kind: FaultKind::Slow(1.33),
    }];
    scenario
}

/// What the sources claim of a scenario, beside its results; empty for all but the stress test.
#[must_use]
pub fn claims(name: &str, comparison: &Comparison, capacities: &[CapacityAt]) -> Vec<Claim> {
    let find = |label: &str| comparison.results.iter().find(|tally| tally.label == label);
    let (true, Some(turns), Some(smooth)) = (
        name == SIX_BACKENDS,
        find("round_robin"),
        find("weighted_round_robin"),
    ) else {
        return Vec::new();
    };
    // What reacts to load: their dynamic weights, or whatever of ours does best.
    let others = comparison
        .results
        .iter()
        .filter(|tally| !tally.label.contains("round_robin"));
    let by_p99 = |one: &&Tally, other: &&Tally| busy(one).p99.total_cmp(&busy(other).p99);
    let Some(best) = others.clone().min_by(by_p99) else {
        return Vec::new();
    };
    let dynamic = find("dynamic").unwrap_or(best);
    let mut claims = vec![
        deviation(turns, smooth, dynamic),
        p99(turns, dynamic),
        failures(turns, dynamic),
    ];
    claims.extend(more_traffic(capacities));
    claims
}

/// The busy stage that everybody can still serve.
fn busy(tally: &Tally) -> Figures {
    tally.stages.get(1).map_or_else(
        || Figures::of(&tally.counts),
        |stage| Figures::of(&stage.counts),
    )
}

fn deviation(turns: &Tally, smooth: &Tally, dynamic: &Tally) -> Claim {
    let of = |tally: &Tally| {
        tally
            .stages
            .get(1)
            .map_or(0.0, |stage| stage.count_stddev())
    };
    let (one, two, three) = (of(turns), of(smooth), of(dynamic));
    Claim {
        what: "counts of the endpoints over ten minutes at 12,000 a second: smooth weights are more even than plain \
               turns, dynamic ones more than both"
            .to_owned(),
        theirs: "standard deviation 1500, 400, 180".to_owned(),
        ours: format!("{one:.0}, {two:.0}, {three:.0} ({})", dynamic.label),
        holds: one > two && two > three,
    }
}

fn p99(turns: &Tally, dynamic: &Tally) -> Claim {
    let (one, two) = (busy(turns).p99, busy(dynamic).p99);
    Claim {
        what: "p99 at 12,000 a second falls from turns to weights that follow load".to_owned(),
        theirs: "800 ms to 280 ms".to_owned(),
        ours: format!("{one:.0} ms to {two:.0} ms ({})", dynamic.label),
        holds: two < one * 0.8,
    }
}

fn failures(turns: &Tally, dynamic: &Tally) -> Claim {
    let (one, two) = (busy(turns).failure_rate, busy(dynamic).failure_rate);
    Claim {
        what: "so do failures".to_owned(),
        theirs: "0.35 % to 0.02 %".to_owned(),
        ours: format!(
            "{:.3} % to {:.3} % ({})",
            one * 100.0,
            two * 100.0,
            dynamic.label
        ),
        holds: two < one * 0.5,
    }
}

fn more_traffic(capacities: &[CapacityAt]) -> Option<Claim> {
    let of = |label: &str| capacities.iter().find(|one| one.label == label);
    let others = capacities.iter().filter(|one| one.label != "round_robin");
    let most = others.max_by(|one, other| one.rate.total_cmp(&other.rate))?;
    let turns = of("round_robin")?;
    let gain = most.rate / turns.rate - 1.0;
    Some(Claim {
        what: format!(
            "the same machines take more traffic: the most with p99 within {TARGET_MS} ms while one machine is slowed by a third"
        ),
        theirs: "30 % more".to_owned(),
        ours: format!(
            "{:.0} % more: {:.0} a second, {:.0} by turns ({})",
            gain * 100.0,
            most.rate,
            turns.rate,
            most.label
        ),
        holds: gain >= 0.2,
    })
}
