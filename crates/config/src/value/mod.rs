//! One rule for each kind of value, for the file, the command line and the admin API alike.

pub(crate) mod address;
pub(crate) mod duration;
pub(crate) mod field;
pub(crate) mod host_pattern;
pub(crate) mod key_source;
pub(crate) mod law;
pub(crate) mod listen_address;
pub(crate) mod mistake;
pub(crate) mod network;
pub(crate) mod path_pattern;
pub(crate) mod retry_cause;
pub(crate) mod size;
pub(crate) mod statuses;
pub(crate) mod text;
pub(crate) mod traffic;
pub(crate) mod url;
pub(crate) mod weight;
