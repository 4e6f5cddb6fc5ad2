//! Reading the head of a request.

use httparse::{Error, Status};

use crate::body_decoder::BodyDecoder;
use crate::field::{Field, Fields};
use crate::field_table::FieldTable;
use crate::framing::Framing;
use crate::host::split_port;
use crate::limits::{Limits, Slots};
use crate::method::Method;
use crate::reject::Reject;
use crate::request_facts::RequestFacts;
use crate::request_id;
use crate::target::Target;
use crate::version::Version;

/// Most empty lines before a request. RFC 9112 section 2.2 asks to bear with one; old clients sent
/// two.
const EMPTY_LINES_MAX: usize = 2;

/// The head of a request that is safe to pass on.
///
/// It borrows the received bytes and the slots; nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'s, 'b> {
    /// The bytes that the head took, empty lines before it included. The body begins behind them.
    pub len: usize,
    /// The method.
    pub method: Method,
    /// The version that the client speaks.
    pub version: Version,
    /// How the end of the body is found. Never [`Framing::UntilClose`].
    pub framing: Framing,
    /// The client is willing to send another request on this connection.
    pub keep_alive: bool,
    /// The client waits for a `100 Continue` before it sends its body.
    pub expect_continue: bool,
    /// A body comes with a GET, a HEAD or a DELETE, which give it no meaning (RFC 9110 section
    /// 9.3).
    ///
    /// It is passed on, but an endpoint that does not expect it may leave it unread and take it for
    /// the next request. The driver must not send another one on the endpoint's connection.
    pub body_unexpected: bool,
    /// The one protocol that the client wants to switch to, such as `websocket`; never HTTP/2.
    pub upgrade: Option<&'b [u8]>,
    pub(crate) method_token: &'b str,
    pub(crate) target_text: &'b str,
    pub(crate) target: Target<'b>,
    pub(crate) facts: RequestFacts<'b>,
    pub(crate) fields: FieldTable<'s, 'b>,
}

impl<'s, 'b> RequestHead<'s, 'b> {
    /// Reads a head from the start of `bytes`. `None` means that more bytes are needed.
    ///
    /// Costs one pass over the head and no allocation. A head that comes in many pieces is read
    /// from its start each time; the limits bound what that can cost.
    ///
    /// # Errors
    ///
    /// A [`Reject`] when the head breaks a rule, or when it is not complete within the limits: 400
    /// for what is malformed or has two readings, 431 beyond the limits, 501 for CONNECT and for
    /// transfer codings other than `chunked`, 505 for other versions of HTTP.
    ///
    /// # Examples
    ///
    /// ```
    /// use evenkeel_http1::{Limits, RequestHead, Slots};
    ///
    /// let (limits, mut slots) = (Limits::default(), Slots::new());
    /// let part = RequestHead::parse(b"GET / HTTP/1.1\r\nHo", &limits, &mut slots);
    /// assert!(part.expect("nothing wrong so far").is_none());
    ///
    /// let mut slots = Slots::new();
    /// let two_hosts = b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
    /// let refused = RequestHead::parse(two_hosts, &limits, &mut slots).unwrap_err();
    /// assert_eq!(refused.to_string(), "400: two host fields");
    /// ```
    pub fn parse(
        bytes: &'b [u8],
        limits: &Limits,
        slots: &'s mut Slots<'b>,
    ) -> Result<Option<Self>, Reject> {
        let window = &bytes[..bytes.len().min(limits.header_bytes)];
        let lead = empty_lines(window)?;
        let text = &window[lead..];
        let mut request = httparse::Request::new(&mut []);
        match request.parse_with_uninit_headers(text, slots.within(limits)) {
            Ok(Status::Complete(len)) => {
                let head = &text[..len];
                let (Some(method), Some(target), Some(minor)) =
                    (request.method, request.path, request.version)
                else {
                    return Err(Reject::bad("malformed request line"));
                };
                let version = Version::from_minor(minor);
                let line = Line {
                    method,
                    target,
                    version,
                    len: lead + len,
                };
                Self::check(head, line, request.headers).map(Some)
            }
            Ok(Status::Partial) if bytes.len() >= limits.header_bytes => {
                Err(Reject::too_large("request head is larger than the limit"))
            }
            Ok(Status::Partial) => Ok(None),
            Err(error) => Err(refusal(error, text)),
        }
    }

    /// Applies the rules to a head whose syntax is right.
    #[inline]
    fn check(
        head: &'b [u8],
        line: Line<'b>,
        list: &'s [httparse::Header<'b>],
    ) -> Result<Self, Reject> {
        let Line {
            method: method_token,
            target: target_text,
            version,
            len,
        } = line;
        let method = Method::from_bytes(method_token.as_bytes());
        let mut facts = RequestFacts::default();
        let fields = FieldTable::build(head, list, |index, kind, field| {
            facts.note(index, kind, field)
        })
        .map_err(Reject::bad)?;
        if method == Method::Connect {
            return Err(Reject::not_implemented("method CONNECT"));
        }
        let target = Target::parse(target_text, method).map_err(Reject::bad)?;
        match facts.host {
            None if version == Version::Http11 => return Err(Reject::bad("no host field")),
            Some(host) if !target.agrees_with(host) => {
                return Err(Reject::bad("host differs from the request target"));
            }
            _ => {}
        }
        let framing = facts.framing(version)?;
        if method == Method::Trace && framing != Framing::None {
            return Err(Reject::bad("TRACE with a body"));
        }
        Ok(Self {
            len,
            method,
            version,
            framing,
            keep_alive: facts.keep_alive(version),
            expect_continue: facts.expects_continue(version, framing),
            body_unexpected: matches!(method, Method::Get | Method::Head | Method::Delete)
                && framing.has_body(),
            upgrade: facts.upgrade(version),
            method_token,
            target_text,
            target,
            facts,
            fields,
        })
    }

    /// The method as it was received.
    #[must_use]
    pub fn method_bytes(&self) -> &'b [u8] {
        self.method_token.as_bytes()
    }

    /// The request target exactly as it was received. It is ASCII.
    #[must_use]
    pub fn target(&self) -> &'b [u8] {
        self.target_text.as_bytes()
    }

    /// The path up to the query, undecoded, of an absolute-form target too; `*` for `OPTIONS *`.
    #[must_use]
    pub fn path(&self) -> &'b str {
        self.target.path()
    }

    /// The query behind the first `?`, undecoded.
    #[must_use]
    pub fn query(&self) -> Option<&'b str> {
        self.target.query()
    }

    /// The host and port that the request is for, in the case in which they came.
    ///
    /// This is the authority of an absolute-form target, else the Host field: the one answer for
    /// routing, logs and the endpoint. `None` only in HTTP/1.0; it may be empty (RFC 9112 section
    /// 3.2).
    #[must_use]
    pub fn authority(&self) -> Option<&'b str> {
        self.target.authority.or(self.facts.host)
    }

    /// The host without its port, brackets kept.
    #[must_use]
    pub fn host(&self) -> Option<&'b str> {
        self.authority().map(|authority| split_port(authority).0)
    }

    /// Makes the decoder of the body behind this head, which leaves out trailer fields that the
    /// sender's Connection fields name. Allocates only when they name any.
    #[must_use]
    pub fn body_decoder(&self) -> BodyDecoder {
        self.fields
            .body_decoder(self.framing, self.facts.connection.nominates)
    }

    /// All fields as they were received, also those that are not passed on.
    #[must_use]
    pub fn fields(&self) -> Fields<'s, 'b> {
        Fields::new(self.fields.list())
    }

    /// The value of the first field of this name, in any case.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'b [u8]> {
        self.fields()
            .find(|field| field.is(name))
            .map(|field| field.value)
    }

    /// The client's request id, if it sent one that is [valid](request_id::valid) and only one.
    #[must_use]
    pub fn request_id(&self) -> Option<&'b str> {
        let id = self.facts.request_id.filter(|id| request_id::valid(id))?;
        std::str::from_utf8(id).ok()
    }

    /// The fields that the endpoint would get as they are: neither hop-by-hop nor framing, nor
    /// Host, nor any that [`forward`](Self::forward) writes itself. For a gateway that speaks
    /// another protocol to the endpoint.
    pub fn passing_fields(&self) -> impl Iterator<Item = Field<'b>> {
        let fields = self.fields;
        let nominates = self.facts.connection.nominates;
        self.fields()
            .filter(move |field| fields.passes(field.name, nominates))
    }
}

/// What the request line says.
struct Line<'b> {
    method: &'b str,
    target: &'b str,
    version: Version,
    len: usize,
}

/// Counts the bytes of empty lines before a request.
fn empty_lines(bytes: &[u8]) -> Result<usize, Reject> {
    let mut len = 0;
    while bytes[len..].starts_with(b"\r\n") {
        len += 2;
        if len > EMPTY_LINES_MAX * 2 {
            return Err(Reject::bad("too many empty lines before the request"));
        }
    }
    match bytes.get(len) {
        Some(b'\n') => Err(Reject::bad("line ends without CR")),
        _ => Ok(len),
    }
}

/// Names what the parser did not like.
#[cold]
fn refusal(error: Error, text: &[u8]) -> Reject {
    match error {
        Error::HeaderName => Reject::bad("invalid field name, or a folded line"),
        Error::HeaderValue => Reject::bad("invalid byte in a field value"),
        Error::NewLine => Reject::bad("malformed line end"),
        Error::Status | Error::Token => Reject::bad("malformed request line"),
        Error::TooManyHeaders => Reject::too_large("more fields than the limit"),
        Error::Version if names_other_version(text) => Reject::version(),
        Error::Version => Reject::bad("malformed http version"),
    }
}

/// Tells whether a request line names a version of HTTP other than ours, by the first byte in which
/// it differs from `HTTP/1.` and a digit. What follows may not be there yet, and the answer must not
/// depend on that.
fn names_other_version(text: &[u8]) -> bool {
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let version = line.splitn(3, |&byte| byte == b' ').nth(2);
    let version = version.unwrap_or_default();
    match version.iter().zip(b"HTTP/1.").position(|(a, b)| a != b) {
        None => version.get(7).is_some_and(u8::is_ascii_digit),
        Some(5) => version[5].is_ascii_digit(),
        Some(_) => false,
    }
}
