//! A sweep as a table: load against p99.

use evenkeel_sim::{Figures, SweepResult, in_ms};

use crate::table::Table;

pub(crate) fn sweep_text(name: &str, result: &SweepResult) -> String {
    let first = result.points.first();
    let labels = first.map_or(&[][..], |point| &point.comparison.results);
    let seed = first.map_or(0, |point| point.comparison.seed);
    let mut headings = vec![format!(">{}", result.key)];
    headings.extend(labels.iter().map(|tally| format!(">{}", tally.label)));
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let mut table = Table::new(&headings);
    for point in &result.points {
        let mut row = vec![point.value.to_string()];
        for tally in &point.comparison.results {
            let figures = Figures::of(&tally.counts);
            let lost = figures.failure_rate + figures.shed_rate;
            let lost = match lost {
                0.0 => String::new(),
                _ => format!(" ({:.2} % lost)", lost * 100.0),
            };
            row.push(format!("{}{lost}", in_ms(figures.p99)));
        }
        table.row(row);
    }
    let mut text = format!("{name}, seed {seed}: p99 in ms\n\n{}", table.render());
    for (assertion, label, highest) in &result.highest {
        let key = result.key;
        let found = match highest {
            Some(value) => format!("up to {key} {value}"),
            None => format!("at no {key} of the range"),
        };
        text.push_str(&format!("\n{label}: {assertion} holds {found}"));
    }
    if !result.highest.is_empty() {
        text.push('\n');
    }
    text
}
