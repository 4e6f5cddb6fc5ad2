//! The words for what can go wrong in a gateway.

use std::fmt;

use crate::reject::{BadResponse, Reject};

/// Names an error of the gateway's own, in the words of RFC 9209 section 2.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProxyError {
    /// Every endpoint is at its limit: 503.
    ConnectionLimitReached,
    /// The endpoint refused the connection: 502.
    ConnectionRefused,
    /// The endpoint closed or reset the connection before its answer was complete: 502.
    ConnectionTerminated,
    /// No connection within the time limit: 504.
    ConnectionTimeout,
    /// No route takes the request: 404, as this gateway knows no other origin than its clusters.
    DestinationNotFound,
    /// No endpoint can take the request: 503.
    DestinationUnavailable,
    /// The name of the endpoint does not resolve: 502.
    DnsError,
    /// The name of the endpoint was not resolved in time: 504.
    DnsTimeout,
    /// The endpoint's answer is not HTTP as it should be: 502.
    HttpProtocolError,
    /// A rule of the operator's forbids the request: 403.
    HttpRequestDenied,
    /// The client's request is wrong: 400, or what a [`Reject`] says.
    HttpRequestError,
    /// The answer's head or a part of it is beyond the limits: 502.
    HttpResponseHeaderSectionSize,
    /// The answer ended before it was complete: 502.
    HttpResponseIncomplete,
    /// No answer within the time limit: 504.
    HttpResponseTimeout,
    /// The answer has a transfer coding that is not offered: 502.
    HttpResponseTransferCoding,
    /// The protocol could not be switched: 502.
    HttpUpgradeFailed,
    /// The gateway itself failed: 500.
    ProxyInternalError,
    /// The endpoint's certificate is not accepted: 502.
    TlsCertificateError,
    /// The TLS handshake with the endpoint failed: 502.
    TlsProtocolError,
}

impl ProxyError {
    /// The word for it in `Proxy-Status`, logs and metrics.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::ConnectionLimitReached => "connection_limit_reached",
            Self::ConnectionRefused => "connection_refused",
            Self::ConnectionTerminated => "connection_terminated",
            Self::ConnectionTimeout => "connection_timeout",
            Self::DestinationNotFound => "destination_not_found",
            Self::DestinationUnavailable => "destination_unavailable",
            Self::DnsError => "dns_error",
            Self::DnsTimeout => "dns_timeout",
            Self::HttpProtocolError => "http_protocol_error",
            Self::HttpRequestDenied => "http_request_denied",
            Self::HttpRequestError => "http_request_error",
            Self::HttpResponseHeaderSectionSize => "http_response_header_section_size",
            Self::HttpResponseIncomplete => "http_response_incomplete",
            Self::HttpResponseTimeout => "http_response_timeout",
            Self::HttpResponseTransferCoding => "http_response_transfer_coding",
            Self::HttpUpgradeFailed => "http_upgrade_failed",
            Self::ProxyInternalError => "proxy_internal_error",
            Self::TlsCertificateError => "tls_certificate_error",
            Self::TlsProtocolError => "tls_protocol_error",
        }
    }

    /// The status code that goes with it.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::HttpRequestError => 400,
            Self::HttpRequestDenied => 403,
            Self::DestinationNotFound => 404,
            Self::ProxyInternalError => 500,
            Self::ConnectionRefused
            | Self::ConnectionTerminated
            | Self::DnsError
            | Self::HttpProtocolError
            | Self::HttpResponseHeaderSectionSize
            | Self::HttpResponseIncomplete
            | Self::HttpResponseTransferCoding
            | Self::HttpUpgradeFailed
            | Self::TlsCertificateError
            | Self::TlsProtocolError => 502,
            Self::ConnectionLimitReached | Self::DestinationUnavailable => 503,
            Self::ConnectionTimeout | Self::DnsTimeout | Self::HttpResponseTimeout => 504,
        }
    }
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl From<Reject> for ProxyError {
    fn from(_: Reject) -> Self {
        Self::HttpRequestError
    }
}

impl From<BadResponse> for ProxyError {
    fn from(bad: BadResponse) -> Self {
        if bad.too_large {
            Self::HttpResponseHeaderSectionSize
        } else {
            Self::HttpProtocolError
        }
    }
}

/// The reason phrase of the status codes that a gateway makes itself (RFC 9110 section 15).
pub(crate) const fn phrase(status: u16) -> &'static str {
    match status {
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        408 => "Request Timeout",
        413 => "Content Too Large",
        414 => "URI Too Long",
        417 => "Expectation Failed",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}
