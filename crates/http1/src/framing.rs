//! Where a body ends, and the two fields that say so.

/// Says how the end of a body is found (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    #[default]
    None,
    /// The body has this many bytes.
    Length(u64),
    /// The body comes in chunks and tells its own end.
    Chunked,
    /// The body ends where the connection does. Only responses can have it.
    UntilClose,
}

impl Framing {
    /// Tells whether anything follows the head.
    ///
    /// A body that ends with the connection, or comes in chunks, may still turn out to have no
    /// data.
    #[must_use]
    pub const fn has_body(self) -> bool {
        !matches!(self, Self::None | Self::Length(0))
    }
}

/// The largest Content-Length that is taken: 2^63 - 1.
///
/// nginx, Go and the JVM's servers count in signed 64 bits and hyper keeps the two largest numbers
/// for itself; a length that one of them cannot hold must not reach it.
const LENGTH_MAX: u64 = i64::MAX as u64;

/// Reads the value of a Content-Length field: 1*DIGIT (RFC 9110 section 8.6), at most
/// [`LENGTH_MAX`].
///
/// Signs, separators, other bases, lists and the empty value are all `None`; so is a number that
/// is too large.
pub(crate) fn content_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    let length = value.iter().try_fold(0_u64, |length, &byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        length.checked_mul(10)?.checked_add(u64::from(digit))
    });
    length.filter(|&length| length <= LENGTH_MAX)
}

/// A Content-Length in its shortest form.
pub(crate) fn without_zeros(value: &[u8]) -> &[u8] {
    debug_assert!(
        content_length(value).is_some(),
        "a parsed head has a valid length"
    );
    let zeros = value.iter().take_while(|&&byte| byte == b'0').count();
    &value[zeros.min(value.len().saturating_sub(1))..]
}

/// What a Transfer-Encoding value means to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Exactly `chunked`, in any case.
    Chunked,
    /// Exactly `identity`, which RFC 7230 took out of the registry.
    Identity,
    /// A list of registered codings that has one other than `chunked`.
    Registered,
    /// Anything else.
    Unknown,
}

/// Reads the value of a Transfer-Encoding field, OWS already trimmed (RFC 9112 section 6.1).
pub(crate) fn transfer_coding(value: &[u8]) -> Coding {
    if value.eq_ignore_ascii_case(b"chunked") {
        return Coding::Chunked;
    }
    if value.eq_ignore_ascii_case(b"identity") {
        return Coding::Identity;
    }
    let mut chunked = 0;
    let mut others = 0;
    for name in value.split(|&byte| byte == b',').map(trim_ows) {
        if name.eq_ignore_ascii_case(b"chunked") {
            chunked += 1;
        } else if REGISTERED
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
        {
            others += 1;
        } else {
            return Coding::Unknown;
        }
    }
    if others > 0 && chunked <= 1 {
        Coding::Registered
    } else {
        Coding::Unknown
    }
}

/// The transfer codings of the IANA registry, but for `chunked`.
const REGISTERED: [&[u8]; 5] = [b"gzip", b"deflate", b"compress", b"x-gzip", b"x-compress"];

/// Takes spaces and tabs off both ends. No other byte is white space in HTTP.
pub(crate) fn trim_ows(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}
