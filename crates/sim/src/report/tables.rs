//! The results of a comparison as tables, whoever draws them.

use super::figures::{Figures, Imbalance};
use crate::run::Comparison;
use crate::tally::{StageCounts, Tally};

/// Counts of so many endpoints fit into a line.
const ENDPOINTS_MAX: usize = 8;

/// A table, whose first column is names and whose others are figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultTable {
    /// What it is about; may be empty.
    pub title: String,
    /// The headings of its columns.
    pub headings: Vec<String>,
    /// Its rows.
    pub rows: Vec<ResultRow>,
}

/// A row of such a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultRow {
    /// As many as there are headings.
    pub cells: Vec<String>,
    /// Whether it is there to hold the others against.
    pub is_reference: bool,
}

impl ResultTable {
    fn new(title: impl Into<String>, headings: &[&str]) -> Self {
        Self {
            title: title.into(),
            headings: headings.iter().map(|&heading| heading.into()).collect(),
            rows: Vec::new(),
        }
    }

    /// A row for each result, as far as there is one of it.
    fn fill(
        mut self,
        comparison: &Comparison,
        cells: impl Fn(&Tally) -> Option<Vec<String>>,
    ) -> Self {
        let results = comparison.results.iter().map(|tally| (tally, false));
        let references = comparison.references.iter().map(|tally| (tally, true));
        for (tally, is_reference) in results.chain(references) {
            if let Some(figures) = cells(tally) {
                let mut cells = vec![tally.label.clone()];
                cells.extend(figures);
                self.rows.push(ResultRow {
                    cells,
                    is_reference,
                });
            }
        }
        self
    }
}

/// Latencies and what became of requests.
#[must_use]
pub fn latency_table(comparison: &Comparison) -> ResultTable {
    let mut headings = vec![
        "strategy",
        "requests",
        "mean ms",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
        "failed",
        "shed",
        "retries",
        "answers/s",
    ];
    let queued = comparison.results.iter().any(|tally| tally.waits > 0);
    if queued {
        headings.extend(["waited", "wait ms"]);
    }
    ResultTable::new("", &headings).fill(comparison, |tally| {
        let figures = Figures::of(&tally.counts);
        let mut cells = vec![figures.requests.to_string(), in_ms(figures.mean)];
        cells.extend(quantiles(&figures));
        cells.push(in_ms(figures.max));
        cells.extend([percent(figures.failure_rate), percent(figures.shed_rate)]);
        cells.push(tally.retries.to_string());
        cells.push(format!("{:.0}", tally.throughput()));
        if queued {
            cells.push(percent(tally.waited_share()));
            cells.push(in_ms(tally.waited.mean() / 1e6));
        }
        Some(cells)
    })
}

/// The same of each stage, if there are several.
#[must_use]
pub fn stage_tables(comparison: &Comparison) -> Vec<ResultTable> {
    let first = comparison.results.first();
    let stages = first.map_or(&[][..], |tally| &tally.stages);
    let table = |(at, stage): (usize, &StageCounts)| {
        let title = format!("{} requests a second", stage.rate);
        let headings = [
            "strategy",
            "requests",
            "p50 ms",
            "p90",
            "p99",
            "p99.9",
            "failed",
            "shed",
            "count stddev",
        ];
        ResultTable::new(title, &headings).fill(comparison, |tally| {
            let stage = tally.stages.get(at)?;
            let figures = Figures::of(&stage.counts);
            let mut cells = vec![figures.requests.to_string()];
            cells.extend(quantiles(&figures));
            cells.extend([percent(figures.failure_rate), percent(figures.shed_rate)]);
            cells.push(format!("{:.0}", stage.count_stddev()));
            Some(cells)
        })
    };
    stages.iter().enumerate().map(table).collect()
}

/// How requests were spread over endpoints.
#[must_use]
pub fn spread_table(comparison: &Comparison) -> ResultTable {
    let first = comparison.results.first();
    let endpoints = first.map_or(&[][..], |tally| &tally.endpoints);
    let named = endpoints.len() <= ENDPOINTS_MAX;
    let mut headings = vec!["requests per endpoint"];
    if named {
        headings.extend(endpoints.iter().map(|one| one.id.as_str()));
    }
    headings.extend([
        "stddev",
        "max/mean",
        "chi-square",
        "queue",
        "queue p99",
        "busiest",
    ]);
    ResultTable::new("", &headings).fill(comparison, |tally| {
        let mut cells = Vec::new();
        if named {
            cells.extend(tally.endpoints.iter().map(|one| one.requests.to_string()));
        }
        let imbalance = Imbalance::of(tally);
        let (mean, p99) = tally.queue();
        let busy = tally.endpoints.iter().filter_map(|one| one.utilization);
        cells.extend([
            format!("{:.1}", imbalance.count_stddev),
            format!("{:.4}", imbalance.max_over_mean),
            format!("{:.1}", imbalance.chi_square),
            format!("{mean:.2}"),
            p99.to_string(),
            busy.reduce(f64::max)
                .map_or_else(|| "-".to_owned(), |most| format!("{:.1} %", most * 100.0)),
        ]);
        Some(cells)
    })
}

fn quantiles(figures: &Figures) -> [String; 4] {
    [figures.p50, figures.p90, figures.p99, figures.p999].map(in_ms)
}

/// Milliseconds, three digits that count.
#[must_use]
pub fn in_ms(ms: f64) -> String {
    match ms {
        ..1.0 => format!("{ms:.3}"),
        ..10.0 => format!("{ms:.2}"),
        ..100.0 => format!("{ms:.1}"),
        _ => format!("{ms:.0}"),
    }
}

fn percent(share: f64) -> String {
    match share {
        0.0 => "0".to_owned(),
        _ => format!("{:.3} %", share * 100.0),
    }
}
