//! The two versions of HTTP/1.

/// Names the version of a message (RFC 9112 section 2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// `HTTP/1.0`: no chunks, no interim answers, and a connection ends with its answer unless both
    /// sides say otherwise.
    Http10,
    /// `HTTP/1.1`
    #[default]
    Http11,
}

impl Version {
    /// The version of a parsed head, from its minor number.
    pub(crate) const fn from_minor(minor: u8) -> Self {
        if minor == 0 {
            Self::Http10
        } else {
            Self::Http11
        }
    }
}
