//! How things look. Colour says nothing that words do not say too.

use ratatui::style::{Color, Modifier, Style};

/// Styles, with colours or without.
#[derive(Clone, Copy, Debug)]
pub(super) struct Styles {
    colours: bool,
}

impl Styles {
    pub(super) fn new(colours: bool) -> Self {
        Self { colours }
    }

    pub(super) fn plain(self) -> Style {
        Style::new()
    }

    pub(super) fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(super) fn quiet(self) -> Style {
        self.coloured(Color::DarkGray)
    }

    pub(super) fn good(self) -> Style {
        self.coloured(Color::Green)
    }

    pub(super) fn warn(self) -> Style {
        self.coloured(Color::Yellow)
    }

    pub(super) fn bad(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// Of an endpoint in this state.
    pub(super) fn state(self, state: &str) -> Style {
        match state {
            "ready" => self.good(),
            "slow_start" | "saturated" | "draining" => self.warn(),
            "disabled" => self.quiet(),
            _ => self.bad(),
        }
    }

    fn coloured(self, colour: Color) -> Style {
        match self.colours {
            true => Style::new().fg(colour),
            false => Style::new(),
        }
    }
}
