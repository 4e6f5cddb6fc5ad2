//! Names as parts of a path.

/// A name as one part of a path: everything but unreserved characters (RFC 3986) is encoded.
///
/// # Examples
///
/// ```
/// assert_eq!(evenkeel_admin::path_segment("pod/b:1"), "pod%2Fb%3A1");
/// ```
#[must_use]
pub fn path_segment(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::path_segment;

    #[test]
    fn what_is_not_unreserved_is_encoded() {
        assert_eq!(path_segment("a-1.b_~"), "a-1.b_~");
        assert_eq!(path_segment("../ü?#%"), "..%2F%C3%BC%3F%23%25");
    }
}
