//! The place of a request in a trace (W3C Trace Context).

use crate::worker::hexadecimal;

/// The length of a `traceparent` of the version that we know, in bytes.
const LENGTH: usize = 55;

/// What a client's `traceparent` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parent {
    pub(crate) trace: u128,
    /// The span that the request was sent in.
    pub(crate) span: u64,
    /// The trace is recorded.
    pub(crate) sampled: bool,
}

impl Parent {
    /// Reads one; none when it is not of that form (section 3.2). Later versions may add to it.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let (known, more) = text.split_at_checked(LENGTH)?;
        let version = number(&known[..2])?;
        let dashes = [known[2], known[35], known[52]];
        let ends = more.is_empty() || (version > 0 && more[0] == b'-');
        if version == 0xff || dashes != *b"---" || !ends {
            return None;
        }
        let high = u128::from(number(&known[3..19])?);
        let trace = high << 64 | u128::from(number(&known[19..35])?);
        let span = number(&known[36..52])?;
        let sampled = number(&known[53..])? & 1 == 1;
        (trace != 0 && span != 0).then_some(Self {
            trace,
            span,
            sampled,
        })
    }
}

/// Hexadecimal digits, at most sixteen, in small letters.
fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(value))
    })
}

/// The digits of the id of a trace.
pub(crate) fn trace_digits(trace: u128) -> [u8; 32] {
    let mut digits = [0; 32];
    digits[..16].copy_from_slice(&hexadecimal((trace >> 64) as u64));
    digits[16..].copy_from_slice(&hexadecimal(trace as u64));
    digits
}

/// The span of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Context {
    pub(crate) trace: u128,
    /// The client's span; none where the trace begins here.
    pub(crate) parent: Option<u64>,
    /// The request's own.
    pub(crate) span: u64,
}

/// A `traceparent`, as it is sent.
#[derive(Debug)]
pub(crate) struct Text([u8; LENGTH]);

impl Text {
    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Context {
    /// The `traceparent` by which endpoints learn of it.
    pub(crate) fn text(&self) -> Text {
        let mut text = *b"00-00000000000000000000000000000000-0000000000000000-01";
        text[3..35].copy_from_slice(&trace_digits(self.trace));
        text[36..52].copy_from_slice(&hexadecimal(self.span));
        Text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_as_it_is_written() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        let trace = 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736;
        let span = 0x00f0_67aa_0ba9_02b7;
        let read = |sampled| {
            Some(Parent {
                trace,
                span,
                sampled,
            })
        };
        for (text, expected) in [
            (format!("00-{id}-00f067aa0ba902b7-01"), read(true)),
            (format!("00-{id}-00f067aa0ba902b7-02"), read(false)),
            (
                format!("cc-{id}-00f067aa0ba902b7-01-what-will-be"),
                read(true),
            ),
            (format!("cc-{id}-00f067aa0ba902b7-01what-will-be"), None),
            (format!("00-{id}-00f067aa0ba902b7-01-more"), None),
            (format!("ff-{id}-00f067aa0ba902b7-01"), None),
            (
                format!("00-{}-00f067aa0ba902b7-01", id.to_uppercase()),
                None,
            ),
            (format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)), None),
            (format!("00-{id}-0000000000000000-01"), None),
            (format!("00-{id}0-00f067aa0ba902b7-01"), None),
            (format!("00_{id}-00f067aa0ba902b7-01"), None),
            (format!("00-{id}"), None),
            (String::new(), None),
        ] {
            assert_eq!(Parent::read(text.as_bytes()), expected, "{text}");
        }
        let context = Context {
            trace,
            parent: None,
            span,
        };
        let text = context.text();
        assert_eq!(text.as_str(), format!("00-{id}-00f067aa0ba902b7-01"));
        assert_eq!(Parent::read(text.as_str().as_bytes()), read(true));
    }
}
