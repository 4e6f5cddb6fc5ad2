//! Request methods, as far as a balancer must tell them apart.

/// Names the method of a request (RFC 9110 section 9, RFC 5789).
///
/// Methods are case-sensitive: `get` is [`Other`](Self::Other).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `CONNECT`
    Connect,
    /// `DELETE`
    Delete,
    /// `GET`
    Get,
    /// `HEAD`
    Head,
    /// `OPTIONS`
    Options,
    /// Any other token. Nothing is known of it, so it is neither safe nor idempotent.
    Other,
    /// `PATCH`
    Patch,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `TRACE`
    Trace,
}

impl Method {
    /// Tells which method a token names.
    #[must_use]
    #[inline]
    pub const fn from_bytes(token: &[u8]) -> Self {
        match token {
            b"GET" => Self::Get,
            b"POST" => Self::Post,
            b"HEAD" => Self::Head,
            b"PUT" => Self::Put,
            b"DELETE" => Self::Delete,
            b"OPTIONS" => Self::Options,
            b"PATCH" => Self::Patch,
            b"CONNECT" => Self::Connect,
            b"TRACE" => Self::Trace,
            _ => Self::Other,
        }
    }

    /// Tells whether repeating the request does no more than sending it once (RFC 9110 section
    /// 9.2.2).
    ///
    /// It decides what may be retried once an endpoint may have seen the request.
    #[must_use]
    pub const fn is_idempotent(self) -> bool {
        self.is_safe() || matches!(self, Self::Put | Self::Delete)
    }

    /// Tells whether the request asks for no change of state (RFC 9110 section 9.2.1).
    #[must_use]
    pub const fn is_safe(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Options | Self::Trace)
    }
}
