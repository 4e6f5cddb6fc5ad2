//! The fields of a parsed head, with a note for each that does not leave as it came.

use httparse::Header;

use crate::body_decoder::BodyDecoder;
use crate::connection;
use crate::edit::Edit;
use crate::field::write_field;
use crate::field_kind::Kind;
use crate::framing::Framing;
use crate::limits::HEADERS_MAX;

const WORDS: usize = HEADERS_MAX / 64;

/// Marks fields by their place in the head.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks([u64; WORDS]);

impl Marks {
    #[inline]
    pub(crate) fn set(&mut self, index: usize) {
        self.0[index / 64] |= 1 << (index % 64);
    }

    #[inline]
    fn has(&self, index: usize) -> bool {
        self.0[index / 64] & (1 << (index % 64)) != 0
    }

    /// The marked places in rising order.
    fn iter(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(word, mut bits)| {
            std::iter::from_fn(move || {
                if bits == 0 {
                    return None;
                }
                let bit = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                Some(word * 64 + bit)
            })
        })
    }
}

/// The fields of one head and the bytes they lie in.
///
/// A field that is not marked is a canonical line (`name: value` CRLF) that passes unchanged. So a
/// copy of the head is a few runs of bytes between marked lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldTable<'s, 'b> {
    /// The head from its first line to its empty line.
    head: &'b [u8],
    list: &'s [Header<'b>],
    marks: Marks,
}

impl<'s, 'b> FieldTable<'s, 'b> {
    /// Builds the table. `note` looks at each field and says whether it must be marked.
    ///
    /// httparse takes a bare LF for a line end. It leaves no other byte than white space between a
    /// value and its line end, so looking at the two bytes before the next line is enough to refuse
    /// that.
    #[inline]
    pub(crate) fn build(
        head: &'b [u8],
        list: &'s [Header<'b>],
        mut note: impl FnMut(usize, Kind, &'s Header<'b>) -> Result<bool, &'static str>,
    ) -> Result<Self, &'static str> {
        let mut table = Self {
            head,
            list,
            marks: Marks::default(),
        };
        if !head.ends_with(b"\r\n") || !head[..table.line_start(0)].ends_with(b"\r\n") {
            return Err(BARE_LF);
        }
        let mut start = table.line_start(0);
        for (index, field) in list.iter().enumerate() {
            let next = table.line_start(index + 1);
            let value = offset(head, field.value);
            if !head[..next].ends_with(b"\r\n") {
                return Err(BARE_LF);
            }
            let name_end = start + field.name.len();
            let canonical = value == name_end + 2
                && head[name_end + 1] == b' '
                && value + field.value.len() + 2 == next;
            let marked = note(index, Kind::of(field.name), field)?;
            if marked || !canonical {
                table.marks.set(index);
            }
            start = next;
        }
        Ok(table)
    }

    pub(crate) fn list(&self) -> &'s [Header<'b>] {
        self.list
    }

    pub(crate) fn marks(&self) -> Marks {
        self.marks
    }

    /// The whole head, from its first line to its empty line.
    pub(crate) fn head(&self) -> &'b [u8] {
        self.head
    }

    /// Where the line of a field begins; for the place behind the last one, where the empty line
    /// begins.
    #[inline]
    pub(crate) fn line_start(&self, index: usize) -> usize {
        match self.list.get(index) {
            Some(field) => offset(self.head, field.name.as_bytes()),
            None => self.head.len() - 2,
        }
    }

    /// The values of all fields of one kind.
    pub(crate) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &'b [u8]> {
        self.list
            .iter()
            .filter(move |field| Kind::of(field.name) == kind)
            .map(|field| field.value)
    }

    /// Makes the decoder of the body behind this head.
    #[inline]
    pub(crate) fn body_decoder(&self, framing: Framing, nominates: bool) -> BodyDecoder {
        if nominates {
            BodyDecoder::naming(framing, self.of_kind(Kind::Connection))
        } else {
            BodyDecoder::new(framing)
        }
    }

    /// Tells whether the sender's Connection fields name this one.
    fn nominated(&self, name: &str) -> bool {
        self.of_kind(Kind::Connection).any(|value| {
            connection::options(value).any(|o| o.eq_ignore_ascii_case(name.as_bytes()))
        })
    }

    /// Tells whether a field has no rule of its own and is not named by the sender's Connection
    /// fields.
    pub(crate) fn passes(&self, name: &str, nominates: bool) -> bool {
        Kind::of(name) == Kind::Plain && !(nominates && self.nominated(name))
    }

    /// Appends the head from `start` to its last field, in the form in which it is passed on.
    ///
    /// `special` writes (or does not) each field that has a rule of its own.
    #[inline]
    pub(crate) fn copy(
        &self,
        start: usize,
        rules: &CopyRules<'_>,
        out: &mut Vec<u8>,
        mut special: impl FnMut(Kind, &Header<'b>, &mut Vec<u8>),
    ) {
        if rules.nominates || rules.edit.takes_away() || rules.replaced.is_some() {
            return self.copy_each(start, rules, out, special);
        }
        let mut run = start;
        for index in rules.marks.iter() {
            let field = &self.list[index];
            out.extend_from_slice(&self.head[run..self.line_start(index)]);
            match Kind::of(field.name) {
                Kind::Plain => write_field(field.name, field.value, out),
                kind => special(kind, field, out),
            }
            run = self.line_start(index + 1);
        }
        out.extend_from_slice(&self.head[run..self.head.len() - 2]);
    }

    /// The same, for a head in which any field may have to go.
    #[cold]
    fn copy_each(
        &self,
        start: usize,
        rules: &CopyRules<'_>,
        out: &mut Vec<u8>,
        mut special: impl FnMut(Kind, &Header<'b>, &mut Vec<u8>),
    ) {
        out.extend_from_slice(&self.head[start..self.line_start(0)]);
        for (index, field) in self.list.iter().enumerate() {
            let kind = Kind::of(field.name);
            if rules.nominates && !rules.kept.contains(&kind) && self.nominated(field.name) {
                continue;
            }
            match kind {
                Kind::Plain if rules.drops(field.name) => {}
                Kind::Plain => write_field(field.name, field.value, out),
                kind if rules.marks.has(index) => special(kind, field, out),
                _ => write_field(field.name, field.value, out),
            }
        }
    }
}

/// What takes fields away while a head is copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyRules<'a> {
    /// The fields that are not to be copied as they are.
    pub(crate) marks: Marks,
    /// The sender's Connection fields name others.
    pub(crate) nominates: bool,
    /// What they cannot name away.
    pub(crate) kept: &'static [Kind],
    /// What the operator asked for.
    pub(crate) edit: &'a Edit<'a>,
    /// A field without a rule of its own that another one stands in for.
    pub(crate) replaced: Option<&'static str>,
}

impl CopyRules<'_> {
    /// Tells whether a field without a rule of its own does not pass.
    fn drops(&self, name: &str) -> bool {
        let is_replaced = |other: &str| other.eq_ignore_ascii_case(name);
        self.replaced.is_some_and(is_replaced) || self.edit.drops(name)
    }

    /// Appends the fields that the operator asked for.
    pub(crate) fn write_additions(&self, out: &mut Vec<u8>) {
        for (name, value) in self.edit.additions() {
            if Kind::of(name) == Kind::Plain {
                write_field(name, value.as_bytes(), out);
            }
        }
    }
}

const BARE_LF: &str = "line ends without CR";

/// Where a part of a buffer begins in it.
#[inline]
fn offset(buffer: &[u8], part: &[u8]) -> usize {
    part.as_ptr().addr() - buffer.as_ptr().addr()
}
