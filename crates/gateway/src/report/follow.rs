//! The control side's pulse for weights that follow.

use std::time::Duration;

use evenkeel_core::Published;

use crate::clock::Clock;
use crate::lifecycle::Plan;

/// How often clusters are asked whether it is time: the shortest interval that can be configured.
const TICK: Duration = Duration::from_millis(100);

/// Works out the weights of all clusters that have weights which follow, on and on.
pub(crate) async fn follow_weights(plan: &Published<Plan>, clock: Clock) {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        for cluster in &plan.load().clusters {
            cluster.weigh(clock.now());
        }
    }
}
