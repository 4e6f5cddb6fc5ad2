//! The damped law: each multiplier moves a little against its endpoint's distance from the median.
//!
//! With utilization as signal its elasticity is 1: a share that grows by a tenth makes an endpoint busier by
//! a tenth. The gain of 0.09 a second over an average of 2 s neither swings nor overshoots by a tenth with reports
//! that are up to five seconds old; `obligations.rs` shows it. With 0.1 it would overshoot by 15 %.

use crate::clock::Nanos;

use super::track::{Track, seconds, share_of_the_way};

/// How a damped law is tuned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    /// How much of the error a multiplier moves by in a second.
    pub(super) gain: f64,
    /// What the logarithm of the signal is scaled by.
    pub(super) compressed: f64,
}

/// For utilization.
pub(super) const PLAIN: Tuning = Tuning {
    gain: 0.09,
    compressed: 1.0,
};

/// The time constant of the average over errors, in seconds.
const SMOOTHING: f64 = 2.0;

/// Errors count for no more than this, up or down.
const ERROR_MAX: f64 = 1.0;

/// Errors below this are none.
const DEAD_BAND: f64 = 0.05;

/// A multiplier moves by no more than this in a second.
const MOVE_MAX: f64 = 0.1;

/// The logarithms of the least and the largest multiplier: a tenth keeps reports flowing, twice bounds
/// what an endpoint can draw to itself by what it says.
const X_MIN: f64 = -std::f64::consts::LN_10;
const X_MAX: f64 = std::f64::consts::LN_2;

/// One step of the law over the endpoints of a tier.
pub(super) fn follow(tracks: &mut [&mut Track], span: Nanos, now: Nanos, tuning: Tuning) {
    let known = tracks.iter().filter_map(|track| track.recent(now));
    let Some(reference) = median(known.collect()) else {
        return;
    };
    let way = share_of_the_way(span, SMOOTHING);
    // A step of more than a second is not made larger by that: its news is older.
    let pace = seconds(span).min(1.0);
    let step = |track: &Track| {
        let step = tuning.gain * track.smooth.unwrap_or(0.0);
        -step.clamp(-MOVE_MAX, MOVE_MAX) * pace
    };
    let (mut weights, mut moved) = (0.0, 0.0);
    for track in tracks.iter_mut() {
        let Some(signal) = track.fresh() else {
            continue;
        };
        let error = tuning.compressed * (signal - reference);
        let error = error.clamp(-ERROR_MAX, ERROR_MAX);
        let error = if error.abs() < DEAD_BAND { 0.0 } else { error };
        let before = track.smooth.unwrap_or(0.0);
        track.smooth = Some(before + way * (error - before));
        weights += track.weight;
        moved += track.weight * step(track);
    }
    if weights <= 0.0 {
        return;
    }
    // Their weighted mean stays where it is: else all of them could drift to a bound.
    let drift = moved / weights;
    for track in tracks.iter_mut().filter(|track| track.fresh().is_some()) {
        track.x = (track.x + step(track) - drift).clamp(X_MIN, X_MAX);
    }
}

/// The median of logarithms; of an even number, what lies between the middle two.
fn median(mut known: Vec<f64>) -> Option<f64> {
    known.sort_unstable_by(f64::total_cmp);
    let middle = known.len() / 2;
    let upper = *known.get(middle)?;
    if known.len() % 2 == 1 {
        return Some(upper);
    }
    Some((known[middle - 1] + upper) / 2.0)
}
