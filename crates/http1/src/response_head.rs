//! Reading the head of a response.

use httparse::{Error, Header, Status};

use crate::body_decoder::BodyDecoder;
use crate::connection::ConnectionOptions;
use crate::field::{Field, Fields};
use crate::field_table::FieldTable;
use crate::framing::Framing;
use crate::limits::{Limits, Slots};
use crate::reject::BadResponse;
use crate::response_facts::ResponseFacts;
use crate::version::Version;

/// What the request was, as far as its response cannot be read without knowing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The method was HEAD, so that no body follows.
    pub head: bool,
    /// An upgrade was passed on, so that 101 is an answer.
    pub upgrade: bool,
}

/// The head of an endpoint's response that is safe to relay.
///
/// It borrows the received bytes and the slots; nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'s, 'b> {
    /// The bytes that the head took. The body begins behind them.
    pub len: usize,
    /// The status code, 100 to 999.
    pub status: u16,
    /// The version that the endpoint speaks.
    pub version: Version,
    /// How the end of the body is found.
    pub framing: Framing,
    /// The connection may carry another request after this response, as far as the head says.
    ///
    /// The driver must still drop it when bytes follow that belong to no response.
    pub keep_alive: bool,
    /// The protocol that a 101 switches to. The driver compares it with the one that was asked for.
    pub upgrade: Option<&'b [u8]>,
    pub(crate) reason: &'b str,
    pub(crate) keep_length: bool,
    /// The place of the Content-Length field, if it is one that can be passed on as it came.
    pub(crate) length_index: Option<usize>,
    pub(crate) connection: ConnectionOptions,
    pub(crate) fields: FieldTable<'s, 'b>,
}

impl<'s, 'b> ResponseHead<'s, 'b> {
    /// Reads a head from the start of `bytes`. `None` means that more bytes are needed.
    ///
    /// Any number of interim heads may come before the final one: see
    /// [`is_interim`](Self::is_interim). Costs one pass over the head and no allocation.
    ///
    /// # Errors
    ///
    /// A [`BadResponse`] when the head is malformed, contradicts itself or is larger than the
    /// limits.
    ///
    /// # Examples
    ///
    /// ```
    /// use evenkeel_http1::{Asked, Framing, Limits, ResponseHead, Slots};
    ///
    /// let mut slots = Slots::new();
    /// let received = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    /// let head = ResponseHead::parse(received, &Limits::default(), &mut slots, Asked::default())
    ///     .expect("well-formed")
    ///     .expect("complete");
    /// assert_eq!((head.status, head.framing), (200, Framing::Length(2)));
    /// assert_eq!(&received[head.len..], b"ok");
    /// ```
    pub fn parse(
        bytes: &'b [u8],
        limits: &Limits,
        slots: &'s mut Slots<'b>,
        asked: Asked,
    ) -> Result<Option<Self>, BadResponse> {
        // httparse skips empty lines; before a response they are left-overs of a body.
        if bytes.first().is_some_and(|&byte| byte != b'H') {
            return Err(BadResponse::bad("response does not begin with http"));
        }
        let window = &bytes[..bytes.len().min(limits.header_bytes)];
        let mut response = httparse::Response::new(&mut []);
        let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
            &mut response,
            window,
            slots.within(limits),
        );
        match parsed {
            Ok(Status::Complete(len)) => {
                let (Some(status), Some(minor)) = (response.code, response.version) else {
                    return Err(BadResponse::bad("malformed status line"));
                };
                let line = Line {
                    status,
                    version: Version::from_minor(minor),
                    reason: response.reason.unwrap_or_default(),
                };
                Self::check(&window[..len], line, response.headers, asked)
                    .map(Some)
                    .map_err(BadResponse::bad)
            }
            Ok(Status::Partial) if bytes.len() >= limits.header_bytes => Err(
                BadResponse::too_large("response head is larger than the limit"),
            ),
            Ok(Status::Partial) => Ok(None),
            Err(error @ Error::TooManyHeaders) => Err(BadResponse::too_large(reason(error))),
            Err(error) => Err(BadResponse::bad(reason(error))),
        }
    }

    /// Applies the rules to a head whose syntax is right.
    #[inline]
    fn check(
        head: &'b [u8],
        line: Line<'b>,
        list: &'s [Header<'b>],
        asked: Asked,
    ) -> Result<Self, &'static str> {
        let Line {
            status,
            version,
            reason,
        } = line;
        if status < 100 {
            return Err("status code below 100");
        }
        let mut facts = ResponseFacts::default();
        let fields = FieldTable::build(head, list, |index, kind, field| {
            facts.note(index, kind, field)
        })?;
        let upgrade = if status == 101 {
            Some(facts.switch(asked, version)?)
        } else {
            None
        };
        let framed = facts.frame(status, version, asked)?;
        let options = facts.connection;
        Ok(Self {
            len: head.len(),
            status,
            version,
            framing: framed.framing,
            keep_alive: framed.reusable
                && !options.close
                && (version == Version::Http11 || options.keep_alive),
            upgrade,
            reason,
            keep_length: framed.keep_length,
            length_index: facts.length_index,
            connection: options,
            fields,
        })
    }

    /// Tells whether another head follows: 100 to 199, but for 101, which ends HTTP on the
    /// connection.
    #[must_use]
    pub const fn is_interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }

    /// The reason phrase, empty when there is none or it is not ASCII.
    #[must_use]
    pub fn reason(&self) -> &'b str {
        self.reason
    }

    /// Makes the decoder of the body behind this head, which leaves out trailer fields that the
    /// sender's Connection fields name. Allocates only when they name any.
    #[must_use]
    pub fn body_decoder(&self) -> BodyDecoder {
        self.fields
            .body_decoder(self.framing, self.connection.nominates)
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

    /// The fields that the client would get as they are: neither hop-by-hop nor framing, nor any
    /// that [`forward`](Self::forward) writes itself. For a client that speaks another protocol.
    pub fn passing_fields(&self) -> impl Iterator<Item = Field<'b>> {
        let fields = self.fields;
        let nominates = self.connection.nominates;
        self.fields()
            .filter(move |field| fields.passes(field.name, nominates))
    }
}

/// What the status line says.
struct Line<'b> {
    status: u16,
    version: Version,
    reason: &'b str,
}

/// Names what the parser did not like.
#[cold]
fn reason(error: Error) -> &'static str {
    match error {
        Error::HeaderName => "invalid field name, or a folded line",
        Error::HeaderValue => "invalid byte in a field value",
        Error::NewLine => "malformed line end",
        Error::Status | Error::Token => "malformed status line",
        Error::TooManyHeaders => "more fields than the limit",
        Error::Version => "http version is neither 1.0 nor 1.1",
    }
}
