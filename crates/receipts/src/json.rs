//! JSON as it is written: straight into a buffer, one form for each value.

use std::io::Write as _;

use evenkeel_core::hash::{Algorithm, Hasher};

/// The seed of checksums: a checksum is not the hash of a key.
const CHECK_SEED: u64 = 0x6368_6563_6b00_0001;

/// Appends a string with its quotes.
pub fn put_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    // Without an early end this is a few instructions for many bytes, and nearly no text needs more.
    let is_plain = !text
        .bytes()
        .fold(false, |any, byte| any | needs_escape(byte));
    if is_plain {
        out.extend_from_slice(text.as_bytes());
    } else {
        put_escaped(out, text.as_bytes());
    }
    out.push(b'"');
}

#[cold]
fn put_escaped(out: &mut Vec<u8>, mut rest: &[u8]) {
    while let Some(at) = rest.iter().position(|byte| needs_escape(*byte)) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            byte => {
                // Writing to memory cannot fail.
                let _ = write!(out, "\\u{byte:04x}");
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || matches!(byte, b'"' | b'\\' | 0x7f)
}

/// The digits of 0 to 99.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut at = 0;
    while at < 100 {
        pairs[at] = [b'0' + (at / 10) as u8, b'0' + (at % 10) as u8];
        at += 1;
    }
    pairs
};

/// Appends a whole number.
pub fn put_unsigned(out: &mut Vec<u8>, mut number: u64) {
    if number < 10 {
        return out.push(b'0' + number as u8);
    }
    let mut digits = [0; 20];
    let mut at = digits.len();
    while number >= 10 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if number > 0 {
        at -= 1;
        digits[at] = b'0' + number as u8;
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a number in the fewest digits that mean the same one.
pub(crate) fn put_number(out: &mut Vec<u8>, number: f64) {
    let whole = number as u64;
    if whole as f64 == number && whole < 1 << 53 {
        put_unsigned(out, whole);
    } else {
        let _ = write!(out, "{number}");
    }
}

/// Appends 64 bits as 16 digits in quotes: a number in JSON has 53 for certain (RFC 8259, section 6).
pub(crate) fn put_bits(out: &mut Vec<u8>, bits: u64) {
    let digit = |at: u32| b"0123456789abcdef"[(bits >> (60 - 4 * at)) as usize & 15];
    out.push(b'"');
    out.extend((0..16).map(digit));
    out.push(b'"');
}

/// Appends what `put` makes of a value, or null.
pub(crate) fn put_or_null<T>(
    out: &mut Vec<u8>,
    value: Option<T>,
    put: impl FnOnce(&mut Vec<u8>, T),
) {
    match value {
        Some(value) => put(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

/// Appends the items of a list between brackets.
pub(crate) fn put_list<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut put: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        put(out, item);
    }
    out.push(b']');
}

/// Ends the object that begins at `start` with a checksum of all before it.
pub(crate) fn put_check(out: &mut Vec<u8>, start: usize) {
    let check = Hasher::new(Algorithm::Xxh3, CHECK_SEED).hash(&out[start..]);
    out.extend_from_slice(b",\"check\":");
    put_bits(out, check);
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(put: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        put(&mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn strings_are_read_again_as_they_were() {
        for sample in [
            "",
            "a-b",
            "quote\" back\\slash",
            "line\nfeed\u{1}",
            "\u{7f}",
            "ünï \u{1F600}",
        ] {
            let written = text(|out| put_string(out, sample));
            let read: String = serde_json::from_str(&written).expect("JSON");
            assert_eq!(read, sample);
        }
    }

    #[test]
    fn numbers_are_read_again_as_they_were() {
        for sample in [
            0.0,
            1.0,
            0.1,
            1.0 / 3.0,
            256.0,
            1e15 + 3.0,
            9e18,
            4.2e-7,
            u64::MAX as f64,
        ] {
            let written = text(|out| put_number(out, sample));
            let read: f64 = serde_json::from_str(&written).expect("JSON");
            assert_eq!(read.to_bits(), sample.to_bits(), "{written}");
        }
        assert_eq!(
            text(|out| put_unsigned(out, u64::MAX)),
            u64::MAX.to_string()
        );
        for number in (0..2_000).chain((0..20).map(|power| 10_u64.pow(power) - 1)) {
            assert_eq!(text(|out| put_unsigned(out, number)), number.to_string());
        }
        assert_eq!(text(|out| put_bits(out, 0x9e37)), "\"0000000000009e37\"");
    }
}
