//! A queueing model as a scenario.

use std::sync::Arc;

use evenkeel_config::{Environment, StrategyChoice, parse_scenario};
use evenkeel_core::strategy::Strategy;
use evenkeel_sim::{Options, Tally, compare};

pub(crate) const RANDOM: &str = "[\"random\"]";

pub(crate) struct Model {
    pub(crate) servers: u32,
    pub(crate) load: f64,
    pub(crate) service: &'static str,
    pub(crate) discipline: &'static str,
    pub(crate) arrivals: &'static str,
    pub(crate) slots: f64,
    pub(crate) strategies: &'static str,
    /// Takes the place of the first of those.
    pub(crate) policy: Option<Arc<dyn Strategy>>,
    pub(crate) requests: u64,
    /// How often lengths of queues are looked at.
    pub(crate) sample: Option<&'static str>,
}

impl Model {
    pub(crate) fn fifo(servers: u32, load: f64, strategies: &'static str) -> Self {
        Self {
            servers,
            load,
            service: "exponential(1ms)",
            discipline: "fifo",
            arrivals: "poisson",
            slots: 1.0,
            strategies,
            policy: None,
            requests: if load < 0.95 { 1_200_000 } else { 4_000_000 },
            sample: None,
        }
    }

    /// The times in the texts hold in equilibrium: the beginning is left out.
    fn scenario(&self) -> String {
        let rate = self.load * self.slots * f64::from(self.servers) * 1000.0;
        let sample = self.sample.map(|every| format!("sample = \"{every}\"\n"));
        format!(
            "references = false\n[load]\nrequests = {}\nrate = {rate}\nwarmup = \"1s\"\narrivals = \"{}\"\n{}\
             [[backend]]\ncount = {}\nservice = \"{}\"\ndiscipline = \"{}\"\nconcurrency = {}\n\
             [cluster]\nstrategies = {}\nretry = false\noutlier = false\ntimeout = {{ response = \"10m\" }}\n",
            self.requests,
            self.arrivals,
            sample.unwrap_or_default(),
            self.servers,
            self.service,
            self.discipline,
            self.slots,
            self.strategies,
        )
    }

    pub(crate) fn run(&self, seed: u64) -> Vec<Tally> {
        let (scenario, report) = parse_scenario("oracle", &self.scenario(), &Environment::empty());
        let mut scenario = scenario.unwrap_or_else(|| panic!("{report}"));
        if let Some(policy) = &self.policy {
            scenario.variants[0].cluster.strategy = StrategyChoice::from(Arc::clone(policy));
        }
        let comparison = compare(&scenario, &Options { seed, threads: 2 }, &|_| {});
        let broken: Vec<String> = comparison.violations().collect();
        assert_eq!(broken, Vec::<String>::new());
        for tally in &comparison.results {
            if self.arrivals == "poisson" {
                // PASTA: arrivals find what is there on average over time.
                near("seen on arrival", tally.seen, tally.mean_present, 0.02);
            }
            for endpoint in &tally.endpoints {
                let busy = endpoint.utilization.expect("slots have a number");
                if tally.endpoints.len() <= 10 {
                    near(&endpoint.id, busy, self.load, 0.03);
                }
            }
        }
        comparison.results
    }

    /// The mean time in the system under one strategy.
    pub(crate) fn mean(&self) -> f64 {
        mean(&self.run(11)[0])
    }
}

pub(crate) fn mean(tally: &Tally) -> f64 {
    tally.counts.latency.mean() / 1e6
}

/// Nine hundred and ninety of a thousand take no longer, in milliseconds.
pub(crate) fn p99(tally: &Tally) -> f64 {
    tally.counts.latency.quantile(0.99).0 as f64 / 1e6
}

#[track_caller]
pub(crate) fn near(what: &str, got: f64, wanted: f64, tolerance: f64) {
    let off = got / wanted - 1.0;
    println!(
        "{what}: {got:.4}, wanted {wanted:.4}, {:+.2} %",
        off * 100.0
    );
    assert!(
        off.abs() <= tolerance,
        "{what}: {got}, wanted {wanted}, {:.1} % off",
        off * 100.0
    );
}

/// Erlang's C, and the mean time in the system.
pub(crate) fn erlang(servers: u32, load: f64) -> f64 {
    let k = f64::from(servers);
    let a = k * load;
    let blocked = (1..=servers).fold(1.0, |b, i| a * b / (f64::from(i) + a * b));
    let waits = blocked / (1.0 - load * (1.0 - blocked));
    1.0 + waits / (k * (1.0 - load))
}
