//! The client library, judged by what endpoints get and callers see.

mod balance;
mod cancellation;
mod endpoints;
mod http;
mod queue;
mod retries;
mod rolling;
mod server;
