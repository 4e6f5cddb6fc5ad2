//! The client library, judged by what endpoints get and callers see.

mod adaptors;
mod balance;
mod callbacks;
mod cancellation;
mod checks;
mod endpoints;
mod examples;
mod faults;
mod http;
mod outlived;
mod queue;
mod registry;
mod retries;
mod rolling;
mod server;
mod tls;
