//! How a command ends: the exit codes, and what goes with them.

use std::fmt::Display;
use std::io::Write as _;
use std::process::ExitCode;

/// The exit codes, as the reference lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// All went well.
    Success = 0,
    /// Something failed at run time; a busy port too.
    Runtime = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The configuration is wrong, missing or unreadable.
    Config = 3,
    /// The user did not want to wait for the end.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// Why a command ends before it has done what it was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    code: Code,
    words: Option<String>,
}

impl Failure {
    pub(crate) fn runtime(words: impl Display) -> Self {
        Self::new(Code::Runtime, words)
    }

    pub(crate) fn usage(words: impl Display) -> Self {
        Self::new(Code::Usage, words)
    }

    pub(crate) fn config(words: impl Display) -> Self {
        Self::new(Code::Config, words)
    }

    /// Everything has been said already.
    pub(crate) fn silent(code: Code) -> Self {
        Self { code, words: None }
    }

    fn new(code: Code, words: impl Display) -> Self {
        Self {
            code,
            words: Some(words.to_string()),
        }
    }

    /// Says why on stderr, in a line, and gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        if let Some(words) = self.words {
            let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
            // Where nobody listens there is nothing to say.
            let _ = writeln!(std::io::stderr(), "evenkeel: {line}");
        }
        self.code.into()
    }
}
