//! What keys there are.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::style::Styles;

const KEYS: &[&str] = &[
    "1 2 3       endpoints, decisions, events",
    "Tab         the next cluster",
    "arrows j k  move; PgUp PgDn, Home End",
    "/           filter; Esc ends it",
    "s r         sort by another; reverse",
    "d e         drain, enable; y confirms",
    "Enter       decisions with this endpoint",
    "p           stop the picture, or go on",
    "q           quit",
];

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, styles: Styles) {
    let lines = KEYS.iter().map(|line| Line::styled(*line, styles.plain()));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
}
