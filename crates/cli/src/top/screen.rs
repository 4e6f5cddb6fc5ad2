//! The terminal, taken over and given back.

use std::io::{self, BufWriter, Stdout, Write as _};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Rect;

use super::draw;
use super::state::State;
use crate::exit::Failure;

/// A picture goes out in one piece where it is no larger than this.
const PIECE_BYTES: usize = 64 << 10;

/// The terminal while it is ours. Dropped, it is as it was.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

impl Screen {
    /// Takes the terminal over; a panic gives it back before it says what it has to say.
    pub(super) fn enter() -> Result<Self, Failure> {
        give_back_on_panic();
        Self::open().map_err(|error| {
            leave();
            failed(&error)
        })
    }

    fn open() -> io::Result<Self> {
        enable_raw_mode()?;
        let mut out = BufWriter::with_capacity(PIECE_BYTES, io::stdout());
        execute!(out, EnterAlternateScreen)?;
        let mut terminal = Terminal::new(CrosstermBackend::new(out))?;
        terminal.hide_cursor()?;
        Ok(Self { terminal })
    }

    /// The size that the next picture will have.
    pub(super) fn area(&self) -> Result<Rect, Failure> {
        let size = self.terminal.size().map_err(|error| failed(&error))?;
        Ok(Rect::new(0, 0, size.width, size.height))
    }

    /// Sends what has changed since the last picture.
    pub(super) fn draw(&mut self, state: &State) -> Result<(), Failure> {
        let drawn = self.terminal.draw(|frame| draw::draw(state, frame));
        drawn.map(|_| ()).map_err(|error| failed(&error))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // What waits to be written belongs to our screen, not to the one behind it.
        let _ = self.terminal.backend_mut().flush();
        leave();
    }
}

/// Gives back what can be given back without a byte to the terminal.
pub(super) fn modes_back() {
    let _ = disable_raw_mode();
}

/// Gives the terminal back, as far as it is still there.
pub(super) fn leave() {
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// Ends the process after the message: what the picture was in the middle of must not reach the terminal.
fn give_back_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        leave();
        before(panic);
        std::process::exit(101);
    }));
}

fn failed(error: &io::Error) -> Failure {
    Failure::runtime(format!("the terminal cannot be drawn on: {error}"))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Set in the process that is to panic.
    const CHILD: &str = "EVENKEEL_TEST_PANIC_ON_SCREEN";

    #[test]
    fn panics_on_the_screen_where_asked() {
        if std::env::var_os(CHILD).is_some() {
            let _screen = Screen::enter().expect("a terminal");
            panic!("as asked");
        }
    }

    #[test]
    fn a_panic_gives_the_terminal_back_before_its_message() {
        let test = std::env::current_exe().expect("this test");
        let name = "top::screen::tests::panics_on_the_screen_where_asked";
        let line = format!("'{}' --exact {name} --nocapture; stty -a", test.display());
        let mut script = Command::new("script");
        script
            .args(["-q", "-c", &line, "/dev/null"])
            .env(CHILD, "1");
        let out = script.stdin(Stdio::null()).output().expect("util-linux");
        let text = String::from_utf8_lossy(&out.stdout);
        let at = |words: &str| {
            text.find(words)
                .unwrap_or_else(|| panic!("{words:?}: {text:?}"))
        };
        assert!(at("\x1b[?1049h") < at("\x1b[?1049l"), "{text:?}");
        assert!(at("\x1b[?25h") < at("as asked"), "{text:?}");
        assert!(
            text.contains(" icanon") && text.contains(" echo "),
            "{text:?}"
        );
        assert!(!text[at("as asked")..].contains("\x1b["), "{text:?}");
    }
}
