//! Cutting an input into the pieces in which a network could bring it.

/// How an input is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Not at all.
    Whole,
    /// Into single bytes.
    Bytes,
    /// Into two pieces, the first of this length.
    At(usize),
    /// Into pieces of one to sixteen bytes, told by this seed.
    Seeded(u8),
}

/// The pieces of an input, in order; none is empty.
pub(super) fn pieces(bytes: &[u8], cut: Cut) -> impl Iterator<Item = &[u8]> {
    let mut state = match cut {
        Cut::Seeded(seed) => u32::from(seed) * 2 + 1,
        _ => 1,
    };
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let len = match cut {
            Cut::Whole => rest.len(),
            Cut::Bytes => 1,
            Cut::At(place) if rest.len() == bytes.len() => place.max(1),
            Cut::At(_) => rest.len(),
            Cut::Seeded(_) => {
                // The constants of Numerical Recipes; any generator would do.
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 28) as usize + 1
            }
        };
        let (piece, behind) = rest.split_at(len.min(rest.len()));
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}
