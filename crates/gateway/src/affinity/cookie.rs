//! Cookies in a request (RFC 6265 section 5.4).

/// The values of all cookies of that name in the value of one `Cookie` field.
pub(super) fn values<'f>(field: &'f [u8], name: &str) -> impl Iterator<Item = &'f [u8]> {
    field.split(|byte| *byte == b';').filter_map(move |pair| {
        let pair = pair.trim_ascii().strip_prefix(name.as_bytes())?;
        pair.strip_prefix(b"=")
    })
}

/// Reads a tag: sixteen hexadecimal digits, as they are written.
pub(super) fn read_tag(value: &[u8]) -> Option<u64> {
    let digits = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if value.len() != 16 || !value.iter().all(digits) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(value).ok()?, 16).ok()
}
