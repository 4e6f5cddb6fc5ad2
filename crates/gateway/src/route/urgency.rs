//! The urgency that a client gives its request: `u` in the `Priority` field (RFC 9218 section 4.1).
//!
//! It is heard only where a route says so, since any client can set it.

use evenkeel_core::Priority;
use evenkeel_http1::RequestHead;

/// How much a request matters by its own word; as requests that say nothing when it says nothing that
/// can be read.
pub(super) fn priority_of(head: &RequestHead<'_, '_>) -> Priority {
    let fields = head.fields();
    let lines = fields.filter(|field| field.name.eq_ignore_ascii_case("priority"));
    let urgency = lines.rev().find_map(|field| urgency(field.value));
    urgency.map_or(Priority::Default, Priority::of_urgency)
}

/// The last urgency of a line; others, and what is out of range, are left out (RFC 8941 section 3.2, RFC
/// 9218 section 4).
fn urgency(line: &[u8]) -> Option<u8> {
    let members = line.split(|byte| *byte == b',');
    let urgency = |member: &[u8]| {
        let value = member.trim_ascii().strip_prefix(b"u=")?;
        let value = value.split(|byte| *byte == b';').next()?.trim_ascii_end();
        match value {
            [digit @ b'0'..=b'7'] => Some(digit - b'0'),
            _ => None,
        }
    };
    members.rev().find_map(urgency)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urgencies_are_read_and_nonsense_is_left_out() {
        let read = |line: &str| urgency(line.as_bytes());
        assert_eq!(read("u=0"), Some(0));
        assert_eq!(read("i, u=5"), Some(5));
        assert_eq!(read("u=1;x=2 ,i=?0"), Some(1));
        assert_eq!(read("u=1, u=6"), Some(6));
        for nothing in [
            "", "u", "u=", "u=8", "u=-1", "u=11", "u=\"1\"", "U=1", "xu=1",
        ] {
            assert_eq!(read(nothing), None, "{nothing}");
        }
        assert_eq!(read("u=2, u=9"), Some(2));
    }
}
