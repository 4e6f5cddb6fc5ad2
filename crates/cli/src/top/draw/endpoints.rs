//! Who gets what, and why.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row as TableRow, Table, Wrap};

use super::style::Styles;
use crate::top::list::page_start;
use crate::top::model::Row;
use crate::top::state::State;
use crate::top::words::{clock, cut, millis, number, one_line, percent};

/// A column: its heading, its columns of the screen, and the screen's columns from which it is there.
struct Column {
    heading: &'static str,
    width: u16,
    from: u16,
    is_number: bool,
    text: fn(&Row<'_>) -> String,
}

/// How wide the bar of a share is.
const BAR: u16 = 20;

const fn column(
    heading: &'static str,
    width: u16,
    from: u16,
    text: fn(&Row<'_>) -> String,
) -> Column {
    Column {
        heading,
        width,
        from,
        is_number: true,
        text,
    }
}

const fn words(
    heading: &'static str,
    width: u16,
    from: u16,
    text: fn(&Row<'_>) -> String,
) -> Column {
    Column {
        is_number: false,
        ..column(heading, width, from, text)
    }
}

/// What stands behind the id, from left to right.
const COLUMNS: &[Column] = &[
    words("STATE", 10, 0, |row| row.endpoint.state.clone()),
    column("SHARE", 6, 0, |row| percent(share(row))),
    column("DUE", 6, 0, |row| percent(row.endpoint.due)),
    words("SHARE, | IS DUE", BAR, 140, bar),
    column("WEIGHT", 6, 80, |row| number(row.endpoint.weight)),
    column("FLIGHT", 6, 0, |row| row.figures.in_flight.to_string()),
    column("REQ/S", 6, 56, |row| {
        number(row.figures.requests_per_second)
    }),
    column("ERR/S", 5, 72, |row| number(row.figures.errors_per_second)),
    column("P50", 6, 100, |row| millis(row.figures.latency_ms.p50)),
    column("P99 ms", 6, 64, |row| millis(row.figures.latency_ms.p99)),
    words("SINCE", 8, 120, |row| clock(&row.endpoint.since).to_owned()),
];

/// The screen's columns from which reasons stand in the rows.
const REASON_FROM: u16 = 110;

/// The narrowest that ids become.
const ID_MIN: u16 = 8;

pub(super) fn draw(state: &State, frame: &mut Frame<'_>, list: Rect, detail: Rect, styles: Styles) {
    let rows = state.rows();
    let chosen = state.chosen();
    frame.render_widget(table(&rows, chosen, list, styles), list);
    let text = match rows.get(chosen) {
        Some(row) => about(state, row, styles),
        None => vec![Line::raw(nobody(state))],
    };
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), detail);
}

fn table(rows: &[Row<'_>], chosen: usize, area: Rect, styles: Styles) -> Table<'static> {
    let columns = COLUMNS.iter().filter(|it| it.from <= area.width);
    let columns: Vec<&Column> = columns.collect();
    let taken: u16 = columns.iter().map(|it| it.width + 1).sum();
    let left = area.width.saturating_sub(taken);
    let has_reason = area.width >= REASON_FROM;
    let longest = rows.iter().map(|row| Span::raw(&*row.endpoint.id).width());
    let longest = longest.max().unwrap_or(0) as u16;
    let id = match has_reason {
        true => longest.clamp(ID_MIN, (left / 2).max(ID_MIN)),
        false => left.max(ID_MIN),
    };
    let mut widths = vec![Constraint::Length(id)];
    widths.extend(columns.iter().map(|it| Constraint::Length(it.width)));
    let mut headings = vec![Cell::from("ENDPOINT")];
    headings.extend(columns.iter().map(|it| cell(it.heading.to_owned(), it)));
    if has_reason {
        widths.push(Constraint::Min(0));
        headings.push(Cell::from("WHY"));
    }
    let height = usize::from(area.height.saturating_sub(1));
    let start = page_start(chosen, height);
    let seen = rows.iter().enumerate().skip(start).take(height);
    let lines = seen.map(|(index, row)| {
        let mut cells = vec![Cell::from(cut(&row.endpoint.id, id.into()))];
        cells.extend(columns.iter().map(|it| cell((it.text)(row), it)));
        if has_reason {
            cells.push(Cell::from(one_line(&row.endpoint.reason)));
        }
        let style = match index == chosen {
            true => styles.chosen(),
            false => styles.state(&row.endpoint.state),
        };
        TableRow::new(cells).style(style)
    });
    Table::new(lines.collect::<Vec<_>>(), widths)
        .header(TableRow::new(headings).style(styles.heading()))
        .column_spacing(1)
}

fn cell(text: String, column: &Column) -> Cell<'static> {
    let alignment = match column.is_number {
        true => Alignment::Right,
        false => Alignment::Left,
    };
    Cell::from(Line::raw(text).alignment(alignment))
}

/// The share as a bar, with a mark where it is due by weight.
fn bar(row: &Row<'_>) -> String {
    let place = |share: f64| (share * f64::from(BAR - 1)).round() as u16;
    let (filled, mark) = (place(share(row)), place(row.endpoint.due));
    let sign = |at: u16| match at {
        _ if at == mark && row.endpoint.due > 0.0 => '|',
        _ if at < filled => '=',
        _ => ' ',
    };
    (0..BAR).map(sign).collect()
}

fn share(row: &Row<'_>) -> f64 {
    row.figures.share.unwrap_or_default()
}

/// What there is to say of one of them: the reason first, since it is what is asked for.
fn about(state: &State, row: &Row<'_>, styles: Styles) -> Vec<Line<'static>> {
    let it = row.endpoint;
    let since = clock(&it.since);
    let why = format!("{}: {} since {since}, {}", it.id, it.state, it.reason);
    let gets = match row.endpoint.due > 0.0 {
        true => format!(
            "gets {} of {} due",
            percent(share(row)),
            percent(row.endpoint.due)
        ),
        false => format!("gets {}, nothing is due to it", percent(share(row))),
    };
    let by = format!(
        "{gets} by weight {} (now {})",
        number(it.weight),
        number(it.effective_weight)
    );
    let place = format!(
        "{}  zone {}  tier {}  health {}",
        it.address,
        it.zone.as_deref().unwrap_or("-"),
        it.tier,
        it.health
    );
    let counts = format!(
        "{} in flight  {} requests, {} failed since the start",
        row.figures.in_flight, it.requests, it.failures
    );
    let mut lines = vec![
        Line::styled(one_line(&why), styles.heading()),
        Line::raw(by),
    ];
    if let Some(event) = state.model().last_event(&state.cluster, &it.id) {
        let text = format!(
            "last change {} {} {} {}",
            clock(&event.time),
            event.event,
            event.cause.as_deref().unwrap_or_default(),
            event.evidence.as_deref().unwrap_or_default()
        );
        lines.push(Line::raw(one_line(&text)));
    }
    lines.push(Line::raw(one_line(&place)));
    lines.push(Line::raw(counts));
    lines
}

fn nobody(state: &State) -> String {
    match state.filter.is_empty() {
        true => format!("{} has no endpoints", state.cluster),
        false => format!("no endpoint has {:?} in it (Esc shows all)", state.filter),
    }
}
