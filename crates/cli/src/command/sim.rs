//! `evenkeel sim`: the deterministic simulator.

use std::path::{Path, PathBuf};

use evenkeel_config::{LoadError, Scenario, StrategyChoice, Variant, load_scenario};
use evenkeel_sim::{
    Assertion, BUILT_IN, BuiltIn, Comparison, Options, Page, Sweep, Tally, capacities, claims,
    compare, impossible_load, pictures, to_html, to_json,
};
use serde_json::{Value, json};

use super::serve::refused;
use crate::exit::Failure;
use crate::output::Format;
use crate::simulation::{Progress, claims_text, comparison_text};
use crate::table::Table;
use crate::whole::whole;
use crate::{Outcome, output};

/// Simulate a cluster under traffic and faults, on virtual time
///
/// Runs each strategy of a scenario on the same requests, with the gateway's own decisions. The same
/// scenario and seed give the same bytes. docs/reference/scenarios.md says what can stand in a file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  evenkeel sim six-backends
  evenkeel sim gray-failure --strategies least_request,peak_ewma --assert 'p99 < 280ms'
  evenkeel sim antagonist --sweep 'rate=500..2500' --assert 'p99 < 300ms'")]
pub(crate) struct Sim {
    /// A scenario file, or the name of one that is built in
    #[arg(required_unless_present = "list")]
    scenario: Option<String>,

    /// List the scenarios that are built in
    #[arg(long, conflicts_with = "scenario")]
    list: bool,

    /// Print the file of a scenario that is built in
    #[arg(long, conflicts_with_all = ["list", "sweep", "assertions", "strategies"])]
    show: bool,

    /// Compare these: strategies, or labels of the scenario
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    strategies: Vec<String>,

    /// All chance follows from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = whole(0..=u64::MAX), allow_negative_numbers = true)]
    seed: u64,

    /// Fail with exit code 4 unless this holds, for one strategy or for each; repeatable
    #[arg(long = "assert", value_name = "ASSERTION")]
    assertions: Vec<Assertion>,

    /// Run over a range of loads instead, and find the highest that keeps each --assert
    #[arg(long, value_name = "RANGE")]
    sweep: Option<Sweep>,

    /// Write a page with pictures too
    #[arg(long, value_name = "FILE", conflicts_with = "sweep")]
    report: Option<PathBuf>,

    /// Write the pictures of that page as SVG files into this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "sweep")]
    pictures: Option<PathBuf>,

    /// How to print the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Sim {
    pub(crate) fn run(self) -> Outcome {
        let Some(named) = &self.scenario else {
            return list(self.format);
        };
        if self.show {
            return show(named);
        }
        let (mut scenario, source) = find(named)?;
        choose(&mut scenario, &self.strategies)?;
        if let Some(sweep) = &self.sweep {
            return self.run_sweep(sweep, named, &scenario);
        }
        self.check_labels(&scenario)?;
        if let Some(said) = impossible_load(&scenario, self.seed) {
            output::say(&format!("evenkeel: {said}\n"));
        }
        let progress = Progress::new(named);
        let comparison = compare(&scenario, &self.options(), &|share| progress.tell(share));
        progress.end_with(requests(&comparison));
        let capacities = capacities(named, &scenario, &self.options());
        let claims = claims(named, &comparison, &capacities);
        let page = Page {
            name: named,
            about: &scenario.about,
            expected: &scenario.expected,
            source: &source,
            comparison: &comparison,
            claims: &claims,
        };
        write_pages(self.report.as_deref(), self.pictures.as_deref(), &page)?;
        match self.format {
            Format::Json => output::print_json(&to_json(named, &comparison))?,
            Format::Text => {
                let text = comparison_text(named, &scenario, &comparison);
                output::print(&(text + &claims_text(&claims)))?;
            }
        }
        in_order(&comparison)?;
        judge(&self.assertions, &comparison.results)
    }

    fn options(&self) -> Options {
        Options {
            seed: self.seed,
            ..Options::default()
        }
    }

    fn run_sweep(&self, sweep: &Sweep, named: &str, scenario: &Scenario) -> Outcome {
        sweep.fits(scenario).map_err(Failure::usage)?;
        self.check_labels(scenario)?;
        let progress = Progress::new(named);
        let tell = |share| progress.tell(share);
        let result = sweep.run(scenario, &self.options(), &self.assertions, &tell);
        progress.end();
        match self.format {
            Format::Json => output::print_json(&result.to_json(named, self.seed))?,
            Format::Text => output::print(&crate::simulation::sweep_text(named, &result))?,
        }
        for point in &result.points {
            in_order(&point.comparison)?;
        }
        let lost = result.highest.iter().find(|(_, _, value)| value.is_none());
        match lost {
            Some((assertion, label, _)) => Err(Failure::assertion(format!(
                "{assertion} does not hold: {label} breaks it at every {} of the range",
                result.key
            ))),
            None => Ok(()),
        }
    }

    /// An assertion on what is not compared is a slip, to be told before a long run.
    fn check_labels(&self, scenario: &Scenario) -> Outcome {
        for assertion in &self.assertions {
            let known = scenario
                .variants
                .iter()
                .map(|variant| variant.label.as_str());
            let Some(label) = assertion.label() else {
                continue;
            };
            if !known.clone().any(|known| known == label) {
                let hint = evenkeel_core::did_you_mean(label, known.clone());
                let known: Vec<&str> = known.collect();
                return Err(Failure::usage(format!(
                    "{assertion}: {label:?} is not compared{hint}; there are {}",
                    known.join(", ")
                )));
            }
        }
        Ok(())
    }
}

/// The requests of all runs that count.
fn requests(comparison: &Comparison) -> u64 {
    let all = comparison.results.iter().chain(&comparison.references);
    all.map(|tally| tally.counts.requests).sum()
}

/// Demands that all assertions hold.
pub(crate) fn judge(assertions: &[Assertion], results: &[Tally]) -> Outcome {
    let mut broken = Vec::new();
    for assertion in assertions {
        broken.extend(assertion.broken_by(results).map_err(Failure::usage)?);
    }
    let Some(first) = broken.first() else {
        return Ok(());
    };
    for line in &broken[1..] {
        output::say(&format!("evenkeel: {line}\n"));
    }
    Err(Failure::assertion(first))
}

/// Writes the page of results, and its pictures, where they are asked for.
pub(crate) fn write_pages(
    report: Option<&Path>,
    folder: Option<&Path>,
    page: &Page<'_>,
) -> Outcome {
    let write = |path: &Path, text: &str| {
        std::fs::write(path, text)
            .map_err(|error| Failure::runtime(format!("cannot write {}: {error}", path.display())))
    };
    if let Some(path) = report {
        write(path, &to_html(page))?;
    }
    if let Some(folder) = folder {
        for picture in pictures(page.comparison) {
            write(
                &folder.join(format!("{}.svg", picture.name)),
                &picture.file(),
            )?;
        }
    }
    Ok(())
}

/// What must never happen is a mistake of ours, whatever the scenario.
fn in_order(comparison: &Comparison) -> Outcome {
    match comparison.violations().next() {
        Some(what) => Err(Failure::assertion(format!(
            "the simulator broke a law, please report this with seed {}: {what}",
            comparison.seed
        ))),
        None => Ok(()),
    }
}

/// A built-in scenario, or the one in a file, with its text.
fn find(named: &str) -> Result<(Scenario, String), Failure> {
    if let Some(built_in) = BuiltIn::find(named) {
        return Ok((built_in.scenario(), built_in.text.to_owned()));
    }
    let path = Path::new(named);
    let is_name = !named.contains(['/', '.']) && !path.exists();
    if is_name {
        let hint = evenkeel_core::did_you_mean(named, BUILT_IN.iter().map(|one| one.name));
        return Err(Failure::config(format!(
            "there is no scenario {named:?}{hint}; evenkeel sim --list names those that are built in"
        )));
    }
    match load_scenario(path) {
        Ok((scenario, report)) => {
            output::say(&report.render_text(output::stderr_colours()));
            // It was there a moment ago; the page can do without.
            let text = std::fs::read_to_string(path).unwrap_or_default();
            Ok((scenario, text))
        }
        Err(error @ (LoadError::Invalid(_) | LoadError::Unreadable(_))) => Err(refused(error)),
    }
}

/// Leaves those of that label, or of that strategy on the scenario's common policies.
pub(crate) fn choose(scenario: &mut Scenario, names: &[String]) -> Outcome {
    let mut chosen: Vec<Variant> = Vec::new();
    for name in names {
        let listed = scenario
            .variants
            .iter()
            .find(|variant| variant.label == *name);
        let variant = match listed {
            Some(variant) => variant.clone(),
            None => {
                let strategy = StrategyChoice::new(name, &[]).map_err(Failure::usage)?;
                Variant::of(&scenario.base, strategy)
            }
        };
        if !chosen.iter().any(|other| other.label == variant.label) {
            chosen.push(variant);
        }
    }
    if !chosen.is_empty() {
        scenario.variants = chosen;
    }
    Ok(())
}

fn list(format: Format) -> Outcome {
    if format == Format::Json {
        let entry = |built_in: &BuiltIn| {
            let scenario = built_in.scenario();
            let strategies: Vec<&str> =
                scenario.variants.iter().map(|v| v.label.as_str()).collect();
            json!({
                "name": built_in.name,
                "about": scenario.about,
                "expected": scenario.expected,
                "strategies": strategies,
            })
        };
        return output::print_json(&BUILT_IN.iter().map(entry).collect::<Vec<Value>>());
    }
    let mut table = Table::new(&["scenario", "what it shows"]);
    for built_in in BUILT_IN {
        table.row([built_in.name.to_owned(), built_in.scenario().about]);
    }
    output::print(&table.render())
}

fn show(named: &str) -> Outcome {
    match BuiltIn::find(named) {
        Some(built_in) => output::print(built_in.text),
        None => Err(Failure::usage(format!(
            "--show is for scenarios that are built in, and {named:?} is none"
        ))),
    }
}
