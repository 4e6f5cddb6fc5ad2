//! Texts of clients in lines that others read: nothing in them ends a value or a line.

use std::io::Write as _;

/// The most bytes of a text that are written; more is cut, and `…` says so.
const TEXT_MAX: usize = 4096;

/// Appends a JSON string. What is not UTF-8 becomes U+FFFD.
pub(super) fn json_string(out: &mut Vec<u8>, text: &[u8]) {
    let (text, cut) = within(text);
    out.push(b'"');
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            json_char(out, c);
        }
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
    if cut {
        out.extend_from_slice("…".as_bytes());
    }
    out.push(b'"');
}

fn json_char(out: &mut Vec<u8>, c: char) {
    match c {
        '"' | '\\' => out.extend([b'\\', c as u8]),
        // Some readers take the last two for the end of a line.
        c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
            write(out, format_args!("\\u{:04x}", u32::from(c)));
        }
        c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

/// Appends a text as the common log format has it between quotes: whatever is not printable ASCII is
/// written `\xHH`.
pub(super) fn quoted(out: &mut Vec<u8>, text: &[u8]) {
    let (text, cut) = within(text);
    for byte in text {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            b' '..=b'~' => out.push(*byte),
            _ => write(out, format_args!("\\x{byte:02x}")),
        }
    }
    if cut {
        out.extend_from_slice(b"...");
    }
}

fn within(text: &[u8]) -> (&[u8], bool) {
    match text.get(..TEXT_MAX) {
        Some(start) => (start, text.len() > TEXT_MAX),
        None => (text, false),
    }
}

/// Appends what is formatted.
pub(super) fn write(out: &mut Vec<u8>, what: std::fmt::Arguments<'_>) {
    // Writing to memory does not fail.
    let _ = out.write_fmt(what);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut() {
        let mut out = Vec::new();
        json_string(&mut out, &[b'a'; TEXT_MAX + 1]);
        assert_eq!(out.len(), 2 + TEXT_MAX + "…".len());
        out.clear();
        json_string(&mut out, &[b'a'; TEXT_MAX]);
        assert_eq!(out.len(), 2 + TEXT_MAX);
        out.clear();
        quoted(&mut out, &[b'a'; TEXT_MAX + 1]);
        assert!(out.ends_with(b"a..."));
    }
}
