//! The Connection field: what it asks for and which other fields it takes along.

use crate::framing::trim_ows;

/// Most options over all Connection fields of a head.
///
/// Each other field is compared with each option, so that without a bound a 64 KiB head could ask
/// for millions of comparisons. Real clients send one to three.
pub const CONNECTION_OPTIONS_MAX: usize = 32;

/// Most bytes of all Connection fields of a head. 1 KiB, for the same reason.
pub const CONNECTION_BYTES_MAX: usize = 1024;

/// What the Connection fields of a head say together (RFC 9110 section 7.6.1).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConnectionOptions {
    /// `close` is among them; it wins over `keep-alive`.
    pub(crate) close: bool,
    /// `keep-alive` is among them.
    pub(crate) keep_alive: bool,
    /// `upgrade` is among them.
    pub(crate) upgrade: bool,
    /// Some other field is named.
    pub(crate) nominates: bool,
    count: usize,
    bytes: usize,
}

impl ConnectionOptions {
    /// Adds the options of one Connection field.
    pub(crate) fn note(&mut self, value: &[u8]) -> Result<(), &'static str> {
        self.bytes = self.bytes.saturating_add(value.len());
        if self.bytes > CONNECTION_BYTES_MAX {
            return Err("connection field is too long");
        }
        for option in options(value) {
            self.count += 1;
            if self.count > CONNECTION_OPTIONS_MAX {
                return Err("too many connection options");
            }
            if option.eq_ignore_ascii_case(b"close") {
                self.close = true;
            } else if option.eq_ignore_ascii_case(b"keep-alive") {
                self.keep_alive = true;
            } else if option.eq_ignore_ascii_case(b"upgrade") {
                self.upgrade = true;
            } else {
                self.nominates = true;
            }
        }
        Ok(())
    }
}

/// The options of one Connection value, empty list elements left out.
pub(crate) fn options(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&byte| byte == b',')
        .map(trim_ows)
        .filter(|option| !option.is_empty())
}
