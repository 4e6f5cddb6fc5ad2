//! What a source says.

use std::fmt;

use std::sync::Arc;

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
    /// The endpoints that it is about, as far as it says: what they were last stays in force, see
    /// [`crate::Guard::keep_last_good`].
    pub ids: Vec<Arc<str>>,
}

impl Fault {
    /// An entry that is about no endpoint in particular.
    #[must_use]
    pub fn new(key: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            why: why.into(),
            ids: Vec::new(),
        }
    }

    /// Says which endpoints it is about.
    #[must_use]
    pub fn about<I: Into<Arc<str>>>(mut self, ids: impl IntoIterator<Item = I>) -> Self {
        self.ids = ids.into_iter().map(Into::into).collect();
        self
    }
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
