//! Test peers for Evenkeel, and the [`laws`] that strategies are held to.

#![deny(missing_docs)]

pub mod laws;
