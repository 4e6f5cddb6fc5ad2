//! Extreme inputs.

use evenkeel_core::strategy::Place;
use evenkeel_core::{NoEndpoint, Picker, PickerSeed};

use super::cluster::{Run, cluster};
use super::{Law, Subject, Verdict, ensure, nobody};

/// No weights, sizes or cursors make a pick panic.
pub const NO_INPUT_PANICS: Law = Law {
    name: "no_input_panics",
    says: "whatever the weights, sizes and places in the schedule, a pick ends in a choice, or in an \
           error when nobody has a weight",
    exempt: nobody,
    holds: no_input_panics,
};

const SIZES: [usize; 7] = [0, 1, 2, 3, 5, 7, 1_000];

/// The start, the end, next to it, beyond it (case A09).
const PLACES: [Place; 6] = [
    Place::START,
    Place::new(u64::MAX - 3, u64::MAX),
    Place::new(u64::MAX - 1, u64::MAX),
    Place::new(u64::MAX, 1),
    Place::new(u32::MAX as u64 - 3, 1 << 32),
    Place::new(0, 0),
];

fn no_input_panics(subject: &Subject) -> Verdict {
    let weight_lists: [fn(usize) -> u16; 5] = [
        |_| 0,
        |_| 1,
        |_| u16::MAX,
        |at| [0, 1, u16::MAX][at % 3],
        |at| if at == 0 { u16::MAX } else { 1 },
    ];
    for size in SIZES {
        for weight in weight_lists {
            let weights: Vec<u16> = (0..size).map(weight).collect();
            for place in PLACES {
                picks_or_says_why(subject, &weights, place)?;
            }
        }
    }
    Ok(())
}

fn picks_or_says_why(subject: &Subject, weights: &[u16], place: Place) -> Verdict {
    let snapshot = cluster(subject, weights).snapshot();
    let seed = PickerSeed { root: 9, picker: 0 };
    let mut run = Run::with(Picker::starting_at(seed, place), 9);
    let expected = if weights.is_empty() {
        Some(NoEndpoint::Empty)
    } else if weights.iter().all(|weight| *weight == 0) {
        Some(NoEndpoint::NoneInService)
    } else {
        None
    };
    for _ in 0..20 {
        let ctx = run.next_context();
        let refused = run.picker().pick(&snapshot, &ctx).err();
        ensure!(
            refused == expected,
            "{refused:?} for {} endpoints from {place:?} on",
            weights.len()
        );
    }
    Ok(())
}
