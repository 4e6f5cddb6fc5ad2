//! Questions to a log, and their answers with what is not known of them.

use std::collections::BTreeMap;

use evenkeel_config::Variant;

use super::fit::Fit;
use super::interval::Interval;
use super::log::Recorded;
use super::scenario::{scenario, without_pauses};
use crate::report::Figures;
use crate::run::{Fitted, Options, compare_fitted};
use crate::tally::{Counts, Tally};

/// A model whose p99 is further from the log's than this is no ground for answers.
const OFF_MAX: f64 = 0.15;

/// What is asked of a log.
#[derive(Clone, Debug)]
pub struct Question {
    /// The clusters to compare: strategies and policies.
    pub variants: Vec<Variant>,
    /// Endpoints that are left out.
    pub without: Vec<String>,
    /// Other weights than those of the log.
    pub weights: BTreeMap<String, u16>,
    /// The share of requests that the log holds, above 0.
    pub sample: f64,
    /// From how many runs intervals are told, at least 2.
    pub seeds: u64,
}

/// What a variant would have come to.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its label.
    pub label: String,
    /// The run with the first seed.
    pub first: Tally,
    /// Each figure over all runs, by its name in results.
    pub figures: Vec<(&'static str, Interval)>,
}

/// The answer to a question.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What the log itself holds.
    pub recorded: Counts,
    /// What the variants would have come to.
    pub rows: Vec<Row>,
    /// What the log cannot support.
    pub warnings: Vec<String>,
}

/// The figures that intervals are told of.
const FIGURES: [&str; 8] = [
    "mean",
    "p50",
    "p90",
    "p99",
    "p999",
    "failure_rate",
    "max_over_mean",
    "throughput",
];

/// Fits the log, and runs its arrivals again under each variant.
///
/// # Errors
///
/// When an endpoint is named that the log does not know, or none is left.
pub fn what_if(
    log: &Recorded,
    question: &Question,
    options: &Options,
    progress: &(dyn Fn(f64) + Sync),
) -> Result<Answer, String> {
    check_names(log, question)?;
    let mut warnings = Vec::new();
    let fits = fit(log, question, &mut warnings)?;
    let scenario = scenario(log, question, &fits);
    let fitted: Vec<Fitted> = fits
        .iter()
        .map(|(id, fit)| Fitted {
            id: id.clone(),
            service: fit.service.clone(),
        })
        .collect();
    let seeds = question.seeds.max(2);
    let mut runs: Vec<Vec<Tally>> = Vec::new();
    for run in 0..seeds {
        let options = Options {
            seed: options.seed.wrapping_add(run),
            ..*options
        };
        let tell = |share: f64| progress((run as f64 + share) / seeds as f64);
        runs.push(compare_fitted(&scenario, &fitted, &options, &tell).results);
    }
    let rows = (0..scenario.variants.len())
        .map(|at| row(&runs, at))
        .collect();
    let recorded = recorded(log);
    let mut answer = Answer {
        recorded,
        rows,
        warnings,
    };
    compare_with_log(log, question, &mut answer);
    Ok(answer)
}

/// What is fitted to each endpoint that is left; what the log cannot support is added to the warnings.
fn fit(
    log: &Recorded,
    question: &Question,
    warnings: &mut Vec<String>,
) -> Result<Vec<(String, Fit)>, String> {
    let mut fits = Vec::new();
    for (id, tries) in &log.tries {
        match Fit::of(id, tries) {
            Some(fit) => fits.push((id.clone(), fit)),
            None => warnings.push(format!("{id} answered nothing well: it is left out")),
        }
    }
    let all = fits.len();
    fits.retain(|(id, _)| !question.without.contains(id));
    if fits.is_empty() {
        return Err("no endpoint is left".to_owned());
    }
    warn(log, question, &fits, all, warnings);
    let (_, left_out) = without_pauses(log);
    if left_out > 0 {
        warnings.push(format!(
            "pauses of the log beyond ten minutes each, {:.1} h together, are left out: throughput is that of the rest",
            left_out as f64 / 3.6e12
        ));
    }
    Ok(fits)
}

fn check_names(log: &Recorded, question: &Question) -> Result<(), String> {
    let named = question.without.iter().chain(question.weights.keys());
    for id in named {
        if !log.tries.contains_key(id) {
            let hint = evenkeel_core::did_you_mean(id, log.endpoints());
            let known: Vec<&str> = log.endpoints().collect();
            return Err(format!(
                "the log has no endpoint {id:?}{hint}, it has {}",
                known.join(", ")
            ));
        }
    }
    Ok(())
}

fn warn(
    log: &Recorded,
    question: &Question,
    fits: &[(String, Fit)],
    all: usize,
    warnings: &mut Vec<String>,
) {
    for (_, fit) in fits {
        warnings.extend(fit.warnings.iter().cloned());
    }
    warnings.extend(log.changes.told());
    warnings.extend(log.taken.warning(log.decisions > 0, question.sample));
    if question.sample < 1.0 {
        let chance = "a log of a part of the requests does not show how they came together: they are made to come by chance";
        let kept = match log.decisions {
            0 => "",
            _ => "; a decision log has all failures, which count for more here than they did",
        };
        warnings.push(format!("{chance}{kept}"));
    }
    if log.skipped > 0 {
        warnings.push(format!(
            "{} of the log's lines name no endpoint (shed, refused, without a route): they are left out, and with them the load that they were",
            log.skipped
        ));
    }
    if log.cut {
        warnings.push("the log has more lines than are read: the rest is left out".to_owned());
    }
    let unlimited: Vec<&str> = fits
        .iter()
        .filter(|(_, fit)| fit.slots.is_none())
        .map(|(id, _)| id.as_str())
        .collect();
    let moves = fits.len() < all || !question.weights.is_empty();
    if moves && !unlimited.is_empty() {
        let most = fits.iter().map(|(_, fit)| fit.most).max().unwrap_or(0);
        warnings.push(format!(
            "the log does not show where {} would begin to wait (at most {most} requests were in one at once): with more traffic they may be slower than told here",
            unlimited.join(", ")
        ));
    }
}

fn row(runs: &[Vec<Tally>], at: usize) -> Row {
    let first = runs[0][at].clone();
    let figures = FIGURES.iter().map(|name| {
        let all: Vec<f64> = runs.iter().filter_map(|run| run[at].figure(name)).collect();
        (*name, Interval::of(&all))
    });
    Row {
        label: first.label.clone(),
        figures: figures.collect(),
        first,
    }
}

fn recorded(log: &Recorded) -> Counts {
    let mut counts = Counts::default();
    for request in &log.requests {
        counts.requests += 1;
        if request.failed {
            counts.failed += 1;
        } else {
            counts.well += 1;
            counts
                .latency
                .add(evenkeel_core::Nanos((request.took_ms * 1e6) as u64));
        }
    }
    counts
}

/// The row of the log's own strategy must come to what the log holds, or the model is not right.
fn compare_with_log(log: &Recorded, question: &Question, answer: &mut Answer) {
    let asked_otherwise = !question.without.is_empty() || !question.weights.is_empty();
    let own = answer
        .rows
        .iter()
        .find(|row| Some(row.label.as_str()) == log.strategy());
    let Some(own) = own.filter(|_| !asked_otherwise) else {
        return;
    };
    let theirs = Figures::of(&answer.recorded);
    // The mean over all runs: one of them may be off by chance, or meet it by chance.
    let ours = |name| own.figures.iter().find(|(figure, _)| *figure == name);
    for (name, theirs) in [("p50", theirs.p50), ("p99", theirs.p99)] {
        let Some((_, ours)) = ours(name) else {
            continue;
        };
        let off = ours.mean / theirs.max(1e-9) - 1.0;
        if off.abs() > OFF_MAX {
            answer.warnings.push(format!(
                "the model does not meet the log: under its own strategy {name} is {:.3} ms in the model ({:.3} to {:.3} over {} runs) and {theirs} ms in the log",
                ours.mean, ours.low, ours.high, question.seeds.max(2)
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::log::read_log;
    use super::*;
    use crate::tally::Histogram;

    fn variant() -> Variant {
        let text = "[load]\nrequests = 1\nrate = 1\n[[backend]]\nservice = \"1ms\"\n[cluster]\nstrategies = [\"round_robin\"]\n";
        let (scenario, _) =
            evenkeel_config::parse_scenario("one", text, &evenkeel_config::Environment::empty());
        scenario.expect("no mistakes").variants.remove(0)
    }

    fn question(seeds: u64) -> Question {
        Question {
            variants: vec![variant()],
            without: Vec::new(),
            weights: BTreeMap::new(),
            sample: 1.0,
            seeds,
        }
    }

    fn line(second: f64, took_ms: f64) -> String {
        format!(
            "{{\"time\":{second},\"endpoint\":\"a\",\"total_ms\":{took_ms},\"status\":200,\"strategy\":\"round_robin\"}}\n"
        )
    }

    /// Four bursts that lie three years apart take as long as four bursts.
    #[test]
    fn the_time_of_a_run_does_not_grow_with_the_span_of_the_log() {
        let year = 3.15e7;
        let burst = |n: u32| (0..100).map(move |k| line(f64::from(n) * year + f64::from(k), 10.0));
        let log = read_log(&(0..4).flat_map(burst).collect::<String>()).expect("in order");
        let options = Options {
            seed: 1,
            threads: 1,
        };
        let answer = what_if(&log, &question(2), &options, &|_| {}).expect("it is known");
        let first = &answer.rows[0].first;
        assert_eq!(first.counts.requests, 400);
        let most = Duration::from_secs(3 * 600 + 4 * 101);
        assert!(first.span.0 <= most.as_nanos() as u64, "{:?}", first.span);
        assert!(first.events < 20_000, "{}", first.events);
        let said = answer.warnings.iter().find(|said| said.contains("pauses"));
        let said = said.expect("it is said");
        assert!(said.contains("26249.4 h"), "{said}");
    }

    /// A log of an overloaded cluster looks well without those that got nothing.
    #[test]
    fn lines_that_name_no_endpoint_are_left_out_and_counted() {
        let shed = |second: u32| {
            format!("{{\"time\":{second},\"endpoint\":null,\"total_ms\":1000,\"status\":503}}\n")
        };
        let text: String = (0..100)
            .map(|k| line(f64::from(k), 10.0))
            .chain((0..7).map(shed))
            .collect();
        let log = read_log(&text).expect("in order");
        let options = Options {
            seed: 1,
            threads: 1,
        };
        let answer = what_if(&log, &question(2), &options, &|_| {}).expect("it is known");
        let said = answer
            .warnings
            .iter()
            .find(|said| said.contains("name no endpoint"));
        assert!(
            said.is_some_and(|said| said.starts_with("7 of the log's lines")),
            "{:?}",
            answer.warnings
        );
    }

    /// The first run meets the log and the others do not, or the other way round: all of them count.
    #[test]
    fn a_model_is_judged_by_all_its_runs() {
        let log = read_log(
            &(0..100)
                .map(|n| line(f64::from(n), 10.0))
                .collect::<String>(),
        );
        let log = log.expect("in order");
        let run = |ms: u64| {
            let options = Options::default();
            let answer = what_if(&log, &question(2), &options, &|_| {}).expect("it is known");
            let mut tally = answer.rows[0].first.clone();
            tally.counts.latency = Histogram::default();
            tally
                .counts
                .latency
                .add(evenkeel_core::Nanos::from_millis(ms));
            vec![tally]
        };
        let warned = |runs: [u64; 3]| {
            let mut answer = Answer {
                recorded: recorded(&log),
                rows: vec![row(&runs.map(run), 0)],
                warnings: Vec::new(),
            };
            compare_with_log(&log, &question(3), &mut answer);
            answer.warnings
        };
        assert_eq!(warned([14, 8, 8]), Vec::<String>::new());
        let said = warned([10, 20, 20]);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("over 3 runs"), "{}", said[0]);
    }
}
