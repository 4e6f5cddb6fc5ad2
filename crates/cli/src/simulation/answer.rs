//! What a log would have come to, as a table.

use evenkeel_sim::{Answer, Figures, Interval, Row, in_ms};

use crate::paragraph::wrap;
use crate::table::Table;

pub(crate) fn answer_text(name: &str, answer: &Answer) -> String {
    let recorded = Figures::of(&answer.recorded);
    let mut table = Table::new(&[
        "strategy",
        ">p50 ms",
        ">p90",
        ">p99",
        ">p99.9",
        ">failed %",
        ">max/mean",
        ">queue",
    ]);
    let mut row = vec!["(the log)".to_owned()];
    let ms = [recorded.p50, recorded.p90, recorded.p99, recorded.p999];
    row.extend(ms.map(in_ms));
    row.push(format!("{:.3}", recorded.failure_rate * 100.0));
    table.row(row);
    for one in &answer.rows {
        table.row(cells(one));
    }
    let mut text = format!(
        "{name}: {} requests; ranges hold the mean with 95 % confidence\n\n{}",
        recorded.requests,
        table.render()
    );
    for warning in &answer.warnings {
        text.push('\n');
        text.push_str(&wrap(&format!("Beware: {warning}."), ""));
    }
    text
}

fn cells(row: &Row) -> Vec<String> {
    let find = |wanted: &str| row.figures.iter().find(|(name, _)| *name == wanted);
    let figure = |name: &str| find(name).map(|(_, interval)| *interval);
    let mut cells = vec![row.label.clone()];
    for name in ["p50", "p90", "p99", "p999"] {
        cells.push(figure(name).map_or_else(String::new, |one| range(one, in_ms)));
    }
    let percent = |share: f64| format!("{:.3}", share * 100.0);
    cells.push(figure("failure_rate").map_or_else(String::new, |one| range(one, percent)));
    let ratio = |ratio: f64| format!("{ratio:.3}");
    cells.push(figure("max_over_mean").map_or_else(String::new, |one| range(one, ratio)));
    cells.push(format!("{:.2}", row.first.queue().0));
    cells
}

fn range(interval: Interval, shown: impl Fn(f64) -> String) -> String {
    let Interval { mean, low, high } = interval;
    let (mean, low, high) = (shown(mean), shown(low), shown(high));
    if low == high {
        return mean;
    }
    format!("{mean} [{low}, {high}]")
}
