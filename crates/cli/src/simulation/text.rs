//! The results of a comparison as tables.

use evenkeel_config::Scenario;
use evenkeel_sim::{Comparison, Figures, Imbalance, Tally};

use crate::paragraph::wrap;
use crate::table::Table;

/// Counts of so many endpoints fit into a line.
const ENDPOINTS_MAX: usize = 8;

/// The results of a comparison as tables.
pub(crate) struct Text<'r> {
    name: &'r str,
    scenario: &'r Scenario,
    comparison: &'r Comparison,
}

impl<'r> Text<'r> {
    pub(crate) fn new(name: &'r str, scenario: &'r Scenario, comparison: &'r Comparison) -> Self {
        Self {
            name,
            scenario,
            comparison,
        }
    }

    pub(crate) fn render(&self) -> String {
        let mut text = format!("{}, seed {}\n", self.name, self.comparison.seed);
        for (title, said) in [
            ("Shows", &self.scenario.about),
            ("Expected", &self.scenario.expected),
        ] {
            if !said.is_empty() {
                text.push_str(&wrap(&format!("{title}: {said}"), ""));
            }
        }
        text.push('\n');
        text.push_str(&self.latencies());
        self.push_stages(&mut text);
        self.push_counts(&mut text);
        text
    }

    fn all(&self) -> impl Iterator<Item = &Tally> {
        let results = self.comparison.results.iter();
        results.chain(&self.comparison.references)
    }

    fn latencies(&self) -> String {
        let mut table = Table::new(&[
            "strategy",
            ">requests",
            ">mean ms",
            ">p50",
            ">p90",
            ">p99",
            ">p99.9",
            ">max",
            ">failed",
            ">shed",
            ">retries",
            ">answers/s",
        ]);
        for (index, tally) in self.all().enumerate() {
            if index == self.comparison.results.len() {
                table.row(["to compare with:".to_owned()]);
            }
            let figures = Figures::of(&tally.counts);
            let ms = [
                figures.mean,
                figures.p50,
                figures.p90,
                figures.p99,
                figures.p999,
                figures.max,
            ];
            let mut row = vec![tally.label.clone(), figures.requests.to_string()];
            row.extend(ms.map(in_ms));
            row.extend([percent(figures.failure_rate), percent(figures.shed_rate)]);
            row.push(tally.retries.to_string());
            row.push(format!("{:.0}", tally.throughput()));
            table.row(row);
        }
        table.render()
    }

    fn push_stages(&self, text: &mut String) {
        let Some(first) = self.comparison.results.first() else {
            return;
        };
        for (index, stage) in first.stages.iter().enumerate() {
            text.push_str(&format!("\n{} requests a second\n\n", stage.rate));
            let mut table = Table::new(&[
                "strategy",
                ">requests",
                ">p50 ms",
                ">p90",
                ">p99",
                ">p99.9",
                ">failed",
                ">shed",
                ">count stddev",
            ]);
            for tally in self.all() {
                let Some(stage) = tally.stages.get(index) else {
                    continue;
                };
                let figures = Figures::of(&stage.counts);
                let mut row = vec![tally.label.clone(), figures.requests.to_string()];
                row.extend([figures.p50, figures.p90, figures.p99, figures.p999].map(in_ms));
                row.extend([percent(figures.failure_rate), percent(figures.shed_rate)]);
                row.push(format!("{:.0}", stage.count_stddev()));
                table.row(row);
            }
            text.push_str(&table.render());
        }
    }

    fn push_counts(&self, text: &mut String) {
        let endpoints = self
            .comparison
            .results
            .first()
            .map_or(&[][..], |t| &t.endpoints);
        let named = endpoints.len() <= ENDPOINTS_MAX;
        let ids = endpoints
            .iter()
            .filter(|_| named)
            .map(|one| format!(">{}", one.id));
        let mut headings = vec!["requests per endpoint".to_owned()];
        headings.extend(ids);
        headings.extend(
            [
                ">stddev",
                ">max/mean",
                ">chi-square",
                ">queue",
                ">queue p99",
            ]
            .map(str::to_owned),
        );
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        let mut table = Table::new(&headings);
        for tally in self.all() {
            let mut row = vec![tally.label.clone()];
            if named {
                row.extend(tally.endpoints.iter().map(|one| one.requests.to_string()));
            }
            let imbalance = Imbalance::of(tally);
            let (mean, p99) = tally.queue();
            row.extend([
                format!("{:.1}", imbalance.count_stddev),
                format!("{:.4}", imbalance.max_over_mean),
                format!("{:.1}", imbalance.chi_square),
                format!("{mean:.2}"),
                p99.to_string(),
            ]);
            table.row(row);
        }
        text.push('\n');
        text.push_str(&table.render());
    }
}

/// Three digits that count.
pub(super) fn in_ms(ms: f64) -> String {
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
