//! Holds nothing: see `tests/guardian.rs`.
