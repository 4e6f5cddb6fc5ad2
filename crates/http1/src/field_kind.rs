//! Telling the few fields that need attention from the many that pass.

use std::ops::BitOr;

/// What a field is to a relay, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `Connection`
    Connection,
    /// `Content-Length`
    ContentLength,
    /// `Expect`
    Expect,
    /// `Forwarded` (RFC 7239)
    Forwarded,
    /// `X-Forwarded-For`
    ForwardedFor,
    /// `X-Forwarded-Host`
    ForwardedHost,
    /// `X-Forwarded-Proto`
    ForwardedProto,
    /// Concerns one connection only and has no rule but to be dropped (RFC 9110 section 7.6.1).
    Hop,
    /// `Host`
    Host,
    /// `endpoint-load-metrics` and its binary form: for balancers only.
    LoadReport,
    /// One of the others, spelt with `_` for `-`, which gateway interfaces of the CGI family cannot
    /// tell apart; or a framing field with other signs between its words, which only a sender who
    /// looks for a sloppy endpoint has a use for.
    LookAlike,
    /// Everything else.
    Plain,
    /// `Proxy-Authorization`: credentials for a proxy, which end here.
    ProxyAuthorization,
    /// `x-request-id`
    RequestId,
    /// `Transfer-Encoding`
    TransferEncoding,
    /// `Upgrade`
    Upgrade,
}

impl Kind {
    /// Tells what a field name is, in any case.
    ///
    /// Length and first letter rule out nearly every ordinary field, so that it costs a jump and no
    /// comparison.
    #[inline]
    pub(crate) fn of(name: &str) -> Self {
        let name = name.as_bytes();
        let Some(first) = name.first() else {
            return Self::Plain;
        };
        let (known, kind): (&[u8], Self) = match (name.len(), first | 0x20) {
            (2, b't') => (b"te", Self::Hop),
            (4, b'h') => (b"host", Self::Host),
            (6, b'e') => (b"expect", Self::Expect),
            (7, b't') => (b"trailer", Self::Hop),
            (7, b'u') => (b"upgrade", Self::Upgrade),
            (9, b'f') => (b"forwarded", Self::Forwarded),
            (10, b'c') => (b"connection", Self::Connection),
            (10, b'k') => (b"keep-alive", Self::Hop),
            (12, b'x') => (b"x-request-id", Self::RequestId),
            (14, b'c') => (b"content-length", Self::ContentLength),
            // The settings of an `Upgrade: h2c`, which is never passed on.
            (14, b'h') => (b"http2-settings", Self::Hop),
            (15, b'x') => (b"x-forwarded-for", Self::ForwardedFor),
            (16, b'p') => (b"proxy-connection", Self::Hop),
            (16, b'x') => (b"x-forwarded-host", Self::ForwardedHost),
            (17, b't') => (b"transfer-encoding", Self::TransferEncoding),
            (17, b'x') => (b"x-forwarded-proto", Self::ForwardedProto),
            (19, b'p') => (b"proxy-authorization", Self::ProxyAuthorization),
            (21, b'e') => (b"endpoint-load-metrics", Self::LoadReport),
            (25, b'e') => (b"endpoint-load-metrics-bin", Self::LoadReport),
            // As long as `contentlength`, the shorter one; two letters rule out nearly all of these.
            (13.., b'c') if name[1] | 0x20 == b'o' => return Self::of_odd(name),
            (13.., b't') if name[1] | 0x20 == b'r' => return Self::of_odd(name),
            (13.., ..b'a' | b'{'..) => return Self::of_odd(name),
            _ => return Self::Plain,
        };
        if is_spelt(name, known) {
            kind
        } else if looks_alike(name, known) {
            Self::LookAlike
        } else {
            Self::of_odd(name)
        }
    }

    #[cold]
    fn of_odd(name: &[u8]) -> Self {
        if has_framing_letters(name) {
            Self::LookAlike
        } else {
            Self::Plain
        }
    }
}

/// Tells whether a token is `known`, in any case. Both are of one length, and `known` has nothing but
/// small letters, digits and hyphens.
///
/// In those the bit of the case is set, and the byte without it is a capital letter or no byte of a
/// token. No early exit: the loop is a few vector instructions this way.
#[inline]
fn is_spelt(name: &[u8], known: &[u8]) -> bool {
    let differ = |(a, b): (&u8, &u8)| (a | 0x20) ^ b;
    name.iter().zip(known).map(differ).fold(0, u8::bitor) == 0
}

/// Tells whether two names of one length differ only in case and in `_` for `-`.
#[cold]
fn looks_alike(name: &[u8], known: &[u8]) -> bool {
    name.iter().zip(known).all(|(&a, &b)| {
        let a = if a == b'_' {
            b'-'
        } else {
            a.to_ascii_lowercase()
        };
        a == b
    })
}

/// Tells whether a name is a framing field's but for signs that are neither letters nor digits, such
/// as `Transfer--Encoding` or `ContentLength`.
fn has_framing_letters(name: &[u8]) -> bool {
    let letters = || {
        name.iter()
            .filter(|byte| byte.is_ascii_alphanumeric())
            .map(u8::to_ascii_lowercase)
    };
    letters().eq(*b"contentlength") || letters().eq(*b"transferencoding")
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn names_are_known_in_any_case() {
        for (name, kind) in [
            ("TE", Kind::Hop),
            ("hOsT", Kind::Host),
            ("CONNECTION", Kind::Connection),
            ("Keep-Alive", Kind::Hop),
            ("Proxy-Connection", Kind::Hop),
            ("Trailer", Kind::Hop),
            ("HTTP2-Settings", Kind::Hop),
            ("Transfer-encoding", Kind::TransferEncoding),
            ("transfer_encoding", Kind::LookAlike),
            ("X_Forwarded-For", Kind::LookAlike),
            ("Transfer---Encoding", Kind::LookAlike),
            ("Transfer.Encoding", Kind::LookAlike),
            ("TransferEncoding", Kind::LookAlike),
            ("-content-length", Kind::LookAlike),
            ("X-Content-Length", Kind::Plain),
            ("Content-Lengths", Kind::Plain),
            ("Cache-Control", Kind::Plain),
            ("Content-Encoding", Kind::Plain),
            ("Accept", Kind::Plain),
            ("Cookie", Kind::Plain),
            ("Content-Type", Kind::Plain),
            ("xhost", Kind::Plain),
            ("hots", Kind::Plain),
        ] {
            assert_eq!(Kind::of(name), kind, "{name}");
        }
    }
}
