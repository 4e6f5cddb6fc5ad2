//! How large a head may be, and the room its fields are noted in.

use std::fmt;
use std::mem::MaybeUninit;

/// The most fields that any head can have, whatever [`Limits::headers`] says.
///
/// It bounds [`Slots`], which lies on the stack: 256 fields of 32 bytes are 8 KiB.
pub const HEADERS_MAX: usize = 256;

/// Says how large the head of a message may be.
///
/// A request beyond them is refused with 431, a response beyond them is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of a whole head: the first line, the fields and the empty line. Default 64 KiB.
    pub header_bytes: usize,
    /// Most fields of a head, 0 to [`HEADERS_MAX`] (larger values count as that). Default 100.
    pub headers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_bytes: 64 * 1024,
            headers: 100,
        }
    }
}

impl Limits {
    /// Tells whether reading a head is worth a try, when the first `seen` bytes of it were not
    /// enough.
    ///
    /// A head that drips in byte by byte would be read from its start for each of them. This looks
    /// only at the new bytes for an end of the head, and says yes when the limit is reached too.
    /// What is wrong with a head that never ends is then found by the limit or by a deadline.
    ///
    /// # Examples
    ///
    /// ```
    /// use evenkeel_http1::Limits;
    ///
    /// let limits = Limits::default();
    /// assert!(!limits.may_be_complete(b"GET / HTTP/1.1\r\nHost: a\r\n", 10));
    /// assert!(limits.may_be_complete(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 26));
    /// ```
    #[must_use]
    pub fn may_be_complete(&self, bytes: &[u8], seen: usize) -> bool {
        // The end may have begun in the last three bytes that were seen.
        let new = &bytes[seen.saturating_sub(3).min(bytes.len())..];
        bytes.len() >= self.header_bytes
            || new.windows(2).any(|pair| pair == b"\n\n")
            || new.windows(3).any(|three| three == b"\n\r\n")
    }
}

/// Stack room for the fields of one head.
///
/// It is left uninitialised until a parser fills it, so making one costs nothing, whatever
/// [`HEADERS_MAX`] is.
pub struct Slots<'b> {
    list: [MaybeUninit<httparse::Header<'b>>; HEADERS_MAX],
}

impl<'b> Slots<'b> {
    /// Makes room for [`HEADERS_MAX`] fields. Free: nothing is written.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            list: [MaybeUninit::uninit(); HEADERS_MAX],
        }
    }

    /// The first slots, as many as the limits allow.
    pub(crate) fn within(&mut self, limits: &Limits) -> &mut [MaybeUninit<httparse::Header<'b>>] {
        &mut self.list[..limits.headers.min(HEADERS_MAX)]
    }
}

impl Default for Slots<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Slots<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots").finish_non_exhaustive()
    }
}
