//! Loads that no balancer can help: said, and run all the same.

use evenkeel_config::{Arrivals, Scenario, Source};

use crate::world::World;

/// Says in a line that more is offered than all backends together can serve, if it is so.
///
/// # Examples
///
/// ```
/// use evenkeel_config::{Environment, parse_scenario};
///
/// let text = "[load]\nrate = 15000\n[[backend]]\ncount = 6\nservice = \"30ms\"\nconcurrency = 64\n";
/// let (scenario, _) = parse_scenario("six", text, &Environment::empty());
/// let said = evenkeel_sim::impossible_load(&scenario.expect("no mistakes"), 1).expect("too much");
/// assert_eq!(said, "offered 15000/s, capacity 12800/s: queues grow without bound");
/// ```
#[must_use]
pub fn impossible_load(scenario: &Scenario, seed: u64) -> Option<String> {
    let Source::Open { arrivals, stages } = &scenario.load.source else {
        return None;
    };
    let most = stages.iter().map(|stage| stage.rate).fold(0.0, f64::max);
    let offered = match arrivals {
        Arrivals::Trace(trace) => {
            let span = trace.last()?.at.saturating_sub(trace.first()?.at);
            trace.len() as f64 * 1e9 / span.max(1) as f64
        }
        Arrivals::Batch(count, every) => f64::from(*count) / every.as_secs_f64(),
        _ => most,
    };
    let world = World::new(scenario, seed);
    let (capacity, group) = world.capacity()?;
    if offered <= capacity {
        return None;
    }
    let bounded = scenario
        .backends
        .iter()
        .all(|backend| backend.queue.is_some());
    let then = match bounded {
        true => "the rest is refused",
        false => "queues grow without bound",
    };
    let of = match world.groups.len() {
        1 => String::new(),
        _ => format!(" of {group:?}"),
    };
    Some(format!(
        "offered {offered:.0}/s, capacity{of} {capacity:.0}/s: {then}"
    ))
}
