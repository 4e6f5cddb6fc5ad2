//! Finding a body in the bytes behind a head, however they are split.

use std::ops::Range;

use crate::framing::Framing;
use crate::reject::BadChunk;
use crate::trailers::{TRAILER_BYTES_MAX, Trailers};

/// Most bytes of extensions on one chunk line. 4 KiB.
pub const CHUNK_EXTENSION_BYTES_MAX: u32 = 4 * 1024;

/// Most bytes of extensions that a body may have beyond its bytes of data, at any point. 16 KiB.
///
/// Signed uploads send some 80 bytes for each chunk of at least 8 KiB and never come near. A body
/// of one-byte chunks with long extensions costs work without end for nothing.
pub const CHUNK_EXTENSION_DEBT_MAX: u32 = 16 * 1024;

/// Most digits of a chunk size: 16 hexadecimal ones fill a u64.
const SIZE_DIGITS_MAX: u8 = 16;

/// What one step of a [`BodyDecoder`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Bytes of the input that are done with. Zero only when the input was empty or the body is
    /// complete.
    pub consumed: usize,
    /// Which of them are data.
    pub data: Range<usize>,
    /// The body is complete. The bytes behind `consumed` are not part of it.
    pub done: bool,
}

/// Reads a body step by step from input that is split anywhere.
///
/// Chunks are read strictly (RFC 9112 section 7.1): one to sixteen hexadecimal digits, CRLF after
/// every line, no white space after a size. Extensions are dropped, within
/// [`CHUNK_EXTENSION_BYTES_MAX`] and [`CHUNK_EXTENSION_DEBT_MAX`].
///
/// # Examples
///
/// ```
/// use evenkeel_http1::{BodyDecoder, Framing};
///
/// let mut decoder = BodyDecoder::new(Framing::Chunked);
/// let mut input: &[u8] = b"5;x=y\r\nhello\r\n1\r\n!\r\n0\r\n\r\nGET";
/// let mut body = Vec::new();
/// while !decoder.is_done() {
///     let piece = decoder.decode(input).expect("well-formed");
///     body.extend_from_slice(&input[piece.data]);
///     input = &input[piece.consumed..];
/// }
/// assert_eq!((body.as_slice(), input), (&b"hello!"[..], &b"GET"[..]));
/// ```
#[derive(Clone, Debug)]
pub struct BodyDecoder {
    state: State,
    /// Bytes of extension on the current line.
    line_extension: u32,
    /// Bytes of extension beyond the bytes of data.
    extension_debt: u32,
    /// What few bodies have, so that a decoder is small and cheap to move.
    behind: Option<Box<Behind>>,
}

/// What concerns the fields behind a body.
#[derive(Clone, Debug, Default)]
struct Behind {
    /// The trailer section as far as it has come.
    section: Vec<u8>,
    trailers: Trailers,
    /// The sender's Connection fields as one list, where they name other fields.
    named: Vec<u8>,
}

/// Where in the body the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In data of known length.
    Length(u64),
    /// In data that ends with the connection.
    UntilClose,
    /// In a chunk size of which some digits have come.
    Size { size: u64, digits: u8 },
    /// In the extensions of a chunk of this size.
    Extension { size: u64 },
    /// Between the CR and the LF of a size line.
    SizeLf { size: u64 },
    /// In the data of a chunk with so many bytes left.
    Data { left: u64 },
    /// Before the CR behind the data.
    DataCr,
    /// Before the LF behind the data.
    DataLf,
    /// At the first byte of a trailer line.
    TrailerStart,
    /// Inside of a trailer line.
    TrailerLine,
    /// Between the CR and the LF of a trailer line.
    TrailerLf,
    /// Between the CR and the LF of the empty line at the end.
    EndLf,
    /// Behind the body.
    Done,
}

impl BodyDecoder {
    /// Makes a decoder for a body framed this way.
    ///
    /// A body whose head is at hand is better read with that head's `body_decoder`, which also knows
    /// what its Connection fields say on trailers.
    #[must_use]
    pub const fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::None | Framing::Length(0) => State::Done,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Size { size: 0, digits: 0 },
            Framing::UntilClose => State::UntilClose,
        };
        Self {
            state,
            line_extension: 0,
            extension_debt: 0,
            behind: None,
        }
    }

    /// The same, for a head whose Connection fields have these values and name other fields. Those
    /// are left out of the trailer section (RFC 9110 section 7.6.1).
    #[cold]
    pub(crate) fn naming<'b>(framing: Framing, values: impl Iterator<Item = &'b [u8]>) -> Self {
        let mut decoder = Self::new(framing);
        if framing == Framing::Chunked {
            let named = &mut decoder.behind().named;
            for value in values {
                named.extend_from_slice(value);
                named.push(b',');
            }
        }
        decoder
    }

    /// Reads up to and including the next run of data, or all of the input if it has none.
    ///
    /// Call it until the input is used up or the piece is `done`. Allocates only for trailer
    /// fields.
    ///
    /// # Errors
    ///
    /// A [`BadChunk`] when the chunk syntax is broken. The body cannot be read on, and the
    /// connection must be closed.
    pub fn decode(&mut self, input: &[u8]) -> Result<Piece, BadChunk> {
        let mut at = 0;
        let mut data = 0..0;
        while at < input.len() && self.state != State::Done {
            match self.state {
                State::Length(_) | State::UntilClose | State::Data { .. } => {
                    // One run of data for each piece.
                    if !data.is_empty() {
                        break;
                    }
                    let len = self.take_data(input.len() - at);
                    data = at..at + len;
                    at += len;
                }
                _ => {
                    self.take_syntax(input[at])?;
                    at += 1;
                }
            }
        }
        Ok(Piece {
            consumed: at,
            data,
            done: self.state == State::Done,
        })
    }

    /// Tells whether the body is complete.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Tells whether the body is complete when the connection ends now.
    ///
    /// If it is not, the message is truncated and must look truncated to whoever gets it: no last
    /// chunk, and a close.
    #[must_use]
    pub fn is_done_at_close(&self) -> bool {
        matches!(self.state, State::Done | State::UntilClose)
    }

    /// The bytes that are still to come, where the framing says.
    #[must_use]
    pub const fn remaining(&self) -> Option<u64> {
        match self.state {
            State::Length(left) => Some(left),
            State::Done => Some(0),
            _ => None,
        }
    }

    /// The trailer fields, complete once the body is done.
    #[must_use]
    pub fn trailers(&self) -> &Trailers {
        static NONE: Trailers = Trailers::new();
        self.behind
            .as_ref()
            .map_or(&NONE, |behind| &behind.trailers)
    }

    fn behind(&mut self) -> &mut Behind {
        self.behind.get_or_insert_default()
    }

    /// Takes as much data as there is, and says how much that was.
    fn take_data(&mut self, available: usize) -> usize {
        let left = match self.state {
            State::Length(left) | State::Data { left } => left,
            _ => return available,
        };
        let len = usize::try_from(left).map_or(available, |left| left.min(available));
        let rest = left - len as u64;
        let paid = u32::try_from(len).unwrap_or(u32::MAX);
        self.extension_debt = self.extension_debt.saturating_sub(paid);
        self.state = match self.state {
            State::Length(_) if rest == 0 => State::Done,
            State::Length(_) => State::Length(rest),
            _ if rest == 0 => State::DataCr,
            _ => State::Data { left: rest },
        };
        len
    }

    /// Takes one byte that is not data.
    fn take_syntax(&mut self, byte: u8) -> Result<(), BadChunk> {
        self.state = match (self.state, byte) {
            (State::Size { size, digits }, _) => self.size_byte(size, digits, byte)?,
            (State::Extension { size }, b'\r') => State::SizeLf { size },
            (State::Extension { size }, _) => {
                self.extension_byte(byte)?;
                State::Extension { size }
            }
            (State::SizeLf { size: 0 }, b'\n') => State::TrailerStart,
            (State::SizeLf { size }, b'\n') => State::Data { left: size },
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size { size: 0, digits: 0 },
            (State::TrailerStart, b'\r') => State::EndLf,
            (State::TrailerLine, b'\r') => State::TrailerLf,
            (State::TrailerStart | State::TrailerLine, _) => {
                self.trailer_byte(byte)?;
                State::TrailerLine
            }
            (State::TrailerLf, b'\n') => {
                self.behind().section.extend_from_slice(b"\r\n");
                State::TrailerStart
            }
            (State::EndLf, b'\n') => {
                self.end_trailers()?;
                State::Done
            }
            (State::DataCr, _) => return bad("chunk data does not end in CRLF"),
            _ => return bad("CR without LF in a chunked body"),
        };
        Ok(())
    }

    fn size_byte(&mut self, size: u64, digits: u8, byte: u8) -> Result<State, BadChunk> {
        if let Some(digit) = char::from(byte).to_digit(16) {
            if digits == SIZE_DIGITS_MAX {
                return bad("chunk size has more than 16 digits");
            }
            // Sixteen digits of four bits each cannot overflow.
            return Ok(State::Size {
                size: size << 4 | u64::from(digit),
                digits: digits + 1,
            });
        }
        match byte {
            b'\r' if digits > 0 => Ok(State::SizeLf { size }),
            b';' if digits > 0 => {
                self.line_extension = 0;
                self.extension_byte(byte)?;
                Ok(State::Extension { size })
            }
            _ => bad("chunk size is not a hexadecimal number"),
        }
    }

    /// Counts a byte of a chunk extension, which is dropped.
    fn extension_byte(&mut self, byte: u8) -> Result<(), BadChunk> {
        if (byte < b' ' && byte != b'\t') || byte == 0x7f {
            return bad("control character in a chunk extension");
        }
        self.line_extension += 1;
        self.extension_debt += 1;
        if self.line_extension > CHUNK_EXTENSION_BYTES_MAX
            || self.extension_debt > CHUNK_EXTENSION_DEBT_MAX
        {
            return bad("too many bytes of chunk extensions");
        }
        Ok(())
    }

    fn trailer_byte(&mut self, byte: u8) -> Result<(), BadChunk> {
        if byte == b'\n' {
            return bad("LF without CR in a trailer section");
        }
        let section = &mut self.behind().section;
        if section.len() == TRAILER_BYTES_MAX {
            return bad("trailer section is larger than the limit");
        }
        section.push(byte);
        Ok(())
    }

    fn end_trailers(&mut self) -> Result<(), BadChunk> {
        if let Some(behind) = &mut self.behind
            && !behind.section.is_empty()
        {
            behind.section.extend_from_slice(b"\r\n");
            behind.trailers = Trailers::parse(&behind.section, &behind.named)?;
            behind.section = Vec::new();
        }
        Ok(())
    }
}

fn bad<T>(reason: &'static str) -> Result<T, BadChunk> {
    Err(BadChunk { reason })
}
