//! What commands print: results on stdout, remarks on stderr, colours only on a terminal.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use clap::ValueEnum;
use serde::Serialize;

use crate::Outcome;
use crate::exit::Failure;

/// How a result is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// Prints to stdout. Who stopped reading has seen enough: that is no failure.
pub(crate) fn print(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::runtime(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a value as JSON, for people to read too.
pub(crate) fn print_json(value: &impl Serialize) -> Outcome {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::runtime(format!("cannot write JSON: {error}")))?;
    print(&format!("{text}\n"))
}

/// Remarks on stderr, as far as anybody reads them.
pub(crate) fn say(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Whether stdout takes colours.
pub(crate) fn stdout_colours() -> bool {
    colours_wanted() && io::stdout().is_terminal()
}

/// Whether stderr takes colours.
pub(crate) fn stderr_colours() -> bool {
    colours_wanted() && io::stderr().is_terminal()
}

/// By the convention of no-color.org: set to anything but nothing.
fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
