//! Writing the head that the client gets.

use crate::body_encoder::Encoding;
use crate::edit::Edit;
use crate::field::{write_field, write_known, write_number};
use crate::field_kind::Kind;
use crate::field_table::CopyRules;
use crate::framing::{Framing, trim_ows, without_zeros};
use crate::response_head::ResponseHead;
use crate::version::Version;

/// Room for what is added to a head: framing, connection and an id.
const ADDED_BYTES: usize = 240;

/// What the gateway knows about a response and its head does not say.
///
/// All text must be legal in a field value; it comes from the gateway itself or from a checked
/// configuration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reply<'a> {
    /// The version that the client speaks.
    pub client_version: Version,
    /// The client and the gateway are both willing to keep the client's connection open.
    pub keep_alive: bool,
    /// The request id, which replaces one of the endpoint's.
    pub request_id: &'a str,
    /// What the operator wants changed.
    pub edit: Edit<'a>,
}

/// Says how the body is to be sent behind a forwarded head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyOut {
    /// The form of the body.
    pub encoding: Encoding,
    /// The client's connection must be closed after the body; the head says so.
    pub close: bool,
}

/// An interim head has no body, and closes nothing.
const NO_BODY: BodyOut = BodyOut {
    encoding: Encoding::None,
    close: false,
};

impl ResponseHead<'_, '_> {
    /// Appends the canonical head for the client to `out`, and says how its body is to be sent.
    ///
    /// It is an HTTP/1.1 head whatever the endpoint speaks. Fields keep their order, case and
    /// number; the hop-by-hop ones, those that Connection names, the endpoint's `x-request-id` and
    /// its `endpoint-load-metrics` are gone. A body whose length is not known goes in chunks to an
    /// HTTP/1.1 client, and ends with the connection for an HTTP/1.0 one.
    ///
    /// Interim responses get nothing added, and an HTTP/1.0 client gets none: nothing is written
    /// then.
    ///
    /// Costs a few copies of byte ranges; allocates only when `out` has to grow.
    pub fn forward(&self, to: &Reply<'_>, out: &mut Vec<u8>) -> BodyOut {
        if self.is_interim() && to.client_version == Version::Http10 {
            return NO_BODY;
        }
        let head = self.fields.head();
        out.reserve(head.len() + ADDED_BYTES);
        self.write_status_line(out);
        let mut marks = self.fields.marks();
        if let (Some(index), false) = (self.length_index, self.keep_length) {
            marks.set(index);
        }
        let rules = CopyRules {
            marks,
            nominates: self.connection.nominates,
            kept: &[Kind::ContentLength],
            edit: &to.edit,
            replaced: None,
        };
        let mut length_due = self.keep_length && self.length_index.is_none();
        self.fields.copy(
            self.fields.line_start(0),
            &rules,
            out,
            |kind, field, out| match kind {
                // Equal lengths count once.
                Kind::ContentLength if length_due => {
                    length_due = false;
                    write_field(field.name, shortest_length(field.value), out);
                }
                Kind::Expect
                | Kind::Forwarded
                | Kind::ForwardedFor
                | Kind::ForwardedHost
                | Kind::ForwardedProto
                | Kind::Host
                | Kind::LookAlike
                | Kind::ProxyAuthorization => write_field(field.name, field.value, out),
                Kind::RequestId if self.is_interim() => write_field(field.name, field.value, out),
                _ => {}
            },
        );
        let body = self.body_out(to);
        if !self.is_interim() {
            self.write_own_fields(to, body, out);
            rules.write_additions(out);
        }
        out.extend_from_slice(b"\r\n");
        body
    }

    fn write_status_line(&self, out: &mut Vec<u8>) {
        if self.status == 200 && self.reason == "OK" {
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
            return;
        }
        out.extend_from_slice(b"HTTP/1.1 ");
        write_number(u64::from(self.status), out);
        // The space stays when there is no reason (RFC 9112 section 4).
        out.push(b' ');
        out.extend_from_slice(self.reason.as_bytes());
        out.extend_from_slice(b"\r\n");
    }

    fn body_out(&self, to: &Reply<'_>) -> BodyOut {
        if self.status < 200 {
            return NO_BODY;
        }
        let close = !to.keep_alive;
        match self.framing {
            Framing::None => BodyOut {
                encoding: Encoding::None,
                close,
            },
            Framing::Length(_) => BodyOut {
                encoding: Encoding::Identity,
                close,
            },
            Framing::Chunked | Framing::UntilClose => match to.client_version {
                Version::Http11 => BodyOut {
                    encoding: Encoding::Chunked,
                    close,
                },
                Version::Http10 => BodyOut {
                    encoding: Encoding::Identity,
                    close: true,
                },
            },
        }
    }

    fn write_own_fields(&self, to: &Reply<'_>, body: BodyOut, out: &mut Vec<u8>) {
        if body.encoding == Encoding::Chunked {
            out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        }
        if let Some(protocol) = self.upgrade {
            out.extend_from_slice(b"Connection: Upgrade\r\n");
            write_field("Upgrade", protocol, out);
        } else {
            write_connection(body.close, to.client_version, out);
        }
        write_known(b"x-request-id: ", to.request_id, out);
    }
}

/// Appends the Connection field where the client's version does not imply it.
pub(crate) fn write_connection(close: bool, client_version: Version, out: &mut Vec<u8>) {
    if close {
        out.extend_from_slice(b"Connection: close\r\n");
    } else if client_version == Version::Http10 {
        out.extend_from_slice(b"Connection: keep-alive\r\n");
    }
}

/// The first of a list of equal lengths, in its shortest form.
fn shortest_length(value: &[u8]) -> &[u8] {
    let first = value.split(|&byte| byte == b',').next().unwrap_or_default();
    without_zeros(trim_ows(first))
}
