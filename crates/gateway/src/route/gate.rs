//! The first look at a route: enough to pass over nearly all of those that do not take a request.

use evenkeel_config::{Conditions, HostPattern, PathPattern};
use evenkeel_http1::Method;

/// What of a request can be compared in a few instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glance {
    /// The first bytes of the host in lower case, with its length.
    host: u64,
    /// The first bytes of the path.
    path: u64,
    /// A bit for the method.
    method: u16,
}

impl Glance {
    pub(super) fn new(host: &str, path: &[u8], method: Method) -> Self {
        Self {
            host: host_word(host),
            path: first_word(path),
            method: bit(method),
        }
    }
}

/// What a request must look like for a route to be compared with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    host: u64,
    host_mask: u64,
    path: u64,
    path_mask: u64,
    methods: u16,
}

impl Gate {
    pub(super) fn new(when: &Conditions) -> Self {
        let (host, host_mask) = match &when.host {
            Some(HostPattern::Exact(host)) => (host_word(host), u64::MAX),
            Some(HostPattern::Below(_)) | None => (0, 0),
        };
        let (path, path_mask) = match &when.path {
            Some(PathPattern::Exact(path)) => (first_word(path), u64::MAX),
            Some(PathPattern::Prefix(path)) => (first_word(path), mask(path.len())),
            None => (0, 0),
        };
        let methods = when
            .methods
            .iter()
            .map(|name| bit(Method::from_bytes(name.as_bytes())))
            .reduce(|one, other| one | other);
        Self {
            host,
            host_mask,
            path,
            path_mask,
            methods: methods.unwrap_or(u16::MAX),
        }
    }

    /// Whether the route may take a request that looks like this.
    #[inline]
    pub(super) fn admits(&self, glance: &Glance) -> bool {
        let other =
            (self.host ^ glance.host) & self.host_mask | (self.path ^ glance.path) & self.path_mask;
        other == 0 && self.methods & glance.method != 0
    }
}

fn bit(method: Method) -> u16 {
    1 << (method as u16)
}

/// The first eight bytes, and zeros where there are fewer.
#[inline]
fn first_word(bytes: &[u8]) -> u64 {
    if let Some(word) = bytes.first_chunk() {
        return u64::from_le_bytes(*word);
    }
    bytes
        .iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Seven bytes and the length; letters in one case, other signs shifted alike on both sides.
#[inline]
fn host_word(host: &str) -> u64 {
    const LOWER: u64 = 0x0020_2020_2020_2020;
    let start = first_word(host.as_bytes()) & mask(7);
    (start | LOWER) | (host.len() as u64) << 56
}

/// A mask of so many bytes.
const fn mask(bytes: usize) -> u64 {
    match bytes {
        8.. => u64::MAX,
        bytes => (1 << (8 * bytes)) - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_hold_the_start_of_a_text() {
        assert_eq!(first_word(b""), 0);
        assert_eq!(first_word(b"ab"), 0x6261);
        assert_eq!(first_word(b"abcdefgh"), first_word(b"abcdefghij"));
        assert_eq!(host_word("A.Example"), host_word("a.example"));
        assert_ne!(host_word("a.example"), host_word("a.examples"));
        assert_ne!(host_word("a.example"), host_word("b.example"));
        assert_eq!(
            (mask(0), mask(1), mask(8), mask(9)),
            (0, 255, u64::MAX, u64::MAX)
        );
    }
}
