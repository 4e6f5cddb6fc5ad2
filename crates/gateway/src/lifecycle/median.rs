//! Keeps snapshots up to date with how long endpoints take to answer.
//!
//! What a failure weighs fades in ten median latencies, and a snapshot carries the median of when it was
//! built. Where endpoints stay the same nobody else would build another one.

use std::time::Duration;

use evenkeel_core::Published;

use super::plan::Plan;
use crate::clock::Clock;

/// How often it is looked at how much endpoints take at once, and what of the past can be freed.
const LIMITS: Duration = Duration::from_secs(1);

/// Learns how much the endpoints of all clusters take at once, where that is to be learned, and frees old versions of
/// them, on and on.
pub(super) async fn follow_limits(plan: &Published<Plan>, clock: Clock) {
    loop {
        tokio::time::sleep(LIMITS).await;
        for cluster in &plan.load().clusters {
            cluster.follow_limits(clock.now());
            cluster.free_retired();
        }
    }
}

/// How often the medians are looked at.
const INTERVAL: Duration = Duration::from_secs(5);

/// Follows the medians of all clusters, on and on.
pub(super) async fn follow_medians(plan: &Published<Plan>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        for cluster in &plan.load().clusters {
            cluster.follow_median();
        }
    }
}
