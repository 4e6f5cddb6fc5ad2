//! Request ids, kept in place.

/// The longest id that is taken from a client, in bytes.
const LONGEST: usize = 128;

/// The id of a request: 1 to 128 visible ASCII characters.
#[derive(Clone, Copy)]
pub(crate) struct RequestId {
    text: [u8; LONGEST],
    length: u8,
}

impl RequestId {
    /// 128 random bits in hexadecimal.
    pub(crate) fn made(high: u64, low: u64) -> Self {
        let mut text = [0; LONGEST];
        for (word, half) in [high, low].into_iter().zip(text.chunks_exact_mut(16)) {
            for (at, digit) in half.iter_mut().enumerate() {
                *digit = b"0123456789abcdef"[(word >> (60 - 4 * at)) as usize & 15];
            }
        }
        Self { text, length: 32 }
    }

    /// One that a client gave, if it is short enough.
    pub(crate) fn given(id: &str) -> Option<Self> {
        let mut text = [0; LONGEST];
        text.get_mut(..id.len())?.copy_from_slice(id.as_bytes());
        Some(Self {
            text,
            length: id.len() as u8,
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        // Both ways to make one start from text.
        std::str::from_utf8(&self.text[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl std::fmt::Debug for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_as_they_were_written() {
        let made = RequestId::made(0x0123_4567_89ab_cdef, 1);
        assert_eq!(made.as_str(), "0123456789abcdef0000000000000001");
        assert_eq!(
            RequestId::given("a-b")
                .map(|id| id.as_str().to_owned())
                .as_deref(),
            Some("a-b")
        );
        assert!(RequestId::given(&"x".repeat(129)).is_none());
    }
}
