//! Requests a second over utilization: what an endpoint could take, whatever it takes now.
//!
//! Source: gRFC A58 and A114, grpc-go's `weighted_round_robin` and Envoy's `orca_weight_manager.cc`. Where
//! utilization is linear in load the quotient does not depend on the load, so that there is no loop that
//! could swing; the average is against noise alone. Those that said nothing yet count as the mean.

use super::track::{Track, exp, share_of_the_way};
use crate::clock::Nanos;
use crate::math::ln::ln;

/// The time constant of the average over capacities, in seconds: of reports that are off by a tenth it leaves 3.8 %,
/// where the 2 s of the damped law would leave 5 %.
const SMOOTHING: f64 = 3.5;

/// How far from the mean a weight may lie, as a factor.
const APART_MAX: f64 = 10.0;

/// One step of the law over the endpoints of a tier.
pub(super) fn follow(tracks: &mut [&mut Track], span: Nanos) {
    let way = share_of_the_way(span, SMOOTHING);
    for track in tracks.iter_mut() {
        let Some(capacity) = track.fresh().map(exp) else {
            continue;
        };
        let before = track.smooth.unwrap_or(capacity);
        track.smooth = Some(before + way * (capacity - before));
    }
    let known = || {
        tracks
            .iter()
            .filter_map(|track| Some((track.weight, track.smooth?)))
    };
    let weights: f64 = known().map(|(weight, _)| weight).sum();
    if weights <= 0.0 {
        return;
    }
    let capacity: f64 = known().map(|(weight, capacity)| weight * capacity).sum();
    let mean = capacity / weights;
    for track in tracks.iter_mut() {
        let Some(capacity) = track.smooth.filter(|_| track.is_usable) else {
            continue;
        };
        let apart = (capacity / mean).clamp(1.0 / APART_MAX, APART_MAX);
        track.x = ln(apart);
    }
}
