//! The picture of a state. It depends on nothing else, so that tests can look at it.

mod decisions;
mod endpoints;
mod events;
mod help;
mod style;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::list::page_start;
use super::model::Cluster;
use super::state::{Mode, State, View};
use super::words::{clock, cut, millis, number};
use style::Styles;

/// The smallest height at which more than the list is shown.
const DETAIL_FROM: u16 = 7;

/// The screen's columns from which all views are named.
const NAMES_FROM: u16 = 60;

/// Where things are.
struct Places {
    title: Rect,
    clusters: Rect,
    shadow: Rect,
    tabs: Rect,
    list: Rect,
    detail: Rect,
    footer: Rect,
}

/// Draws it.
pub(super) fn draw(state: &State, frame: &mut Frame<'_>) {
    let styles = Styles::new(state.colours);
    let places = places(state, frame.area());
    frame.render_widget(title(state, places.title.width, styles), places.title);
    clusters(state, frame, places.clusters, styles);
    shadow(state, frame, places.shadow, styles);
    frame.render_widget(tabs(state, places.tabs.width, styles), places.tabs);
    if state.mode == Mode::Help {
        help::draw(frame, places.list.union(places.detail), styles);
    } else {
        match state.view {
            View::Endpoints => endpoints::draw(state, frame, places.list, places.detail, styles),
            View::Decisions => decisions::draw(state, frame, places.list, places.detail, styles),
            View::Events => events::draw(state, frame, places.list, places.detail, styles),
        }
    }
    frame.render_widget(footer(state, places.footer.width, styles), places.footer);
}

/// How many rows a list has below its headings on a screen of this size.
pub(super) fn rows_per_page(state: &State, area: Rect) -> usize {
    usize::from(places(state, area).list.height.saturating_sub(1))
}

fn places(state: &State, area: Rect) -> Places {
    let count = state.model().clusters.len().max(1) as u16;
    let clusters = count.min((area.height / 8).max(1));
    let shadows = state.model().shadows.len() as u16;
    // One alone says nothing: the noise is what the others are held against.
    let room = area.height / 8;
    let shadow = if room < 2 { 0 } else { shadows.min(room) };
    let parts = [
        Constraint::Length(1),
        Constraint::Length(clusters),
        Constraint::Length(shadow),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ];
    let [title, clusters, shadow, tabs, body, footer] = Layout::vertical(parts).areas(area);
    let detail = match state.view {
        _ if body.height < DETAIL_FROM => 0,
        View::Endpoints => (body.height / 3).clamp(3, 7),
        View::Decisions => body.height / 2,
        View::Events => (body.height / 3).clamp(3, 6),
    };
    let [list, detail] =
        Layout::vertical([Constraint::Min(0), Constraint::Length(detail)]).areas(body);
    Places {
        title,
        clusters,
        shadow,
        tabs,
        list,
        detail,
        footer,
    }
}

fn title(state: &State, width: u16, styles: Styles) -> Paragraph<'static> {
    let time = clock(&state.model().figures.time).to_owned();
    if let Some(why) = &state.lost {
        let text = format!("GONE {}, last heard {time}: {why}", state.gateway);
        return Paragraph::new(Span::styled(cut(&text, width.into()), styles.bad()));
    }
    let mut text = format!("{time} UTC  evenkeel top  {}", state.gateway);
    if state.is_stopped() {
        text = format!("STOPPED at {time} (p goes on)  {}", state.gateway);
    }
    Paragraph::new(Span::styled(cut(&text, width.into()), styles.heading()))
}

/// A line for each cluster; the one that is shown is marked, and its part of the list is seen.
fn clusters(state: &State, frame: &mut Frame<'_>, area: Rect, styles: Styles) {
    let all = &state.model().clusters;
    let shown = all.iter().position(|it| it.name == state.cluster);
    let rows = usize::from(area.height);
    let start = page_start(shown.unwrap_or(0), rows);
    let lines = all.iter().skip(start).take(rows).map(|cluster| {
        let is_shown = cluster.name == state.cluster;
        let text = cut(&cluster_line(state, cluster, is_shown), area.width.into());
        let style = match (cluster.panic, is_shown) {
            (true, _) => styles.bad(),
            (false, true) => styles.heading(),
            (false, false) => styles.plain(),
        };
        Line::styled(text, style)
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
}

fn cluster_line(state: &State, cluster: &Cluster, is_shown: bool) -> String {
    let mark = if is_shown { ">" } else { " " };
    let panic = if cluster.panic { " PANIC" } else { "" };
    let mut line = format!("{mark} {}{panic} {}", cluster.name, cluster.strategy.name);
    if let Some(figures) = state.model().figures(&cluster.name) {
        line.push_str(&format!(
            "  {}/s  {} err/s  {} in flight  p99 {} ms  p50 {} ms  {} retries/s",
            number(figures.requests_per_second),
            number(figures.errors_per_second),
            figures.in_flight,
            millis(figures.latency_ms.p99),
            millis(figures.latency_ms.p50),
            number(figures.retries_per_second),
        ));
    }
    line
}

fn shadow(state: &State, frame: &mut Frame<'_>, area: Rect, styles: Styles) {
    // The noise is the last one, and is not what is left out.
    let all = &state.model().shadows;
    let others = usize::from(area.height).min(all.len()).saturating_sub(1);
    let shown = all[..others].iter().chain(all.last());
    let lines = shown.map(|shadow| {
        let text = match &*shadow.strategy {
            "noise" => format!("  noise (itself, another seed): {}", shadow.summary),
            name => format!("  shadow {name}: {}", shadow.summary),
        };
        Line::styled(cut(&text, area.width.into()), styles.quiet())
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
}

fn tabs(state: &State, width: u16, styles: Styles) -> Paragraph<'static> {
    let mut spans = Vec::new();
    let names = [
        ("1 endpoints", View::Endpoints),
        ("2 decisions", View::Decisions),
        ("3 events", View::Events),
    ];
    for (name, view) in names {
        let style = match view == state.view {
            true => styles.chosen(),
            false => styles.quiet(),
        };
        // On a narrow screen only the one that is shown is named.
        let is_named = width >= NAMES_FROM || view == state.view;
        let name = if is_named { name } else { &name[..1] };
        spans.push(Span::styled(name, style));
        spans.push(Span::raw(" "));
    }
    let count = state.keys().len();
    let at = (state.chosen() + 1).min(count);
    let mut rest = format!(" {at}/{count}");
    if state.view == View::Endpoints {
        let order = if state.reversed { " reversed" } else { "" };
        rest.push_str(&format!("  by {}{order}", state.sort.name()));
    }
    if !state.filter.is_empty() {
        rest.push_str(&format!("  /{}", state.filter));
    }
    spans.push(Span::styled(rest, styles.quiet()));
    Paragraph::new(Line::from(spans))
}

fn footer(state: &State, width: u16, styles: Styles) -> Paragraph<'static> {
    let width = usize::from(width);
    match (&state.mode, &state.remark) {
        (Mode::Filter, _) => Paragraph::new(cut(&format!("/{}_", state.filter), width)),
        (Mode::Confirm(change), _) => {
            let text = cut(&question(state, change), width.saturating_sub(6));
            Paragraph::new(Span::styled(format!("{text} [y/n]"), styles.chosen()))
        }
        (_, Some(remark)) => {
            let style = match remark.is_bad {
                true => styles.bad(),
                false => styles.good(),
            };
            Paragraph::new(Span::styled(cut(&remark.text, width), style))
        }
        (Mode::Help, None) => Paragraph::new("any key goes back"),
        (Mode::Browse, None) => {
            let endpoints =
                "? keys  q quit  / filter  s sort  d drain  e enable  Enter its decisions";
            let others = "? keys  q quit  / filter  p stop  Tab next cluster";
            let text = match state.view {
                View::Endpoints => endpoints,
                View::Decisions | View::Events => others,
            };
            Paragraph::new(Span::styled(cut(text, width), styles.quiet()))
        }
    }
}

/// What a change would come to, said before it is made.
fn question(state: &State, change: &super::state::Change) -> String {
    let (id, cluster) = (&change.endpoint, &change.cluster);
    if change.admin == "enabled" {
        return format!("enable {id} of {cluster}?");
    }
    let rows = state.model().rows(cluster);
    let others = rows
        .iter()
        .filter(|row| row.endpoint.id != *id && row.endpoint.effective_weight > 0.0);
    if others.count() == 0 {
        return format!("drain {id}? NOBODY ELSE takes requests of {cluster}");
    }
    format!("drain {id} of {cluster}?")
}
