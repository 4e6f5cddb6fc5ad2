//! Fields as HTTP/2 has them.

use evenkeel_http1::{Field, Trailers};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Fields that concern a connection of HTTP/1, and have no place in HTTP/2 (RFC 9113 section 8.2.2).
const OF_CONNECTION: [&str; 6] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
    "te",
];

/// Whether a field concerns a connection of HTTP/1.
pub(super) fn is_of_connection(name: &[u8]) -> bool {
    let is = |own: &&str| own.as_bytes().eq_ignore_ascii_case(name);
    OF_CONNECTION.iter().any(is)
}

/// Adds those of a head that a stream may carry.
pub(super) fn of_head<'b>(list: impl Iterator<Item = Field<'b>>, fields: &mut HeaderMap) {
    for field in list {
        if !is_of_connection(field.name.as_bytes()) {
            add(&field, fields);
        }
    }
}

/// The fields behind a body.
pub(super) fn trailers(trailers: &Trailers) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for field in trailers.fields() {
        add(&field, &mut fields);
    }
    fields
}

/// Adds a field; one that is not legal there is left out, and was refused before.
fn add(field: &Field<'_>, fields: &mut HeaderMap) {
    let name = HeaderName::from_bytes(field.name.as_bytes());
    let value = HeaderValue::from_bytes(field.value);
    if let (Ok(name), Ok(value)) = (name, value) {
        // Its map has room for more fields than a head may have.
        fields.append(name, value);
    }
}
