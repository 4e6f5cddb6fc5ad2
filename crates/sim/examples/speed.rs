//! How many requests a second are simulated: `cargo run --release -p evenkeel-sim --example speed`.

use std::time::Duration;

use evenkeel_config::{Environment, parse_scenario};
use evenkeel_sim::{Options, compare};

fn main() {
    let strategies = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "least_request".to_owned());
    for (endpoints, service, rate) in [
        (6, "lognormal(28.7ms, 0.3)", 10_000),
        (1_000, "lognormal(28.7ms, 0.3)", 1_500_000),
    ] {
        let text = format!(
            "references = false\n[load]\nrequests = 4_000_000\nrate = {rate}\n[[backend]]\ncount = {endpoints}\nservice = \"{service}\"\nconcurrency = 64\n[cluster]\nstrategies = [\"{strategies}\"]\n"
        );
        let (scenario, report) = parse_scenario("speed", &text, &Environment::empty());
        let Some(scenario) = scenario else {
            eprintln!("{report}");
            return;
        };
        let (result, took) = timed(|| compare(&scenario, &Options::default(), &|_| {}));
        let tally = &result.results[0];
        println!(
            "{endpoints} endpoints: {:.2} M requests/s, p99 {:.1} ms, {} violations {:?}",
            tally.counts.requests as f64 / took.as_secs_f64() / 1e6,
            tally.counts.latency.quantile(0.99).0 as f64 / 1e6,
            tally.violations.len(),
            tally.violations,
        );
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "it measures the simulator itself"
)]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = std::time::Instant::now();
    let result = work();
    (result, begun.elapsed())
}
