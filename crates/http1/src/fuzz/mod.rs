//! Entry points for fuzzers: any bytes in, a broken promise is a panic.
//!
//! The targets in the `fuzz` folder of the repository call these and nothing else, and an ordinary
//! test calls them for every committed input, so that a build without a fuzzer checks them too. What
//! the codec says is compared with [`reader`], a second reading that shares no code with it.
//!
//! Nothing here is API.

mod chunked_body;
mod composed;
mod exchange;
mod fields;
mod pieces;
mod reader;
mod request_head;
mod response_head;

pub use self::chunked_body::fuzz_chunked_body;
pub use self::composed::fuzz_composed;
pub use self::exchange::{Exchange, Sent, check_every_split, fuzz_exchange, split_input};
pub use self::request_head::fuzz_request_head;
pub use self::response_head::fuzz_response_head;

use crate::edit::Edit;
use crate::limits::{HEADERS_MAX, Limits};

/// No change by an operator.
const NO_EDIT: Edit<'static> = Edit {
    remove: &[],
    set: &[],
    add: &[],
};

/// For heads that grew by what the gateway added.
const WIDE: Limits = Limits {
    header_bytes: usize::MAX,
    headers: HEADERS_MAX,
};

/// Where to cut an input of this length: everywhere while that is cheap, else at 64 places.
fn cuts(len: usize) -> impl Iterator<Item = usize> {
    (0..len).step_by((len / 64).max(1))
}
