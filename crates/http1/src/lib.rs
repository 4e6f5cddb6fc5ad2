//! HTTP/1 as a codec over byte slices: parsing, framing and forwarding rules, no I/O.
//!
//! A balancer relays messages between two parsers that it does not control. Whatever those two
//! could read differently is an attack, so this codec is **strict on input and canonical on
//! output**: a message with two readings is refused with a [`Reject`] (400, 431, 501, 505),
//! everything else leaves in its one clean form. The rules are those of RFC 9110 and RFC 9112, on
//! the strict side wherever they leave room.
//!
//! It is fast because it does little: [`httparse`] finds the fields in place, one pass notes which
//! of them are not to leave as they came, and the new head is the received bytes minus those
//! ranges. There is no header map, and no allocation but the growth of the caller's output buffer.
//!
//! It is not a client or a server. It owns no socket, no buffer and no clock; a driver feeds bytes
//! in and sends bytes out. HTTP/2 is somewhere else.
//!
//! The path of one exchange:
//!
//! 1. [`RequestHead::parse`] reads the client's head, [`RequestHead::forward`] writes the
//!    endpoint's;
//! 2. [`BodyDecoder`] finds the body in the bytes behind the head, [`BodyEncoder`] writes it on;
//! 3. [`ResponseHead::parse`] and [`ResponseHead::forward`] do the same for the answer;
//! 4. [`gateway_reply()`] writes the answers that the gateway gives itself.
//!
//! # Examples
//!
//! ```
//! use evenkeel_http1::{Forward, Limits, RequestHead, Slots};
//!
//! let received = b"GET /a HTTP/1.1\r\nHost: a.example\r\nConnection: x-key\r\nX-Key: 1\r\n\r\n";
//! let mut slots = Slots::new();
//! let head = RequestHead::parse(received, &Limits::default(), &mut slots)
//!     .expect("well-formed")
//!     .expect("complete");
//!
//! let via =
//!     Forward { client: "192.0.2.7", proto: "http", request_id: "r1", ..Forward::default() };
//! let mut sent = Vec::new();
//! head.forward(&via, &mut sent);
//! assert_eq!(
//!     String::from_utf8_lossy(&sent),
//!     "GET /a HTTP/1.1\r\nHost: a.example\r\nX-Forwarded-For: 192.0.2.7\r\n\
//!      X-Forwarded-Proto: http\r\nX-Forwarded-Host: a.example\r\nx-request-id: r1\r\n\r\n"
//! );
//! ```

#![deny(missing_docs)]

mod body_decoder;
mod body_encoder;
mod compose;
mod connection;
mod edit;
mod field;
mod field_kind;
mod field_table;
mod framing;
mod fuzz;
mod gateway_reply;
mod host;
mod limits;
mod method;
mod path;
mod proxy_error;
mod reject;
mod request_facts;
mod request_forward;
mod request_head;
pub mod request_id;
mod response_facts;
mod response_forward;
mod response_head;
mod target;
mod token;
mod trailers;
mod version;

pub use crate::body_decoder::{
    BodyDecoder, CHUNK_EXTENSION_BYTES_MAX, CHUNK_EXTENSION_DEBT_MAX, Piece,
};
pub use crate::body_encoder::{BodyEncoder, Encoding};
pub use crate::compose::{Pseudo, compose_request, compose_response};
pub use crate::connection::{CONNECTION_BYTES_MAX, CONNECTION_OPTIONS_MAX};
pub use crate::edit::Edit;
pub use crate::field::{Field, Fields};
pub use crate::framing::Framing;
#[doc(hidden)]
pub use crate::fuzz::{
    Exchange, Sent, check_every_split, fuzz_chunked_body, fuzz_composed, fuzz_exchange,
    fuzz_request_head, fuzz_response_head, split_input,
};
pub use crate::gateway_reply::{CONTINUE, GatewayReply, gateway_redirect, gateway_reply};
pub use crate::limits::{HEADERS_MAX, Limits, Slots};
pub use crate::method::Method;
pub use crate::path::{BadPath, PathForm, normal_path};
pub use crate::proxy_error::ProxyError;
pub use crate::reject::{BadChunk, BadResponse, Reject};
pub use crate::request_forward::Forward;
pub use crate::request_head::RequestHead;
pub use crate::response_forward::{BodyOut, Reply};
pub use crate::response_head::{Asked, ResponseHead};
pub use crate::token::is_token;
pub use crate::trailers::{TRAILER_BYTES_MAX, TRAILER_FIELDS_MAX, Trailers};
pub use crate::version::Version;
