//! Writing the head that the endpoint gets.

use crate::body_encoder::Encoding;
use crate::edit::Edit;
use crate::field::{write_field, write_known};
use crate::field_kind::Kind;
use crate::field_table::CopyRules;
use crate::framing::{Framing, without_zeros};
use crate::request_head::RequestHead;
use crate::version::Version;

/// Room for what is added to a head: four fields with an address, a host and an id.
const ADDED_BYTES: usize = 320;

/// Says which span of which trace a request belongs to.
const TRACE_PARENT: &str = "traceparent";

/// What the gateway knows about a request and its head does not say.
///
/// All text must be legal in a field value; it comes from the gateway itself or from a checked
/// configuration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forward<'a> {
    /// The peer's IP address as text, IPv6 without brackets.
    pub client: &'a str,
    /// The scheme that the client used, `http` or `https`.
    pub proto: &'a str,
    /// The peer is a trusted proxy: what it says in `X-Forwarded-*` is kept and appended to.
    pub trusted: bool,
    /// The request id, the client's ([`RequestHead::request_id`]) or a new one.
    pub request_id: &'a str,
    /// The Host to send when the request has none (only HTTP/1.0 can), such as the endpoint's
    /// address.
    pub fallback_host: &'a str,
    /// Sends this Host instead of the received one.
    pub host: Option<&'a str>,
    /// Sends this target instead of the received one. Origin-form, visible ASCII.
    pub target: Option<&'a [u8]>,
    /// Passes on the [upgrade](RequestHead::upgrade) that the client asks for.
    pub upgrade: bool,
    /// Sends this `traceparent` instead of the received one (W3C Trace Context).
    pub trace: Option<&'a str>,
    /// What the operator wants changed.
    pub edit: Edit<'a>,
}

impl RequestHead<'_, '_> {
    /// Appends the canonical head for the endpoint to `out`, and says how its body is to be sent.
    ///
    /// It is an HTTP/1.1 head in origin-form. Fields keep their order, case and number. Gone are the
    /// hop-by-hop ones and those that the client's Connection field names, `Forwarded` from an
    /// untrusted peer, `Proxy-Authorization`, and fields that differ from a framing or gateway field
    /// only by `_` for `-`, or from a framing field only by signs. A client cannot name away Host,
    /// Content-Length, Expect or what the gateway adds: `X-Forwarded-For`, `-Proto`, `-Host` and
    /// `x-request-id`.
    ///
    /// Costs a few copies of byte ranges; allocates only when `out` has to grow.
    pub fn forward(&self, via: &Forward<'_>, out: &mut Vec<u8>) -> Encoding {
        let head = self.fields.head();
        out.reserve(head.len() + ADDED_BYTES);
        let verbatim = via.target.is_none()
            && self.target.authority.is_none()
            && self.version == Version::Http11;
        let start = if verbatim {
            0
        } else {
            self.write_request_line(via, out);
            self.fields.line_start(0)
        };

        // The target's authority stands above the Host field, which agrees with it.
        let host = via.host.or(self.target.authority);
        let mut marks = self.fields.marks();
        if host.is_some() && self.facts.host.is_some() {
            marks.set(self.facts.host_index);
        }
        let rules = CopyRules {
            marks,
            nominates: self.facts.connection.nominates,
            kept: &[Kind::Host, Kind::ContentLength, Kind::Expect],
            edit: &via.edit,
            replaced: via.trace.map(|_| TRACE_PARENT),
        };
        self.fields
            .copy(start, &rules, out, |kind, field, out| match kind {
                Kind::Host => {
                    let value = host.map_or(field.value, str::as_bytes);
                    write_field(field.name, value, out);
                }
                Kind::ContentLength => write_field(field.name, without_zeros(field.value), out),
                Kind::Expect if self.passes_expect() => write_field(field.name, field.value, out),
                Kind::Forwarded if via.trusted => write_field(field.name, field.value, out),
                Kind::LoadReport => write_field(field.name, field.value, out),
                _ => {}
            });
        if self.facts.host.is_none() {
            let host = host.unwrap_or(via.fallback_host);
            write_field("Host", host.as_bytes(), out);
        }
        self.write_own_fields(via, out);
        rules.write_additions(out);
        out.extend_from_slice(b"\r\n");
        self.encoding()
    }

    /// How the body goes on.
    const fn encoding(&self) -> Encoding {
        match self.framing {
            Framing::None => Encoding::None,
            Framing::Length(_) | Framing::UntilClose => Encoding::Identity,
            Framing::Chunked => Encoding::Chunked,
        }
    }

    #[cold]
    fn write_request_line(&self, via: &Forward<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(self.method_token.as_bytes());
        out.push(b' ');
        match via.target {
            Some(target) => out.extend_from_slice(target),
            None => self.target.write(out),
        }
        out.extend_from_slice(b" HTTP/1.1\r\n");
    }

    /// An HTTP/1.0 client cannot expect anything, and one without a body would make the endpoint
    /// wait for none.
    fn passes_expect(&self) -> bool {
        self.version == Version::Http11 && self.framing.has_body()
    }

    fn write_own_fields(&self, via: &Forward<'_>, out: &mut Vec<u8>) {
        if self.framing == Framing::Chunked {
            out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        }
        if let (true, Some(protocol)) = (via.upgrade, self.upgrade) {
            out.extend_from_slice(b"Connection: Upgrade\r\n");
            write_field("Upgrade", protocol, out);
        }
        if via.trusted && self.facts.forwarded {
            self.write_kept_chain(via, out);
        } else {
            write_known(b"X-Forwarded-For: ", via.client, out);
            write_known(b"X-Forwarded-Proto: ", via.proto, out);
            if let Some(host) = self.authority().filter(|host| !host.is_empty()) {
                write_known(b"X-Forwarded-Host: ", host, out);
            }
        }
        write_known(b"x-request-id: ", via.request_id, out);
        if let Some(trace) = via.trace.filter(|_| !via.edit.drops(TRACE_PARENT)) {
            write_field(TRACE_PARENT, trace.as_bytes(), out);
        }
    }

    /// Writes the `X-Forwarded-*` fields of a trusted peer, each as one line.
    #[cold]
    fn write_kept_chain(&self, via: &Forward<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"X-Forwarded-For: ");
        if self.write_joined(Kind::ForwardedFor, out) {
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(via.client.as_bytes());
        out.extend_from_slice(b"\r\nX-Forwarded-Proto: ");
        if !self.write_joined(Kind::ForwardedProto, out) {
            out.extend_from_slice(via.proto.as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        let host = self.authority().unwrap_or_default();
        if !host.is_empty()
            || self
                .fields
                .of_kind(Kind::ForwardedHost)
                .any(|value| !value.is_empty())
        {
            out.extend_from_slice(b"X-Forwarded-Host: ");
            if !self.write_joined(Kind::ForwardedHost, out) {
                out.extend_from_slice(host.as_bytes());
            }
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Appends the values of all fields of a kind as one list. False when there is none.
    fn write_joined(&self, kind: Kind, out: &mut Vec<u8>) -> bool {
        let mut any = false;
        for value in self.fields.of_kind(kind).filter(|value| !value.is_empty()) {
            if any {
                out.extend_from_slice(b", ");
            }
            out.extend_from_slice(value);
            any = true;
        }
        any
    }
}
