//! Messages of Protocol Buffers, as far as spans need them.
//!
//! <https://protobuf.dev/programming-guides/encoding/>

/// How the value of a field lies in a message.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED32: u64 = 5;

/// Appends a field with bytes.
pub(super) fn bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    tag(out, field, LENGTH);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Appends a field with a number that is mostly small.
pub(super) fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    tag(out, field, VARINT);
    varint(out, value);
}

/// Appends a field with a number of 64 bits.
pub(super) fn fixed64(out: &mut Vec<u8>, field: u64, value: u64) {
    tag(out, field, FIXED64);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field with a number of 32 bits.
pub(super) fn fixed32(out: &mut Vec<u8>, field: u64, value: u32) {
    tag(out, field, FIXED32);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field with a message, which `write` appends.
pub(super) fn message(out: &mut Vec<u8>, field: u64, write: impl FnOnce(&mut Vec<u8>)) {
    tag(out, field, LENGTH);
    let start = out.len();
    write(out);
    let length = out.len() - start;
    // Its length comes before it, and is known only now.
    varint(out, length as u64);
    let moved = out.len() - start - length;
    out[start..].rotate_right(moved);
}

/// Appends what stands before a message of `length` bytes that is sent on its own.
pub(super) fn message_head(out: &mut Vec<u8>, field: u64, length: usize) {
    tag(out, field, LENGTH);
    varint(out, length as u64);
}

fn tag(out: &mut Vec<u8>, field: u64, kind: u64) {
    varint(out, field << 3 | kind);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_laid_out_as_the_encoding_says() {
        let mut out = Vec::new();
        // The examples of the document.
        number(&mut out, 1, 150);
        assert_eq!(out, [0x08, 0x96, 0x01]);
        out.clear();
        bytes(&mut out, 2, b"testing");
        assert_eq!(out, *b"\x12\x07testing");
        out.clear();
        message(&mut out, 3, |out| number(out, 1, 150));
        assert_eq!(out, [0x1a, 0x03, 0x08, 0x96, 0x01]);
        out.clear();
        message(&mut out, 1, |out| bytes(out, 1, &[7; 200]));
        assert_eq!(out[..6], [0x0a, 0xcb, 0x01, 0x0a, 0xc8, 0x01]);
        assert_eq!(out[6..], [7; 200]);
        out.clear();
        fixed64(&mut out, 7, 1);
        fixed32(&mut out, 16, 1);
        assert_eq!(out, *b"\x39\x01\0\0\0\0\0\0\0\x85\x01\x01\0\0\0");
    }
}
