//! Rewriting targets: a prefix taken away, another one put in its place.

use std::sync::Arc;

use evenkeel_config::{self as config, PathPattern};
use evenkeel_http1::PathForm;

use super::table::Asked;

/// What of a request's target and Host is changed.
#[derive(Debug)]
pub(super) struct Rewrite {
    strip: Option<PathPattern>,
    prefix: Option<Arc<str>>,
    host: Option<Arc<str>>,
}

impl Rewrite {
    pub(super) fn new(rewrite: &config::Rewrite) -> Self {
        Self {
            strip: rewrite.strip_prefix.clone(),
            prefix: rewrite.prefix.clone(),
            host: rewrite.host.clone(),
        }
    }

    /// The Host to send, where it is not the client's.
    #[inline]
    pub(super) fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// The target to send, where it is not the client's. `buffer` is used again.
    #[inline]
    pub(super) fn target<'o>(
        &self,
        asked: &Asked<'_, '_, '_>,
        buffer: &'o mut Vec<u8>,
    ) -> Option<&'o [u8]> {
        if self.strip.is_none() && self.prefix.is_none() {
            return None;
        }
        buffer.clear();
        self.write(asked, buffer).then_some(&**buffer)
    }

    /// Whether there is another target.
    fn write(&self, asked: &Asked<'_, '_, '_>, out: &mut Vec<u8>) -> bool {
        let path = asked.head.path().as_bytes();
        if !path.starts_with(b"/") {
            return false;
        }
        let prefix = self.prefix.as_deref().unwrap_or_default();
        out.extend_from_slice(prefix.as_bytes());
        match &self.strip {
            None => out.extend_from_slice(path),
            Some(strip) if strip.takes(asked.path) => write_rest(asked, path, strip, out),
            Some(_) => return false,
        }
        if out.is_empty() {
            out.push(b'/');
        }
        if let Some(query) = asked.head.query() {
            out.push(b'?');
            out.extend_from_slice(query.as_bytes());
        }
        true
    }
}

/// Appends what stands behind a prefix: as it came, as long as that has one meaning only.
fn write_rest(asked: &Asked<'_, '_, '_>, path: &[u8], strip: &PathPattern, out: &mut Vec<u8>) {
    let (PathPattern::Prefix(strip) | PathPattern::Exact(strip)) = strip;
    match asked.form {
        PathForm::Normal => out.extend_from_slice(&path[strip.len()..]),
        PathForm::Escaped => {
            let segments = strip.iter().filter(|byte| **byte == b'/').count();
            let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            let end = slashes.map(|(at, _)| at).nth(segments);
            out.extend_from_slice(&path[end.unwrap_or(path.len())..]);
        }
        // Where the prefix ends in it depends on who resolves the dots: they are resolved here.
        PathForm::Resolved => write_escaped(&asked.path[strip.len()..], out),
    }
}

/// Appends a decoded path, with escapes where a path needs them (RFC 3986 section 3.3).
fn write_escaped(path: &[u8], out: &mut Vec<u8>) {
    for &byte in path {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte) {
            out.push(byte);
        } else {
            let digits = b"0123456789ABCDEF";
            let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
            out.extend_from_slice(&[b'%', digits[high], digits[low]]);
        }
    }
}
