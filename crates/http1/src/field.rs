//! One field of a head, and a walk over all of them.

use std::slice;

/// One field as it was received: no case changed, nothing merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'b> {
    /// The name, a token in the sender's case.
    pub name: &'b str,
    /// The value without the white space around it. Visible ASCII, spaces, tabs and bytes above
    /// 0x7f.
    pub value: &'b [u8],
}

impl Field<'_> {
    /// Tells whether this is the field `name`, in any case.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// Walks over the fields of a head in the order of their arrival.
#[derive(Clone, Debug)]
pub struct Fields<'s, 'b> {
    inner: slice::Iter<'s, httparse::Header<'b>>,
}

impl<'s, 'b> Fields<'s, 'b> {
    pub(crate) fn new(list: &'s [httparse::Header<'b>]) -> Self {
        Self { inner: list.iter() }
    }
}

impl<'b> Iterator for Fields<'_, 'b> {
    type Item = Field<'b>;

    fn next(&mut self) -> Option<Field<'b>> {
        self.inner.next().map(|field| Field {
            name: field.name,
            value: field.value,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.inner.size_hint()
    }
}

impl ExactSizeIterator for Fields<'_, '_> {}

impl<'b> DoubleEndedIterator for Fields<'_, 'b> {
    fn next_back(&mut self) -> Option<Field<'b>> {
        self.inner.next_back().map(|field| Field {
            name: field.name,
            value: field.value,
        })
    }
}

/// Appends one field line in the canonical form: one space after the colon, none at the end.
#[inline]
pub(crate) fn write_field(name: &str, value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Appends a field line whose name is known: `start` is the name, a colon and a space.
///
/// Inlined, so that what is known is stored and not copied.
#[inline(always)]
pub(crate) fn write_known(start: &'static [u8], value: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(start);
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Appends a number in decimal.
pub(crate) fn write_number(mut number: u64, out: &mut Vec<u8>) {
    // u64::MAX has 20 digits.
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
