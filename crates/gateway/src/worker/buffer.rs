//! Buffers that belong to whoever has bytes in hand, and to nobody while a connection idles.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use crate::stream::Stream;

/// Holds most heads, and small bodies with them.
const SMALL: usize = 16 * 1024;

/// For bodies that go on: reads of this size cost a fifth less for each byte than small ones.
const LARGE: usize = 256 * 1024;

/// How many buffers of a kind a worker keeps for later.
const KEPT: usize = 256;
const KEPT_LARGE: usize = 16;

/// The buffers of one worker that are not in use.
#[derive(Debug, Default)]
pub(crate) struct BufferPool {
    small: RefCell<Vec<Box<[u8]>>>,
    large: RefCell<Vec<Box<[u8]>>>,
    output: RefCell<Vec<Vec<u8>>>,
}

impl BufferPool {
    fn take(&self, size: usize) -> Box<[u8]> {
        let kept = match size {
            SMALL => self.small.borrow_mut().pop(),
            LARGE => self.large.borrow_mut().pop(),
            _ => None,
        };
        kept.unwrap_or_else(|| vec![0; size].into())
    }

    fn give(&self, bytes: Box<[u8]>) {
        let (kept, most) = match bytes.len() {
            SMALL => (&self.small, KEPT),
            LARGE => (&self.large, KEPT_LARGE),
            _ => return,
        };
        let mut kept = kept.borrow_mut();
        if kept.len() < most {
            kept.push(bytes);
        }
    }

    /// An empty buffer to write into.
    pub(crate) fn output(&self) -> Vec<u8> {
        self.output
            .borrow_mut()
            .pop()
            .unwrap_or_else(|| Vec::with_capacity(SMALL))
    }

    /// Takes a buffer back; one that has grown is let go.
    pub(crate) fn recycle(&self, mut output: Vec<u8>) {
        let mut kept = self.output.borrow_mut();
        if kept.len() < KEPT && output.capacity() > 0 && output.capacity() <= 4 * SMALL {
            output.clear();
            kept.push(output);
        }
    }
}

/// Bytes that were received and not yet used. Holds no memory while it is empty.
#[derive(Debug)]
pub(crate) struct Inbox {
    pool: Rc<BufferPool>,
    bytes: Option<Box<[u8]>>,
    start: usize,
    end: usize,
    /// The last read filled the buffer: there is more to come, and a larger one pays.
    flows: bool,
}

impl Inbox {
    pub(crate) fn new(pool: &Rc<BufferPool>) -> Self {
        Self {
            pool: Rc::clone(pool),
            bytes: None,
            start: 0,
            end: 0,
            flows: false,
        }
    }

    /// What has been received and not used.
    #[inline]
    pub(crate) fn data(&self) -> &[u8] {
        match &self.bytes {
            Some(bytes) => &bytes[self.start..self.end],
            None => &[],
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Uses up the first `count` bytes.
    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start, "only what was received");
        self.start += count;
        if self.start == self.end {
            self.release();
        }
    }

    /// Drops what was received and not used.
    pub(crate) fn clear(&mut self) {
        self.release();
    }

    fn release(&mut self) {
        if let Some(bytes) = self.bytes.take() {
            self.pool.give(bytes);
        }
        (self.start, self.end) = (0, 0);
    }

    /// Reads once. Zero bytes is the end of the stream.
    ///
    /// One system call, and none when nothing is there: the runtime knows that after a short read.
    pub(crate) fn poll_fill(
        &mut self,
        stream: &mut Stream,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        self.make_room();
        let end = self.end;
        let Some(bytes) = &mut self.bytes else {
            return Poll::Ready(Ok(0));
        };
        let mut space = ReadBuf::new(&mut bytes[end..]);
        let room = space.remaining();
        let poll = Pin::new(stream).poll_read(cx, &mut space);
        let count = space.filled().len();
        self.end += count;
        self.flows = count == room;
        if self.is_empty() {
            self.release();
        }
        ready!(poll)?;
        Poll::Ready(Ok(count))
    }

    /// Sees to it that there is a buffer with space behind its data.
    fn make_room(&mut self) {
        let used = self.end - self.start;
        let Some(bytes) = &mut self.bytes else {
            let size = if self.flows { LARGE } else { SMALL };
            self.bytes = Some(self.pool.take(size));
            return;
        };
        if self.end < bytes.len() {
            return;
        }
        if self.start > 0 {
            bytes.copy_within(self.start..self.end, 0);
        } else {
            let mut larger = vec![0; bytes.len() * 2];
            larger[..used].copy_from_slice(&bytes[..used]);
            *bytes = larger.into();
        }
        (self.start, self.end) = (0, used);
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_inbox_holds_no_memory() {
        let pool = Rc::new(BufferPool::default());
        let mut inbox = Inbox::new(&pool);
        inbox.make_room();
        inbox.end = 10;
        assert_eq!(inbox.data().len(), 10);
        inbox.consume(10);
        assert!(inbox.bytes.is_none());
        assert_eq!(pool.small.borrow().len(), 1);
    }

    #[test]
    fn room_is_made_by_moving_before_growing() {
        let pool = Rc::new(BufferPool::default());
        let mut inbox = Inbox::new(&pool);
        inbox.make_room();
        inbox.end = SMALL;
        inbox.consume(SMALL - 3);
        inbox.make_room();
        assert_eq!((inbox.start, inbox.end), (0, 3));
        inbox.end = SMALL;
        inbox.make_room();
        assert_eq!(
            inbox.bytes.as_ref().map(|bytes| bytes.len()),
            Some(2 * SMALL)
        );
        assert_eq!(inbox.data().len(), SMALL);
    }
}
