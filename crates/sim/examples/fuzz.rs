//! Looks for broken laws in scenarios by chance: `cargo run -p evenkeel-sim --example fuzz -- 0 10000`.

use std::process::ExitCode;

use evenkeel_config::{Environment, parse_scenario};
use evenkeel_sim::{Options, compare, random_scenario};

fn main() -> ExitCode {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse().ok())
        .collect();
    let [from, to] = numbers[..] else {
        eprintln!("two numbers are needed: the first seed, and the one after the last");
        return ExitCode::FAILURE;
    };
    let mut broken = 0;
    for seed in from..to {
        let text = random_scenario(seed);
        let (scenario, report) = parse_scenario("fuzz", &text, &Environment::empty());
        let Some(scenario) = scenario else {
            eprintln!("seed {seed}: {report}");
            broken += 1;
            continue;
        };
        let options = Options {
            seed,
            ..Options::default()
        };
        for what in compare(&scenario, &options, &|_| {}).violations() {
            eprintln!("seed {seed}: {what}");
            broken += 1;
        }
    }
    println!(
        "{} scenarios, {broken} broken laws",
        to.saturating_sub(from)
    );
    ExitCode::from(u8::from(broken > 0))
}
