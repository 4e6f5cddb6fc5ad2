//! Writing a body in the form that the head promised.

use crate::trailers::Trailers;

/// Names the form of a body on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// There is none; data is dropped.
    #[default]
    None,
    /// The bytes as they are. A length or the end of the connection ends them.
    Identity,
    /// Chunks (RFC 9112 section 7.1).
    Chunked,
}

/// Writes a body.
///
/// # Examples
///
/// ```
/// use evenkeel_http1::{BodyEncoder, Encoding, Trailers};
///
/// let encoder = BodyEncoder::new(Encoding::Chunked);
/// let mut out = Vec::new();
/// encoder.data(b"hello", &mut out);
/// encoder.finish(&Trailers::new(), &mut out);
/// assert_eq!(out, b"5\r\nhello\r\n0\r\n\r\n");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BodyEncoder {
    encoding: Encoding,
}

impl BodyEncoder {
    /// What follows the data of each chunk.
    pub const CHUNK_END: &'static [u8] = b"\r\n";

    /// Makes an encoder for a body in this form.
    #[must_use]
    pub const fn new(encoding: Encoding) -> Self {
        Self { encoding }
    }

    /// Tells whether data goes out as it is, so that a driver can send it from where it lies.
    #[must_use]
    pub const fn is_identity(&self) -> bool {
        matches!(self.encoding, Encoding::Identity)
    }

    /// The form of the body.
    #[must_use]
    pub const fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Appends data. Empty data appends nothing: an empty chunk would end the body.
    pub fn data(&self, data: &[u8], out: &mut Vec<u8>) {
        match self.encoding {
            Encoding::None => {}
            Encoding::Identity => out.extend_from_slice(data),
            Encoding::Chunked if data.is_empty() => {}
            Encoding::Chunked => {
                out.reserve(data.len() + 20);
                self.chunk_start(data.len(), out);
                out.extend_from_slice(data);
                out.extend_from_slice(Self::CHUNK_END);
            }
        }
    }

    /// Appends the size line of a chunk whose `len` bytes the driver sends from where they lie,
    /// followed by [`CHUNK_END`](Self::CHUNK_END).
    ///
    /// Writes nothing for other encodings.
    ///
    /// # Panics
    ///
    /// In debug builds when `len` is zero, since that chunk would end the body.
    pub fn chunk_start(&self, len: usize, out: &mut Vec<u8>) {
        debug_assert!(len > 0, "an empty chunk ends the body");
        if self.encoding != Encoding::Chunked {
            return;
        }
        // A usize has at most 16 hexadecimal digits.
        let mut line = [0_u8; 18];
        let mut at = 16;
        line[16..].copy_from_slice(b"\r\n");
        let mut rest = len;
        while rest > 0 {
            at -= 1;
            line[at] = b"0123456789abcdef"[rest & 15];
            rest >>= 4;
        }
        out.extend_from_slice(&line[at..]);
    }

    /// Appends the end of the body. Trailer fields are dropped where the form has no place for
    /// them.
    ///
    /// A body that was cut short must not be finished.
    pub fn finish(&self, trailers: &Trailers, out: &mut Vec<u8>) {
        if self.encoding == Encoding::Chunked {
            out.extend_from_slice(b"0\r\n");
            out.extend_from_slice(trailers.lines());
            out.extend_from_slice(b"\r\n");
        }
    }
}
