//! Forwarding: a client's connection, the requests on it, and the relay between two peers.

mod attempt;
mod client;
mod desk;
mod exchange;
mod hands;
mod hearing;
mod hedge;
mod http2;
mod opening;
mod pace;
mod pump;
mod relay;
mod request;
mod retry;
mod tcp;
mod tries;
mod tunnel;
mod views;
mod wait;

pub(crate) use client::serve;
pub(crate) use desk::Desks;
pub(crate) use hands::Hands;
