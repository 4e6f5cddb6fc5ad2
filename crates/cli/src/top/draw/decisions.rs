//! The latest decisions, and the receipt of one of them.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row as TableRow, Table};
use serde_json::Value;

use super::style::Styles;
use crate::command::{choice, receipt_text};
use crate::top::list::page_start;
use crate::top::state::State;
use crate::top::words::{clock, cut, millis, one_line, word};

pub(super) fn draw(state: &State, frame: &mut Frame<'_>, list: Rect, detail: Rect, styles: Styles) {
    let decisions = state.decisions();
    let chosen = state.chosen();
    frame.render_widget(table(&decisions, chosen, list, styles), list);
    let text = match decisions.get(chosen) {
        Some(receipt) => receipt_text(receipt),
        None => nothing(state),
    };
    let lines = text.lines().map(|line| Line::raw(one_line(line)));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), detail);
}

fn table(decisions: &[&Value], chosen: usize, area: Rect, styles: Styles) -> Table<'static> {
    let height = usize::from(area.height.saturating_sub(1));
    let start = page_start(chosen, height);
    let id = area.width / 4;
    let seen = decisions.iter().enumerate().skip(start).take(height);
    let lines = seen.map(|(index, receipt)| {
        let outcome = receipt.get("outcome").unwrap_or(&Value::Null);
        let status = outcome.get("status").and_then(Value::as_u64);
        let is_bad = status.is_none_or(|status| status >= 500);
        let status = status.map_or_else(|| "-".to_owned(), |status| status.to_string());
        let took = outcome.get("latency_ms").and_then(Value::as_f64);
        let to = match word(receipt, "chosen") {
            "" => "nobody",
            id => id,
        };
        let cells = [
            clock(word(receipt, "time")).to_owned(),
            cut(to, id.into()),
            status,
            millis(took),
            why(receipt, outcome),
        ];
        let style = match (index == chosen, is_bad) {
            (true, _) => styles.chosen(),
            (false, true) => styles.bad(),
            (false, false) => styles.plain(),
        };
        TableRow::new(cells).style(style)
    });
    let widths = [
        Constraint::Length(8),
        Constraint::Length(id),
        Constraint::Length(6),
        Constraint::Length(6),
        Constraint::Min(0),
    ];
    let headings = ["TIME", "TO", "STATUS", "MS", "WHY"];
    Table::new(lines.collect::<Vec<_>>(), widths)
        .header(TableRow::new(headings).style(styles.heading()))
        .column_spacing(1)
}

/// Why it was chosen, without what other columns say; what went wrong comes first.
fn why(receipt: &Value, outcome: &Value) -> String {
    let known = format!("{} was chosen by ", word(receipt, "chosen"));
    let choice = choice(receipt);
    let choice = choice.trim_end();
    let choice = choice.strip_prefix(&known).unwrap_or(choice);
    one_line(&match word(outcome, "error") {
        "" => choice.to_owned(),
        error => format!("{error}; {choice}"),
    })
}

fn nothing(state: &State) -> String {
    match &state.model().no_decisions {
        Some(why) => why.clone(),
        None if state.filter.is_empty() => {
            "no decision is kept yet; log.decision says which are".to_owned()
        }
        None => format!("no decision has {:?} in it (Esc shows all)", state.filter),
    }
}
