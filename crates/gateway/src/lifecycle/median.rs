//! Keeps snapshots up to date with how long endpoints take to answer.
//!
//! What a failure weighs fades in ten median latencies, and a snapshot carries the median of when it was
//! built. Where endpoints stay the same nobody else would build another one.

use std::time::Duration;

use evenkeel_core::Published;

use super::plan::Plan;

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
