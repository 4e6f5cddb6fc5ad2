//! The damped law on latencies.
//!
//! The latency of a queue rises without bound as it fills: at 90 % a share that grows by a hundredth makes
//! answers slower by nine. Compressed to the fourth root the loop is stable up to 95 % with a gain of 0.04; with
//! 0.027 it does not overshoot by a tenth either, with reports that are five seconds old, as it would with 0.028; and
//! at 90 % and more a step is over in 40 s. Slow where an endpoint has little to do, since there latencies hardly
//! differ.

use super::track::Track;
use super::utilization::{self, Tuning};
use crate::clock::Nanos;

/// The fourth root, and a gain that it stays stable with.
const COMPRESSED: Tuning = Tuning {
    gain: 0.027,
    compressed: 0.25,
};

/// One step of the law over the endpoints of a tier.
pub(super) fn follow(tracks: &mut [&mut Track], span: Nanos, now: Nanos) {
    utilization::follow(tracks, span, now, COMPRESSED);
}
