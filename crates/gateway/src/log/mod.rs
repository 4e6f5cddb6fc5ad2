//! Files of lines that workers write while they serve: they never wait for a disk.
//!
//! A worker collects lines in memory of its own ([`LineWriter`]) and hands them over whole, some tens
//! of kilobytes at a time or a few times a second. One thread for each file ([`LineFile`]) writes
//! them. What it cannot take in time is dropped and counted.

mod line_file;
mod line_writer;
mod sink;

pub(crate) use line_file::Heading;
pub use line_file::LineFile;
pub(crate) use line_writer::LineWriter;
