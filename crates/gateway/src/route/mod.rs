//! Routes: which cluster a request goes to, and how it is changed on the way.
//!
//! A [`RouteTable`] is what a listener's configuration comes to. Finding a route is a pure function
//! of a head: no allocation, no lock, one look at each route that a request is not for. What is
//! random in a split of clusters is handed in.
//!
//! Rules about paths compare the one normal form of a path, so that no spelling of it gets around
//! them; the bytes that endpoints get are those that came, unless a route rewrites them.

mod action;
mod edits;
mod gate;
mod rewrite;
mod table;
#[cfg(test)]
mod tests;
mod urgency;
mod way;

pub(crate) use table::RouteTable;
pub(crate) use way::{Destination, PathBuffers, RedirectTo, Way};
