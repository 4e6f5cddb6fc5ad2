//! Frames of a client as they come by, before the library reads them.
//!
//! The library drops pseudo-fields behind a body, where they make a message malformed (RFC 9113 section 8.1),
//! and it bears with frames without end that ask for nothing. So frames are counted here, and a block of
//! fields behind a body is given a field of our own at its front: a pseudo-field behind another field is
//! one that the library refuses.

/// How long the head of a frame is, in bytes.
const HEAD: usize = 9;

/// How long the payload of a frame may be, in bytes, as we have not allowed for more.
const PAYLOAD_MAX: usize = 16 * 1024;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const WITH_PRIORITY: u8 = 32;

/// The name of the field at the front of those behind a body. It goes no further.
pub(super) const MARK: &str = "-";

/// That field: a literal that is not indexed, without a value (RFC 7541 section 6.2.2).
const MARK_FIELD: [u8; 4] = [0, 1, b'-', 0];

/// Where in the bytes of a client frames begin.
#[derive(Debug)]
pub(super) struct Watch {
    /// How much is still to come of what is passed on as it is, in bytes.
    left: usize,
    /// The newest stream.
    newest: u32,
    /// How many streams were opened and not given up: each may be once.
    standing: u32,
    /// How many frames came that ask for nothing.
    pub(super) noise: u32,
}

/// The head of a frame.
#[derive(Clone, Copy)]
struct Head {
    length: usize,
    kind: u8,
    flags: u8,
    stream: u32,
}

impl Head {
    fn read(bytes: &[u8]) -> Option<Self> {
        let &[a, b, c, kind, flags, d, e, f, g] = bytes.first_chunk::<HEAD>()?;
        Some(Self {
            length: usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c),
            kind,
            flags,
            stream: u32::from_be_bytes([d & 0x7f, e, f, g]),
        })
    }

    fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// How much of the frame stands before its data: what tells how long those are.
    fn before_data(self) -> usize {
        HEAD + usize::from(self.kind == DATA && self.has(PADDED) && self.length > 0)
    }

    /// Whether a frame like this moves nothing on; `padding` is how much of it is padding, in bytes. Windows are
    /// not among them: whoever reads much, opens much. Nor are streams given up, of which each counts once
    /// elsewhere. A ping of ours is answered once a connection; other answers to pings nobody waits for.
    fn is_noise(self, padding: usize) -> bool {
        match self.kind {
            DATA => self.length <= padding && !self.has(END_STREAM),
            SETTINGS => !self.has(ACK),
            HEADERS | CONTINUATION => self.length == 0,
            PRIORITY | PING | GOAWAY => true,
            // Extensions, all of which we do not know.
            kind => kind > CONTINUATION,
        }
    }

    fn write(self, out: &mut Vec<u8>) {
        let [_, a, b, c] = u32::try_from(self.length).unwrap_or(0).to_be_bytes();
        out.extend_from_slice(&[a, b, c, self.kind, self.flags]);
        out.extend_from_slice(&self.stream.to_be_bytes());
    }
}

impl Watch {
    /// A watch over a connection that begins with so many bytes that are no frame.
    pub(super) fn new(preface: usize) -> Self {
        Self {
            left: preface,
            newest: 0,
            standing: 0,
            noise: 0,
        }
    }

    /// How many bytes pass as they are: up to a frame with fields behind a body, or one of which there is not
    /// enough to tell what it is.
    pub(super) fn pass(&mut self, data: &[u8]) -> usize {
        let mut at = 0;
        loop {
            let count = self.left.min(data.len() - at);
            self.left -= count;
            at += count;
            let frame = &data[at..];
            let Some(head) = Head::read(frame).filter(|head| head.before_data() <= frame.len())
            else {
                return at;
            };
            if head.kind == HEADERS {
                // What is too long is the library's to refuse.
                if head.stream <= self.newest && head.length <= PAYLOAD_MAX {
                    return at;
                }
                if head.stream > self.newest {
                    self.newest = head.stream;
                    self.standing = self.standing.saturating_add(1);
                }
            }
            self.noise += u32::from(self.is_noise(head, frame));
            self.left = HEAD + head.length;
        }
    }

    /// Whether a frame moves nothing on, given what came before it.
    fn is_noise(&mut self, head: Head, frame: &[u8]) -> bool {
        if head.kind == RST_STREAM {
            // What has been given up already cannot be once more.
            let standing = self.standing.checked_sub(1);
            self.standing = standing.unwrap_or(0);
            return standing.is_none();
        }
        let padding = frame.get(HEAD..head.before_data()).unwrap_or_default();
        head.is_noise(padding.iter().map(|&count| 1 + usize::from(count)).sum())
    }

    /// Writes the frame that did not pass with our own field at its front, and says how long it was; none if
    /// not all of it is there.
    pub(super) fn mark(data: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let head = Head::read(data)?;
        let payload = data[HEAD..].get(..head.length)?;
        let Some(block) = block(head, payload) else {
            // Malformed: the library says so.
            out.extend_from_slice(&data[..HEAD + head.length]);
            return Some(HEAD + head.length);
        };
        // A change of the table's size stands before all fields.
        let (sizes, fields) = block.split_at(sizes(block));
        let first = Head {
            length: sizes.len() + MARK_FIELD.len(),
            flags: head.flags & END_STREAM,
            ..head
        };
        first.write(out);
        out.extend_from_slice(sizes);
        out.extend_from_slice(&MARK_FIELD);
        let rest = Head {
            length: fields.len(),
            kind: CONTINUATION,
            flags: head.flags & END_HEADERS,
            ..head
        };
        rest.write(out);
        out.extend_from_slice(fields);
        Some(HEAD + head.length)
    }
}

/// The block of fields in the payload of a HEADERS frame.
fn block(head: Head, payload: &[u8]) -> Option<&[u8]> {
    let mut block = payload;
    if head.has(PADDED) {
        let (&count, rest) = block.split_first()?;
        block = rest.get(..rest.len().checked_sub(usize::from(count))?)?;
    }
    if head.has(WITH_PRIORITY) {
        block = block.get(5..)?;
    }
    Some(block)
}

/// How many bytes of a block change the size of the table (RFC 7541 section 6.3).
fn sizes(block: &[u8]) -> usize {
    let mut at = 0;
    while let Some(first) = block.get(at).filter(|&&byte| byte & 0xe0 == 0x20) {
        at += 1;
        if first & 0x1f == 0x1f {
            let more = block[at..].iter().take_while(|&&byte| byte & 0x80 != 0);
            at = (at + more.count() + 1).min(block.len());
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let length = payload.len();
        let head = Head {
            length,
            kind,
            flags,
            stream,
        };
        head.write(&mut bytes);
        bytes.extend_from_slice(payload);
        bytes
    }

    fn marked(flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let bytes = frame(HEADERS, flags, 1, payload);
        assert_eq!(Watch::mark(&bytes[..bytes.len() - 1], &mut out), None);
        assert_eq!(Watch::mark(&bytes, &mut out), Some(bytes.len()));
        out
    }

    #[test]
    fn frames_pass_up_to_fields_behind_a_body_however_they_are_split() {
        let begins = [
            b"PRI".to_vec(),
            frame(HEADERS, END_HEADERS, 1, b"abc"),
            frame(DATA, 0, 1, &[7; 300]),
            frame(DATA, PADDED, 1, &[2, 7, 0, 0]),
            frame(HEADERS, END_HEADERS, 3, b"d"),
        ];
        let begins = begins.concat();
        let behind = frame(HEADERS, END_HEADERS | END_STREAM, 1, b"xyz");
        let all = [&begins[..], &behind].concat();
        assert_eq!(Watch::new(3).pass(&all), begins.len());
        for split in 0..begins.len() {
            let mut watch = Watch::new(3);
            let first = watch.pass(&all[..split]);
            assert!(first <= split && split - first <= HEAD, "{split}");
            let rest = watch.pass(&all[first..]);
            assert_eq!(first + rest, begins.len(), "{split}");
            assert_eq!(watch.noise, 0);
        }
    }

    #[test]
    fn what_asks_for_nothing_is_counted() {
        let counted = |kind, flags, payload: &[u8]| {
            let mut watch = Watch::new(0);
            let bytes = frame(kind, flags, 1, payload);
            assert_eq!(watch.pass(&bytes), bytes.len());
            watch.noise
        };
        assert_eq!(counted(DATA, 0, b""), 1);
        assert_eq!(counted(DATA, END_STREAM, b""), 0);
        assert_eq!(counted(DATA, 0, b"x"), 0);
        assert_eq!(counted(DATA, PADDED, b"\0"), 1);
        assert_eq!(counted(DATA, PADDED, b"\x03\0\0\0"), 1);
        assert_eq!(counted(DATA, PADDED, b"\x02x\0\0"), 0);
        assert_eq!(counted(DATA, PADDED | END_STREAM, b"\0"), 0);
        assert_eq!(counted(PRIORITY, 0, &[0; 5]), 1);
        assert_eq!(counted(GOAWAY, 0, &[0; 8]), 1);
        assert_eq!(
            (counted(PING, 0, &[0; 8]), counted(PING, ACK, &[0; 8])),
            (1, 1)
        );
        assert_eq!(
            (counted(SETTINGS, 0, b""), counted(SETTINGS, ACK, b"")),
            (1, 0)
        );
        assert_eq!(counted(16, 0, b"u=1"), 1);
        assert_eq!(counted(8, 0, &[0, 0, 0, 1]), 0);
    }

    #[test]
    fn a_stream_may_be_given_up_once() {
        let mut watch = Watch::new(0);
        let mut pass = |bytes: &[u8]| {
            assert_eq!(watch.pass(bytes), bytes.len());
            watch.noise
        };
        let give_up = |stream| frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]);
        for stream in [1, 3, 5] {
            assert_eq!(pass(&frame(HEADERS, END_HEADERS, stream, b"a")), 0);
            assert_eq!(pass(&give_up(stream)), 0);
        }
        assert_eq!((pass(&give_up(5)), pass(&give_up(1))), (1, 2));
    }

    #[test]
    fn a_field_of_our_own_comes_first_and_behind_changes_of_size() {
        let whole = END_HEADERS | END_STREAM;
        let expected = |sizes: &[u8], flags, rest: &[u8]| {
            let first = [sizes, &MARK_FIELD].concat();
            [
                frame(HEADERS, END_STREAM, 1, &first),
                frame(CONTINUATION, flags, 1, rest),
            ]
            .concat()
        };
        assert_eq!(
            marked(whole, b"\x82ab"),
            expected(b"", END_HEADERS, b"\x82ab")
        );
        assert_eq!(marked(END_STREAM, b"\x82"), expected(b"", 0, b"\x82"));
        let sizes = b"\x20\x3f\xe1\x1f";
        let block = [&sizes[..], b"\x82"].concat();
        assert_eq!(marked(whole, &block), expected(sizes, END_HEADERS, b"\x82"));
        let padded = b"\x02\0\0\0\0\x10\x82ab\0\0";
        let flags = whole | PADDED | WITH_PRIORITY;
        assert_eq!(marked(flags, padded), expected(b"", END_HEADERS, b"\x82ab"));
    }

    #[test]
    fn what_is_malformed_stays_as_it_is() {
        for (flags, payload) in [(PADDED, &b"\x04abc"[..]), (WITH_PRIORITY, b"abc")] {
            let bytes = frame(HEADERS, flags, 1, payload);
            assert_eq!(marked(flags, payload), bytes);
        }
        // A size without an end.
        assert_eq!(sizes(b"\x3f\xff"), 2);
    }
}
