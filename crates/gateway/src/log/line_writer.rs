//! A worker's end of a file of lines.

use std::sync::Arc;

use super::line_file::{Batch, Heading, Post};

/// How many bytes of lines are handed over at once, about.
const BATCH_BYTES: usize = 32 * 1024;

/// A worker's end of a file of lines: not shared, and no lock or system call for a line.
///
/// Lines are handed over when enough have come together, by [`LineWriter::flush`], which the worker
/// calls a few times a second, and when this is dropped.
#[derive(Debug)]
pub(crate) struct LineWriter {
    post: Post,
    batch: Batch,
}

impl LineWriter {
    pub(super) fn new(post: Post) -> Self {
        Self {
            post,
            batch: Batch::default(),
        }
    }

    /// Adds what `write` appends, as one line; the line feed is added here, and must not be among it.
    #[inline]
    pub(crate) fn line(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.batch.bytes);
        self.batch.bytes.push(b'\n');
        self.batch.lines += 1;
        if self.batch.bytes.len() >= BATCH_BYTES {
            self.flush();
        }
    }

    /// Sees to it that `heading` stands in the file before the lines that follow.
    pub(crate) fn heading(&mut self, heading: &Arc<dyn Heading>) {
        let known = &mut self.batch.headings;
        if !known.iter().any(|other| other.key() == heading.key()) {
            known.push(Arc::clone(heading));
        }
    }

    /// Hands over what has come together. Never waits: what there is no room for is dropped, and counted.
    pub(crate) fn flush(&mut self) {
        if self.batch.lines > 0 {
            self.batch = self.post.send(std::mem::take(&mut self.batch));
        }
    }
}

impl Drop for LineWriter {
    fn drop(&mut self) {
        self.flush();
    }
}
