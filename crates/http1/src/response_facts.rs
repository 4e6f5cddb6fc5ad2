//! What the fields of a response say together, and how its body is framed.

use httparse::Header;

use crate::connection::ConnectionOptions;
use crate::field_kind::Kind;
use crate::framing::{Coding, Framing, content_length, transfer_coding, trim_ows};
use crate::request_facts::is_protocol;
use crate::response_head::Asked;
use crate::version::Version;

/// How a body is framed and what follows from it.
pub(crate) struct Framed {
    pub(crate) framing: Framing,
    /// The endpoint's Content-Length may be passed on.
    pub(crate) keep_length: bool,
    /// The connection is at a known place once the body is read.
    pub(crate) reusable: bool,
}

/// Notes taken while walking over the fields of a response.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ResponseFacts<'b> {
    pub(crate) connection: ConnectionOptions,
    coding: Option<Coding>,
    length: Option<u64>,
    /// The place of the first Content-Length, if it is one number in its shortest form.
    pub(crate) length_index: Option<usize>,
    /// A Content-Length was no number, or two of them differ.
    bad_length: bool,
    upgrade: Option<&'b [u8]>,
    upgrades: usize,
    accepts_websocket: bool,
}

impl<'b> ResponseFacts<'b> {
    /// Notes one field, and says whether it needs care when it is passed on.
    #[inline]
    pub(crate) fn note(
        &mut self,
        index: usize,
        kind: Kind,
        field: &Header<'b>,
    ) -> Result<bool, &'static str> {
        match kind {
            Kind::Plain => {
                // 20 letters; the length rules out nearly every other field.
                if field.name.len() == 20 && field.name.eq_ignore_ascii_case("sec-websocket-accept")
                {
                    self.accepts_websocket = !field.value.is_empty();
                }
                return Ok(false);
            }
            Kind::ContentLength => return Ok(self.note_length(index, field.value)),
            Kind::Connection => self.connection.note(field.value)?,
            Kind::TransferEncoding => {
                let coding = transfer_coding(field.value);
                // A body is never chunked twice, and a list over two lines is still a list.
                let first = self.coding.replace(coding);
                if first.is_some() {
                    return Err("two transfer-encoding fields");
                }
            }
            Kind::Upgrade => {
                self.upgrades += 1;
                self.upgrade = Some(field.value);
            }
            // Requests have rules for these, responses do not.
            Kind::Expect
            | Kind::Forwarded
            | Kind::ForwardedFor
            | Kind::ForwardedHost
            | Kind::ForwardedProto
            | Kind::Host
            | Kind::LookAlike
            | Kind::ProxyAuthorization => return Ok(false),
            Kind::Hop | Kind::LoadReport | Kind::RequestId => {}
        }
        Ok(true)
    }

    /// Notes a length, and says whether it needs care.
    fn note_length(&mut self, index: usize, value: &[u8]) -> bool {
        let first = self.length.is_none() && !self.bad_length;
        if let (true, Some(length)) = (first, content_length(value)) {
            self.length = Some(length);
            if value[0] != b'0' || value.len() == 1 {
                self.length_index = Some(index);
                return false;
            }
            return true;
        }
        self.note_lengths(value);
        true
    }

    /// Lists of equal lengths count once (RFC 9112 section 6.3, rule 5).
    #[cold]
    fn note_lengths(&mut self, value: &[u8]) {
        for item in value.split(|&byte| byte == b',').map(trim_ows) {
            let length = content_length(item);
            if length.is_none() || self.length.is_some_and(|other| Some(other) != length) {
                self.bad_length = true;
            }
            self.length = length;
        }
    }

    /// Tells what a 101 switches to (RFC 9110 section 15.2.2).
    #[cold]
    pub(crate) fn switch(&self, asked: Asked, version: Version) -> Result<&'b [u8], &'static str> {
        if !asked.upgrade {
            return Err("101 without a request to upgrade");
        }
        let protocol = self
            .upgrade
            .filter(|protocol| self.upgrades == 1 && is_protocol(protocol));
        let Some(protocol) = protocol.filter(|_| version == Version::Http11) else {
            return Err("101 without one protocol to switch to");
        };
        if protocol.eq_ignore_ascii_case(b"websocket") && !self.accepts_websocket {
            return Err("101 to websocket without sec-websocket-accept");
        }
        Ok(protocol)
    }

    /// Finds the end of the body (RFC 9112 section 6.3).
    #[inline]
    pub(crate) fn frame(
        &self,
        status: u16,
        version: Version,
        asked: Asked,
    ) -> Result<Framed, &'static str> {
        let framed = |framing, keep_length, reusable| {
            Ok(Framed {
                framing,
                keep_length,
                reusable,
            })
        };
        if status < 200 || status == 204 {
            // Their endpoint may send a body all the same. `Content-Length: 0` promises that it
            // does not.
            let silent = self.coding.is_none() && !self.bad_length && self.length.unwrap_or(0) == 0;
            return framed(Framing::None, false, silent);
        }
        if self.coding.is_some() && version == Version::Http10 {
            return Err("transfer-encoding in http/1.0");
        }
        if self.coding.is_none() && self.bad_length {
            return Err("content-length is not one number");
        }
        let both = self.coding.is_some() && (self.length.is_some() || self.bad_length);
        if asked.head || status == 304 {
            return framed(Framing::None, !both, !both);
        }
        match (self.coding, self.length) {
            (Some(Coding::Chunked), _) => framed(Framing::Chunked, false, !both),
            (Some(Coding::Registered), _) => Err("transfer-encoding other than chunked"),
            (Some(Coding::Identity | Coding::Unknown), _) => {
                framed(Framing::UntilClose, false, false)
            }
            (None, Some(length)) => framed(Framing::Length(length), true, true),
            (None, None) => framed(Framing::UntilClose, false, false),
        }
    }
}
