//! What the fields of a request say together, and the rules they must keep.

use httparse::Header;

use crate::connection::ConnectionOptions;
use crate::field_kind::Kind;
use crate::framing::{Coding, Framing, content_length, transfer_coding};
use crate::host::valid_host;
use crate::reject::Reject;
use crate::version::Version;

/// Notes taken while walking over the fields of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestFacts<'b> {
    pub(crate) connection: ConnectionOptions,
    /// The Host value.
    pub(crate) host: Option<&'b str>,
    /// The place of the Host field.
    pub(crate) host_index: usize,
    /// The client's request id; `None` too when two fields disagree.
    pub(crate) request_id: Option<&'b [u8]>,
    /// The client sent fields of the `X-Forwarded-*` family.
    pub(crate) forwarded: bool,
    /// The value of the only Upgrade field.
    upgrade: Option<&'b [u8]>,
    upgrades: usize,
    /// There is an Expect field, and it asks for nothing but `100-continue`.
    expect_continue: bool,
    expects: usize,
    content_length: Option<u64>,
    coding: Option<Coding>,
    request_ids_differ: bool,
}

impl<'b> RequestFacts<'b> {
    /// Notes one field, and says whether it needs care when it is passed on.
    #[inline]
    pub(crate) fn note(
        &mut self,
        index: usize,
        kind: Kind,
        field: &Header<'b>,
    ) -> Result<bool, &'static str> {
        match kind {
            Kind::Plain | Kind::LoadReport => return Ok(false),
            Kind::Host => return self.note_host(index, field.value).map(|()| false),
            Kind::ContentLength => return self.note_length(field.value),
            Kind::TransferEncoding => {
                if self.coding.replace(transfer_coding(field.value)).is_some() {
                    return Err("two transfer-encoding fields");
                }
            }
            Kind::Connection => self.connection.note(field.value)?,
            Kind::Upgrade => {
                self.upgrades += 1;
                self.upgrade = Some(field.value);
            }
            Kind::Expect => {
                self.expects += 1;
                self.expect_continue = field.value.eq_ignore_ascii_case(b"100-continue");
            }
            Kind::RequestId => self.note_request_id(field.value),
            Kind::ForwardedFor | Kind::ForwardedHost | Kind::ForwardedProto => {
                self.forwarded = true
            }
            Kind::Forwarded | Kind::Hop | Kind::LookAlike | Kind::ProxyAuthorization => {}
        }
        Ok(true)
    }

    fn note_host(&mut self, index: usize, value: &'b [u8]) -> Result<(), &'static str> {
        if self.host.is_some() {
            return Err("two host fields");
        }
        if !valid_host(value) {
            return Err("host is not a valid host");
        }
        self.host_index = index;
        self.host = std::str::from_utf8(value).ok();
        Ok(())
    }

    fn note_length(&mut self, value: &[u8]) -> Result<bool, &'static str> {
        let length = content_length(value).ok_or("content-length is not a number")?;
        if self.content_length.replace(length).is_some() {
            return Err("two content-length fields");
        }
        // Leading zeros are legal, but some parsers read them as octal.
        Ok(value[0] == b'0' && value.len() > 1)
    }

    fn note_request_id(&mut self, value: &'b [u8]) {
        match self.request_id {
            Some(other) if other != value => self.request_ids_differ = true,
            _ => self.request_id = Some(value),
        }
        if self.request_ids_differ {
            self.request_id = Some(b"");
        }
    }

    /// Tells how the body is framed (RFC 9112 section 6.3), or why that is not certain.
    #[inline]
    pub(crate) fn framing(&self, version: Version) -> Result<Framing, Reject> {
        match (self.coding, self.content_length) {
            (None, None) => Ok(Framing::None),
            (None, Some(length)) => Ok(Framing::Length(length)),
            (Some(_), Some(_)) => Err(Reject::bad("both content-length and transfer-encoding")),
            (Some(_), None) if version == Version::Http10 => {
                Err(Reject::bad("transfer-encoding in http/1.0"))
            }
            (Some(Coding::Chunked), None) => Ok(Framing::Chunked),
            (Some(Coding::Registered), None) => Err(Reject::not_implemented(
                "transfer-encoding other than chunked",
            )),
            (Some(Coding::Identity | Coding::Unknown), None) => {
                Err(Reject::bad("transfer-encoding is not chunked"))
            }
        }
    }

    /// Tells whether the client keeps the connection open (RFC 9112 section 9.3).
    pub(crate) fn keep_alive(&self, version: Version) -> bool {
        !self.connection.close && (version == Version::Http11 || self.connection.keep_alive)
    }

    /// Tells whether the client waits for a 100 before it sends its body (RFC 9110 section 10.1.1).
    pub(crate) fn expects_continue(&self, version: Version, framing: Framing) -> bool {
        self.expect_continue
            && self.expects == 1
            && version == Version::Http11
            && framing.has_body()
    }

    /// The one protocol that the client wants to switch to (RFC 9110 section 7.8).
    ///
    /// Lists are ignored, which a server may do, and so is HTTP/2: past this gateway it would be a
    /// way around every rule.
    pub(crate) fn upgrade(&self, version: Version) -> Option<&'b [u8]> {
        let protocol = self.upgrade?;
        let wanted = self.upgrades == 1 && self.connection.upgrade && version == Version::Http11;
        (wanted && is_protocol(protocol) && !is_http2(protocol)).then_some(protocol)
    }
}

/// Tells whether an Upgrade value is one `token` or `token/token`.
pub(crate) fn is_protocol(value: &[u8]) -> bool {
    !value.is_empty()
        && value.iter().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'+' | b'/' | b'~')
        })
}

fn is_http2(protocol: &[u8]) -> bool {
    protocol
        .get(..2)
        .is_some_and(|start| start.eq_ignore_ascii_case(b"h2"))
        || protocol
            .get(..4)
            .is_some_and(|start| start.eq_ignore_ascii_case(b"http"))
}
