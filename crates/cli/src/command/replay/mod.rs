//! `evenkeel replay`: what recorded traffic would have come to under other decisions.

mod verify;

use std::collections::BTreeMap;
use std::path::PathBuf;

use evenkeel_config::{Cluster, StrategyChoice, Variant, parse_weight};
use evenkeel_core::strategy::registry;
use evenkeel_sim::{
    Answer, Assertion, Comparison, Options, Page, Question, Recorded, Row, answer_to_json,
    read_log, what_if,
};

use super::sim::{judge, write_pages};
use crate::exit::Failure;
use crate::output::Format;
use crate::simulation::{Progress, answer_text};
use crate::whole::whole;
use crate::{Outcome, output};

/// Ask a recorded log what would have been: other strategies, an endpoint less, other weights
///
/// Takes a decision log, or an access log in JSON with the time, the endpoint and the latency of each
/// request. Fits how long each endpoint takes, and runs the log's own arrivals again. Says what the log
/// cannot support.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  evenkeel replay access.jsonl --strategies least_request,peak_ewma
  evenkeel replay access.jsonl --without b
  evenkeel replay decisions.jsonl --verify
  evenkeel replay decisions.jsonl --sample 0.001 --weights a=2,b=1 --assert 'p99 < 280ms'")]
pub(crate) struct Replay {
    /// The log
    log: PathBuf,

    /// Derive each decision of a decision log from its receipt instead, and report the number that differ;
    /// exit code 4 when one does
    #[arg(long, conflicts_with_all = ["strategies", "without", "weights", "assertions", "report"])]
    verify: bool,

    /// Compare these [default: the strategy of the log, or least_request]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    strategies: Vec<String>,

    /// Leave an endpoint out; repeatable
    #[arg(long, value_name = "ENDPOINT", value_delimiter = ',')]
    without: Vec<String>,

    /// Other weights than those of the log
    #[arg(long, value_name = "ENDPOINT=WEIGHT", value_delimiter = ',', value_parser = weight)]
    weights: Vec<(String, u16)>,

    /// The share of requests that the log holds, as in log.decision.sample
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = share)]
    sample: f64,

    /// From how many runs ranges are told
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole(2..=100_u64), allow_negative_numbers = true)]
    seeds: u64,

    /// All chance follows from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = whole(0..=u64::MAX), allow_negative_numbers = true)]
    seed: u64,

    /// Fail with exit code 4 unless this holds, for one strategy or for each; repeatable
    #[arg(long = "assert", value_name = "ASSERTION")]
    assertions: Vec<Assertion>,

    /// Write a page with pictures too
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// How to print the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Replay {
    pub(crate) fn run(self) -> Outcome {
        if self.verify {
            return verify::verify(&self.log, self.format);
        }
        let name = self.log.display().to_string();
        let text = std::fs::read_to_string(&self.log)
            .map_err(|error| Failure::config(format!("cannot read {name}: {error}")))?;
        let log = read_log(&text).map_err(|error| Failure::config(format!("{name}: {error}")))?;
        drop(text);
        let question = self.question(&log)?;
        let options = Options {
            seed: self.seed,
            ..Options::default()
        };
        let progress = Progress::new("replay");
        let answer = what_if(&log, &question, &options, &|share| progress.tell(share));
        progress.end();
        let answer = answer.map_err(Failure::usage)?;
        self.tell(&name, answer)
    }

    fn question(&self, log: &Recorded) -> Result<Question, Failure> {
        let own = log.strategy().filter(|name| registry::find(name).is_some());
        let names: Vec<&str> = match self.strategies.is_empty() {
            true => vec![own.unwrap_or(registry::DEFAULT)],
            false => self.strategies.iter().map(String::as_str).collect(),
        };
        let base = Cluster::new("replay");
        let mut variants: Vec<Variant> = Vec::new();
        for name in names {
            let strategy = StrategyChoice::new(name, &[]).map_err(Failure::usage)?;
            let variant = Variant::of(&base, strategy);
            if !variants.iter().any(|other| other.label == variant.label) {
                variants.push(variant);
            }
        }
        Ok(Question {
            variants,
            without: self.without.clone(),
            weights: self.weights.iter().cloned().collect::<BTreeMap<_, _>>(),
            sample: self.sample,
            seeds: self.seeds,
        })
    }

    fn tell(&self, name: &str, answer: Answer) -> Outcome {
        match self.format {
            Format::Json => output::print_json(&answer_to_json(name, self.seed, &answer))?,
            Format::Text => output::print(&answer_text(name, &answer))?,
        }
        let first = |row: Row| row.first;
        let comparison = Comparison {
            seed: self.seed,
            results: answer.rows.into_iter().map(first).collect(),
            references: Vec::new(),
        };
        let page = Page {
            name,
            about: "A recorded log, run again on what was fitted to it.",
            expected: "",
            source: &answer.warnings.join("\n"),
            comparison: &comparison,
            claims: &[],
        };
        write_pages(self.report.as_deref(), None, &page)?;
        judge(&self.assertions, &comparison.results)
    }
}

fn weight(text: &str) -> Result<(String, u16), String> {
    let (id, weight) = text
        .rsplit_once('=')
        .ok_or_else(|| format!("{text:?} is not like a=2"))?;
    let weight = parse_weight(weight).map_err(|mistake| mistake.to_string())?;
    Ok((id.to_owned(), weight))
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err(format!("{text} is not a share above 0, up to 1")),
    }
}
