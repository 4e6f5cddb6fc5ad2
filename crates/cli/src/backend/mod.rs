//! An HTTP backend of scripted speed: what `evenkeel backend` runs, and `evenkeel demo` six of.

mod law;
mod mood;
mod server;

pub(crate) use law::{LatencyLaw, exponential};
pub(crate) use mood::{MOODS, Mood};
pub(crate) use server::{Behaviour, NAME_HEADER, Work, serve};
