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
    /// What was asserted does not hold, or a decision is not what its receipt leads to.
    Assertion = 4,
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
    code: ExitCode,
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

    pub(crate) fn assertion(words: impl Display) -> Self {
        Self::new(Code::Assertion, words)
    }

    /// Everything has been said already.
    pub(crate) fn silent(code: Code) -> Self {
        Self {
            code: code.into(),
            words: None,
        }
    }

    /// A program that was run ended so, and has said why.
    pub(crate) fn of_program(code: u8) -> Self {
        Self {
            code: code.into(),
            words: None,
        }
    }

    fn new(code: Code, words: impl Display) -> Self {
        Self {
            code: code.into(),
            words: Some(words.to_string()),
        }
    }

    /// Why, in a line.
    pub(crate) fn words(&self) -> String {
        let words = self.words.as_deref().unwrap_or_default();
        plain(&words.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Says why on stderr, in a line, and gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        if self.words.is_some() {
            let line = self.words();
            // Where nobody listens there is nothing to say.
            let _ = writeln!(std::io::stderr(), "evenkeel: {line}");
        }
        self.code
    }
}

/// The system's words without its number, and in lower case like ours.
fn plain(line: &str) -> String {
    let Some((before, rest)) = line.split_once(" (os error ") else {
        return line.to_owned();
    };
    let after = rest.split_once(')').map_or("", |(_, after)| after);
    let (ours, system) = before.rsplit_once(": ").unwrap_or(("", before));
    let mut chars = system.chars();
    let first = chars.next().map(|c| c.to_ascii_lowercase());
    let system: String = first.into_iter().chain(chars).collect();
    if ours.is_empty() {
        format!("{system}{after}")
    } else {
        format!("{ours}: {system}{after}")
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn the_words_of_the_system_fit_into_ours() {
        for (line, wanted) in [
            (
                "cannot read A.toml: No such file or directory (os error 2)",
                "cannot read A.toml: no such file or directory",
            ),
            (
                "cannot connect to a: Connection refused (os error 111); is it there?",
                "cannot connect to a: connection refused; is it there?",
            ),
            ("Permission denied (os error 13)", "permission denied"),
            ("weight 0.5 is not whole", "weight 0.5 is not whole"),
        ] {
            assert_eq!(plain(line), wanted);
        }
    }
}
