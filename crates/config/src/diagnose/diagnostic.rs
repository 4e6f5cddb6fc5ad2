//! One mistake, or one thing to know.

use std::ops::Range;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The configuration cannot be used.
    Error,
    /// It can be used, but does what is probably not meant.
    Warning,
}

impl Severity {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One mistake, or one thing to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The offending bytes of the text.
    pub span: Range<usize>,
    /// The line they begin on, from 1.
    pub line: usize,
    /// The character of the line, from 1.
    pub column: usize,
    /// What is wrong, one line: names the key, the value and what it should be.
    pub message: String,
    /// What would be right; empty when the message says it all.
    pub help: String,
    /// Another place that has to do with it.
    pub related: Option<Related>,
}

/// Another place that has to do with a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// Its bytes in the text.
    pub span: Range<usize>,
    /// The line they begin on, from 1.
    pub line: usize,
    /// What it has to do with it.
    pub message: String,
}
