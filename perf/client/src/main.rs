//! Measures the client library beside its rivals, in one process and interleaved.

mod cost;
mod tails;
mod wire;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Measures the client library
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// A call to services that do nothing, in nanoseconds
    Cost {
        /// Rounds of 100,000 calls for each contender
        #[arg(long, default_value_t = 15)]
        rounds: usize,
        /// Only those whose names contain this: for counting instructions
        #[arg(long)]
        only: Option<String>,
    },
    /// A call to a real server beside bare hyper, in microseconds of CPU
    Wire {
        /// Calls in each round
        #[arg(long, default_value_t = 5_000)]
        calls: usize,
        /// Interleaved rounds
        #[arg(long, default_value_t = 11)]
        rounds: usize,
        /// Only one of them, `bare` or `balanced`: for counting instructions
        #[arg(long)]
        only: Option<String>,
    },
    /// Latencies and errors under trouble
    Tails {
        /// Seconds of each run
        #[arg(long, default_value_t = 12)]
        secs: u64,
    },
}

fn main() -> Result<()> {
    match Arguments::parse().what {
        What::Cost { rounds, only } => cost::run(rounds, only.as_deref()),
        What::Wire {
            calls,
            rounds,
            only,
        } => wire::run(calls, rounds, only.as_deref()),
        What::Tails { secs } => tails::run(secs),
    }
}
