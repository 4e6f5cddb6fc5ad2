//! As much of protocol buffers as reports need: doubles, integers, and maps from texts to doubles.

use super::BadReport;

/// Longer keys than this are none that we know.
const KEY_MAX: usize = 16;

const CUT: BadReport = BadReport("the protocol buffer is cut short");
const MALFORMED: BadReport = BadReport("it is not a protocol buffer");

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Field {
    /// A `double`.
    Double(f64),
    /// An integer.
    Integer(u64),
    /// An entry of a map from texts to doubles.
    Entry(Key, f64),
    /// Something else.
    Other,
}

/// The key of an entry, empty when it is too long to be known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Key {
    bytes: [u8; KEY_MAX],
    length: usize,
}

impl Key {
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// Bytes that may turn out to be none.
pub(super) trait Bytes: Iterator<Item = Result<u8, BadReport>> {}

impl<T: Iterator<Item = Result<u8, BadReport>>> Bytes for T {}

/// Walks over the fields of a message to the end of `bytes`.
pub(super) fn message(
    bytes: &mut impl Bytes,
    mut each: impl FnMut(u64, Field) -> Result<(), BadReport>,
) -> Result<(), BadReport> {
    while let Some(tag) = tag(bytes)? {
        let field = match tag & 7 {
            0 => Field::Integer(varint(bytes)?),
            1 => Field::Double(double(bytes)?),
            2 => entry(bytes)?,
            5 => {
                skip(bytes, 4)?;
                Field::Other
            }
            _ => return Err(MALFORMED),
        };
        each(tag >> 3, field)?;
    }
    Ok(())
}

/// The tag of the next field, if there is one.
fn tag(bytes: &mut impl Bytes) -> Result<Option<u64>, BadReport> {
    match bytes.next() {
        None => Ok(None),
        Some(first) => varint_from(first?, bytes).map(Some),
    }
}

/// A field of some length, which may be an entry of a map.
fn entry(bytes: &mut impl Bytes) -> Result<Field, BadReport> {
    let mut left = length(bytes)?;
    let mut failed = None;
    let mut part = std::iter::from_fn(|| {
        left = left.checked_sub(1)?;
        let byte = bytes.next().unwrap_or(Err(CUT));
        failed = failed.or(byte.err());
        Some(byte)
    });
    let entry = read_entry(&mut part);
    // What is no entry is another message, or a text: its end is known all the same.
    part.take_while(Result::is_ok).for_each(drop);
    match (failed, entry) {
        (Some(error), _) => Err(error),
        (None, Ok(Some((key, value)))) => Ok(Field::Entry(key, value)),
        (None, _) => Ok(Field::Other),
    }
}

fn read_entry(bytes: &mut impl Bytes) -> Result<Option<(Key, f64)>, BadReport> {
    let (mut key, mut value) = (Key::default(), 0.0);
    while let Some(tag) = tag(bytes)? {
        match tag {
            // Field 1, a text.
            0x0A => key = read_key(bytes)?,
            // Field 2, a double.
            0x11 => value = double(bytes)?,
            _ => return Ok(None),
        }
    }
    Ok(Some((key, value)))
}

fn read_key(bytes: &mut impl Bytes) -> Result<Key, BadReport> {
    let length = length(bytes)?;
    if length > KEY_MAX {
        skip(bytes, length)?;
        return Ok(Key::default());
    }
    let mut key = Key {
        length,
        ..Key::default()
    };
    for slot in &mut key.bytes[..length] {
        *slot = next(bytes)?;
    }
    Ok(key)
}

fn next(bytes: &mut impl Bytes) -> Result<u8, BadReport> {
    bytes.next().unwrap_or(Err(CUT))
}

fn skip(bytes: &mut impl Bytes, count: usize) -> Result<(), BadReport> {
    for _ in 0..count {
        next(bytes)?;
    }
    Ok(())
}

fn double(bytes: &mut impl Bytes) -> Result<f64, BadReport> {
    let mut word = [0; 8];
    for slot in &mut word {
        *slot = next(bytes)?;
    }
    Ok(f64::from_le_bytes(word))
}

fn length(bytes: &mut impl Bytes) -> Result<usize, BadReport> {
    usize::try_from(varint(bytes)?).map_err(|_| CUT)
}

fn varint(bytes: &mut impl Bytes) -> Result<u64, BadReport> {
    let first = next(bytes)?;
    varint_from(first, bytes)
}

fn varint_from(first: u8, bytes: &mut impl Bytes) -> Result<u64, BadReport> {
    let (mut value, mut byte) = (0, first);
    for shift in (0..64).step_by(7) {
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
        byte = next(bytes)?;
    }
    Err(MALFORMED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8]) -> Result<Vec<(u64, Field)>, BadReport> {
        let mut found = Vec::new();
        message(&mut bytes.iter().map(|byte| Ok(*byte)), |number, field| {
            found.push((number, field));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn fields_of_all_kinds_are_stepped_over() {
        // A varint of 300, four bytes, a text that is no entry, an entry with a long key, an integer.
        let bytes = [
            &[0x08, 0xAC, 0x02, 0x15, 1, 2, 3, 4, 0x1A, 3][..],
            b"abc",
            &[0x22, 20, 0x0A, 18],
            b"a_long_name_of_one",
            &[0x28, 7],
        ]
        .concat();
        let found = fields(&bytes).expect("well-formed");
        assert_eq!(found[0], (1, Field::Integer(300)));
        assert_eq!(found[1], (2, Field::Other));
        assert_eq!(found[2], (3, Field::Other));
        assert!(
            matches!(&found[3], (4, Field::Entry(key, 0.0)) if key.as_bytes().is_empty()),
            "{found:?}"
        );
        assert_eq!(found[4], (5, Field::Integer(7)));
    }

    #[test]
    fn what_is_cut_or_malformed_is_refused() {
        for bytes in [
            &[0x08][..],
            &[0x09, 0, 0],
            &[0x1A, 3, 1],
            &[0x1A, 3, 1, 2],
            // A length beyond all bytes, and beyond the address space.
            &[0x1A, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
            &[0x1A, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
            // A group, and a varint that does not end.
            &[0x0B],
            &[
                0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1,
            ],
        ] {
            assert!(fields(bytes).is_err(), "{bytes:?}");
        }
    }
}
