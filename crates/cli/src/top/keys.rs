//! What keys do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::state::{Change, Mode, OF_ENDPOINT, State, View, Wish};

/// The most characters of a filter.
const FILTER_MAX: usize = 200;

/// What a key comes to, beyond another picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    Ask(Wish),
    End,
}

impl State {
    /// A key was pressed.
    pub(super) fn press(&mut self, key: KeyEvent) -> Effect {
        if key.kind == KeyEventKind::Release {
            return Effect::Nothing;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            let is_end = key.code == KeyCode::Char('c');
            return if is_end { Effect::End } else { Effect::Nothing };
        }
        self.remark = None;
        match self.mode.clone() {
            Mode::Browse => self.browse(key.code),
            Mode::Filter => self.type_filter(key.code),
            Mode::Help => {
                self.mode = Mode::Browse;
                Effect::Nothing
            }
            Mode::Confirm(change) => {
                self.mode = Mode::Browse;
                match key.code {
                    KeyCode::Char('y' | 'Y') => Effect::Ask(Wish::Change(change)),
                    _ => Effect::Nothing,
                }
            }
        }
    }

    fn browse(&mut self, code: KeyCode) -> Effect {
        match code {
            KeyCode::Char('q') => return Effect::End,
            KeyCode::Char('1') => self.view = View::Endpoints,
            KeyCode::Char('2') => self.view = View::Decisions,
            KeyCode::Char('3') => self.view = View::Events,
            KeyCode::Tab => self.turn_cluster(1),
            KeyCode::BackTab => self.turn_cluster(-1),
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Char('r') => self.reversed = !self.reversed,
            KeyCode::Char('p') => self.stop_or_go(),
            KeyCode::Char('/') => self.mode = Mode::Filter,
            KeyCode::Char('?') => self.mode = Mode::Help,
            KeyCode::Char('d') => self.ask("draining"),
            KeyCode::Char('e') => self.ask("enabled"),
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Enter => self.decisions_of_chosen(),
            _ => self.go(code),
        }
        Effect::Nothing
    }

    fn go(&mut self, code: KeyCode) {
        let page = self.page.max(1) as isize;
        let by = match code {
            KeyCode::Down | KeyCode::Char('j') => 1,
            KeyCode::Up | KeyCode::Char('k') => -1,
            KeyCode::PageDown | KeyCode::Char(' ') => page,
            KeyCode::PageUp | KeyCode::Char('b') => -page,
            KeyCode::Home | KeyCode::Char('g') => -(isize::MAX),
            KeyCode::End | KeyCode::Char('G') => isize::MAX,
            _ => return,
        };
        let keys = self.keys();
        self.places[self.view as usize].go(&keys, by);
    }

    fn type_filter(&mut self, code: KeyCode) -> Effect {
        match code {
            KeyCode::Enter => {
                self.mode = Mode::Browse;
                return self.look_for_receipt();
            }
            KeyCode::Esc => {
                self.filter.clear();
                self.mode = Mode::Browse;
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(c) if self.filter.chars().count() < FILTER_MAX => self.filter.push(c),
            _ => {}
        }
        Effect::Nothing
    }

    /// Asks whether the endpoint that is chosen should be so.
    fn ask(&mut self, admin: &'static str) {
        if self.view != View::Endpoints {
            return;
        }
        let endpoint = self.chosen_endpoint();
        if let Some(endpoint) = endpoint.map(|row| row.endpoint.id.clone()) {
            self.mode = Mode::Confirm(Change {
                cluster: self.cluster.clone(),
                endpoint,
                admin,
            });
        }
    }

    /// Asks for the receipt of a request that is not among the latest decisions: the words may be its id.
    fn look_for_receipt(&mut self) -> Effect {
        let words = self.filter.trim();
        let may_be_id = !words.is_empty() && !words.contains([' ', '=']);
        if self.view != View::Decisions || !may_be_id || !self.decisions().is_empty() {
            return Effect::Nothing;
        }
        Effect::Ask(Wish::Receipt(words.to_owned()))
    }

    /// The decisions in which the endpoint that is chosen had a part.
    fn decisions_of_chosen(&mut self) {
        if self.view != View::Endpoints {
            return;
        }
        let endpoint = self.chosen_endpoint();
        if let Some(id) = endpoint.map(|row| row.endpoint.id.clone()) {
            self.filter = format!("{OF_ENDPOINT}{id}");
            self.view = View::Decisions;
        }
    }
}
