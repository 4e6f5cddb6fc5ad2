//! What a thread waits for one pick, for Evenkeel's strategies and for those of other balancers.
//!
//! All systems are measured in this one process and take turns, round by round, so that a machine
//! that slows down for a while slows all of them. The number is the mean of a round, and of the
//! rounds the median.

mod clock;
mod contender;
mod crowd;
mod evenkeel;
mod pingora;
mod reference;
mod report;
mod steady;
mod tower_p2c;

use clap::{Parser, ValueEnum};
use contender::{Case, Entry};
use report::Row;
use std::time::Duration;

/// Measures one pick of every strategy, in nanoseconds.
#[derive(Parser)]
struct Arguments {
    /// How to print the rows
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Fewer and shorter rounds: for trying, not for publishing
    #[arg(long)]
    quick: bool,
    /// Only systems whose name contains this
    #[arg(long)]
    system: Option<String>,
    /// Only strategies whose name contains this
    #[arg(long)]
    strategy: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// How long and how often to measure.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    /// Of one system, in one round.
    time: Duration,
    /// Of the case with 2,000 threads, each of which takes its time to start.
    crowd_rounds: usize,
}

impl Effort {
    const FULL: Self = Self {
        rounds: 15,
        time: Duration::from_millis(30),
        crowd_rounds: 5,
    };
    const QUICK: Self = Self {
        rounds: 3,
        time: Duration::from_millis(5),
        crowd_rounds: 1,
    };
}

const ENDPOINTS: [usize; 4] = [6, 50, 1_000, 10_000];
const THREADS: [usize; 2] = [1, 2];
/// "Up to 50 nodes and up to 2,000 threads": the case that balancers are often asked about.
const CROWD: Case = Case {
    endpoints: 50,
    threads: 2_000,
};

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let effort = if arguments.quick {
        Effort::QUICK
    } else {
        Effort::FULL
    };
    let entries = entries(&arguments);
    let mut rows: Vec<Row> = Vec::new();
    for endpoints in ENDPOINTS {
        for threads in THREADS {
            rows.extend(steady::measure(
                &entries,
                Case { endpoints, threads },
                effort,
            )?);
        }
    }
    rows.extend(crowd::measure(&entries, CROWD, effort.crowd_rounds)?);
    match arguments.format {
        Format::Text => report::print_text(&rows),
        Format::Json => report::print_json(&rows)?,
    }
    Ok(())
}

/// Every system and strategy that the arguments leave in.
fn entries(arguments: &Arguments) -> Vec<Entry> {
    let fits = |name: &str, wanted: &Option<String>| {
        wanted
            .as_ref()
            .is_none_or(|part| name.contains(part.as_str()))
    };
    let all = [
        evenkeel::entries(),
        pingora::entries(),
        tower_p2c::entries(),
        reference::entries(),
    ];
    let mut entries: Vec<Entry> = all.into_iter().flatten().collect();
    entries.retain(|entry| {
        fits(entry.system, &arguments.system) && fits(&entry.strategy, &arguments.strategy)
    });
    entries
}
