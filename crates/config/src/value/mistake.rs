//! A value that is not what it should be, in words.

use std::fmt;

/// Says what is wrong with a value, and what would be right.
///
/// Displayed it is one line, the message and the help; a [`crate::Diagnostic`] keeps them apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong: names the value and the range.
    pub message: String,
    /// What would be right; empty when the message says it all.
    pub help: String,
}

impl Mistake {
    /// A mistake with its remedy.
    #[must_use]
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: help.into(),
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.help.is_empty() {
            Ok(())
        } else {
            write!(f, " ({})", self.help)
        }
    }
}

impl std::error::Error for Mistake {}
