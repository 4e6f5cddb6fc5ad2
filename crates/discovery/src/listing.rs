//! What a source says.

use std::fmt;

use evenkeel_core::Endpoint;

/// A whole list of endpoints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Those that make sense, each id once, in the order of their ids.
    pub endpoints: Vec<Endpoint>,
    /// What was skipped.
    pub faults: Vec<Fault>,
}

/// An entry that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it stands in its source.
    pub key: String,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.why)
    }
}

/// Why a source gives no list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// It cannot be reached or read.
    #[error("{0}")]
    Unreachable(String),
    /// It was reached, and what it says is no list.
    #[error("{0}")]
    Nonsense(String),
    /// It wants other credentials.
    #[error("{0}")]
    Refused(String),
}

impl SourceError {
    /// The word for it in events.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::Nonsense(_) => "nonsense",
            Self::Refused(_) => "credentials",
        }
    }
}
