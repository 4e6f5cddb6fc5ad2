//! The three ways in which a message can be wrong, told apart by whose fault it is.

use thiserror::Error;

/// Says why a request is refused. It is always the client's fault.
///
/// Answer with [`status`](Self::status) and close the connection: where the next request would
/// begin is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{status}: {reason}")]
pub struct Reject {
    /// The status code to answer with: 400, 431, 501 or 505.
    pub status: u16,
    /// What was wrong, in a few lowercase words for an operator. Never holds bytes of the client's.
    pub reason: &'static str,
}

impl Reject {
    /// A malformed or ambiguous message.
    pub(crate) const fn bad(reason: &'static str) -> Self {
        Self {
            status: 400,
            reason,
        }
    }

    /// A head beyond its limits.
    pub(crate) const fn too_large(reason: &'static str) -> Self {
        Self {
            status: 431,
            reason,
        }
    }

    /// Something that is well-formed but not offered.
    pub(crate) const fn not_implemented(reason: &'static str) -> Self {
        Self {
            status: 501,
            reason,
        }
    }

    /// A version of HTTP that is not offered.
    pub(crate) const fn version() -> Self {
        Self {
            status: 505,
            reason: "http version is neither 1.0 nor 1.1",
        }
    }
}

/// Says why an endpoint's response cannot be relayed. The client gets 502.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct BadResponse {
    /// What was wrong, in a few lowercase words for an operator.
    pub reason: &'static str,
    /// Its head is beyond the limits, and may be right otherwise.
    pub too_large: bool,
}

impl BadResponse {
    /// A response that breaks the rules.
    pub(crate) const fn bad(reason: &'static str) -> Self {
        Self {
            reason,
            too_large: false,
        }
    }

    /// A head beyond its limits.
    pub(crate) const fn too_large(reason: &'static str) -> Self {
        Self {
            reason,
            too_large: true,
        }
    }
}

/// Says why a chunked body cannot be read on.
///
/// Whose fault it is depends on who sent the body, so it converts both into a [`Reject`] with 400
/// and into a [`BadResponse`]: a client that cannot frame its body never counts against an
/// endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct BadChunk {
    /// What was wrong, in a few lowercase words for an operator.
    pub reason: &'static str,
}

impl From<BadChunk> for Reject {
    fn from(bad: BadChunk) -> Self {
        Self::bad(bad.reason)
    }
}

impl From<BadChunk> for BadResponse {
    fn from(bad: BadChunk) -> Self {
        Self::bad(bad.reason)
    }
}
