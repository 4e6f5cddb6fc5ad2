//! Which fields may leave, told apart by names alone.

use super::reader::{Head, Line};

/// Fields that end at the gateway in both directions.
pub(super) const HOP: [&str; 8] = [
    "connection",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Fields with a rule of their own, beside those of [`HOP`].
const RULED: [&str; 11] = [
    "content-length",
    "endpoint-load-metrics",
    "endpoint-load-metrics-bin",
    "expect",
    "forwarded",
    "host",
    "proxy-authorization",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-request-id",
];

/// Fields that a sender's Connection field cannot take away: they frame or route the message, or the
/// gateway writes them itself.
const KEPT: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "transfer-encoding",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-request-id",
];

/// A name in lower case, with `-` for `_`.
fn plain(name: &[u8]) -> Vec<u8> {
    name.iter()
        .map(|&byte| if byte == b'_' { b'-' } else { byte })
        .map(|byte| byte.to_ascii_lowercase())
        .collect()
}

pub(super) fn is_any(name: &[u8], list: &[&str]) -> bool {
    list.iter().any(|other| name == other.as_bytes())
}

/// The fields of a received head that pass unchanged, in their order.
pub(super) fn passing<'b>(received: &Head<'b>) -> Vec<Line<'b>> {
    let named = nominated(received);
    ruleless(received)
        .into_iter()
        .filter(|(name, _)| !named.contains(&name.to_ascii_lowercase()))
        .collect()
}

/// The fields of a head that have no rule of their own.
pub(super) fn ruleless<'b>(head: &Head<'b>) -> Vec<Line<'b>> {
    let free = |name: &[u8]| {
        let letters = name.iter().filter(|byte| byte.is_ascii_alphanumeric());
        let letters: Vec<_> = letters.map(u8::to_ascii_lowercase).collect();
        !is_any(&plain(name), &HOP)
            && !is_any(&plain(name), &RULED)
            && !is_any(&letters, &["contentlength", "transferencoding"])
    };
    head.fields
        .iter()
        .copied()
        .filter(|(name, _)| free(name))
        .collect()
}

/// The names in the Connection fields of a head, in lower case.
pub(super) fn nominated(head: &Head<'_>) -> Vec<Vec<u8>> {
    head.values("connection")
        .into_iter()
        .flat_map(|value| value.split(|&byte| byte == b','))
        .map(|option| option.trim_ascii().to_ascii_lowercase())
        .filter(|option| !option.is_empty())
        .collect()
}

/// Checks that nothing left that concerns the received side's connection only. A Connection field
/// may be there if it says only what the gateway itself says.
pub(super) fn assert_no_hop(received: &Head<'_>, sent: &Head<'_>) {
    for (name, value) in &sent.fields {
        let name = name.to_ascii_lowercase();
        let own: &[&[u8]] = match name.as_slice() {
            b"connection" => &[b"close", b"keep-alive", b"Upgrade"],
            b"transfer-encoding" => &[b"chunked"],
            // It must stand beside `Connection: Upgrade`.
            b"upgrade" if sent.values("connection") == [b"Upgrade"] => continue,
            _ => &[],
        };
        assert!(
            !is_any(&name, &HOP) || own.contains(value),
            "{} stays here",
            name.escape_ascii()
        );
    }
    for name in nominated(received) {
        let found = sent
            .fields
            .iter()
            .any(|(other, _)| other.eq_ignore_ascii_case(&name));
        assert!(
            !found || is_any(&name, &KEPT) || name == b"upgrade",
            "{} was named by Connection",
            name.escape_ascii()
        );
    }
}
