//! The results of a comparison as text.

use evenkeel_config::Scenario;
use evenkeel_sim::{Comparison, ResultTable, latency_table, spread_table, stage_tables};

use crate::paragraph::wrap;
use crate::table::Table;

/// The results of a comparison, with what its scenario says of itself.
pub(crate) fn comparison_text(name: &str, scenario: &Scenario, comparison: &Comparison) -> String {
    let mut text = format!("{name}, seed {}\n", comparison.seed);
    for (title, said) in [("Shows", &scenario.about), ("Expected", &scenario.expected)] {
        if !said.is_empty() {
            text.push_str(&wrap(&format!("{title}: {said}"), ""));
        }
    }
    push_table(&mut text, &latency_table(comparison));
    for stage in stage_tables(comparison) {
        push_table(&mut text, &stage);
    }
    push_table(&mut text, &spread_table(comparison));
    text
}

fn push_table(text: &mut String, table: &ResultTable) {
    if !table.title.is_empty() {
        text.push_str(&format!("\n{}\n", table.title));
    }
    let heading = |(column, heading): (usize, &String)| match column {
        0 => heading.clone(),
        _ => format!(">{heading}"),
    };
    let headings: Vec<String> = table.headings.iter().enumerate().map(heading).collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let mut shown = Table::new(&headings);
    let references = table.rows.iter().position(|row| row.is_reference);
    for (number, row) in table.rows.iter().enumerate() {
        if references == Some(number) {
            shown.row(["to compare with:".to_owned()]);
        }
        shown.row(row.cells.iter().cloned());
    }
    text.push('\n');
    text.push_str(&shown.render());
}
