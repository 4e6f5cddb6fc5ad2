//! What is said is the multiplier: whoever says it has done the sums.
//!
//! Source: HAProxy's configuration manual, `agent-check`: a percentage is one of the configured weight.

use super::track::Track;

/// One step over the endpoints of a tier. There is nothing to damp, as nothing is compared.
pub(super) fn follow(tracks: &mut [&mut Track]) {
    for track in tracks {
        if let Some(said) = track.said() {
            track.x = said;
        }
    }
}
