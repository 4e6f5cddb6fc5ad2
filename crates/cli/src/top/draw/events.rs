//! What changed, and when.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row as TableRow, Table, Wrap};

use super::style::Styles;
use crate::top::list::page_start;
use crate::top::model::Event;
use crate::top::state::State;
use crate::top::words::{clock, cut, one_line};

pub(super) fn draw(state: &State, frame: &mut Frame<'_>, list: Rect, detail: Rect, styles: Styles) {
    let events = state.events();
    let chosen = state.chosen();
    frame.render_widget(table(&events, chosen, list, styles), list);
    let lines = match events.get(chosen) {
        Some(event) => about(event, styles),
        None if state.filter.is_empty() => vec![Line::raw("nothing has changed yet")],
        None => {
            let text = format!("no event has {:?} in it (Esc shows all)", state.filter);
            vec![Line::raw(text)]
        }
    };
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }), detail);
}

fn table(events: &[&Event], chosen: usize, area: Rect, styles: Styles) -> Table<'static> {
    let height = usize::from(area.height.saturating_sub(1));
    let start = page_start(chosen, height);
    let name = (area.width / 6).min(24);
    let seen = events.iter().enumerate().skip(start).take(height);
    let lines = seen.map(|(index, event)| {
        let endpoint = event.endpoint.as_deref();
        let who = endpoint.or(event.cluster.as_deref()).unwrap_or("-");
        let why = [&event.cause, &event.evidence].map(|it| it.as_deref().unwrap_or_default());
        let cells = [
            clock(&event.time).to_owned(),
            cut(&event.event, 10),
            cut(who, name.into()),
            one_line(why.join(" ").trim()),
        ];
        let style = match index == chosen {
            true => styles.chosen(),
            false => styles.plain(),
        };
        TableRow::new(cells).style(style)
    });
    let widths = [
        Constraint::Length(8),
        Constraint::Length(10),
        Constraint::Length(name),
        Constraint::Min(0),
    ];
    let headings = ["TIME", "EVENT", "WHO", "WHY"];
    Table::new(lines.collect::<Vec<_>>(), widths)
        .header(TableRow::new(headings).style(styles.heading()))
        .column_spacing(1)
}

fn about(event: &Event, styles: Styles) -> Vec<Line<'static>> {
    let text = |text: &Option<String>| one_line(text.as_deref().unwrap_or("-"));
    let what = format!("{} {}", event.time, event.event);
    let who = format!(
        "cluster {}  endpoint {}",
        text(&event.cluster),
        text(&event.endpoint)
    );
    let mut why = format!("{}: {}", text(&event.cause), text(&event.evidence));
    if event.until.is_some() {
        why.push_str(&format!(", until {}", text(&event.until)));
    }
    vec![
        Line::styled(one_line(&what), styles.heading()),
        Line::raw(why),
        Line::raw(who),
    ]
}
