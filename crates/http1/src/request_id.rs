//! Which request ids are taken over from a client.

/// Most characters of a request id.
pub const LEN_MAX: usize = 128;

/// Tells whether a client's `x-request-id` may be used: 1 to 128 visible ASCII characters.
///
/// Anything else is replaced, since the id is printed in logs and compared by people.
///
/// # Examples
///
/// ```
/// use evenkeel_http1::request_id;
///
/// assert!(request_id::valid(b"7f1c-42"));
/// assert!(!request_id::valid(b"two words"));
/// assert!(!request_id::valid(b""));
/// ```
#[must_use]
pub fn valid(id: &[u8]) -> bool {
    (1..=LEN_MAX).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}
