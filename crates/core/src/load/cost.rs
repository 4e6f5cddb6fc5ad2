//! What a request would cost at an endpoint.

use crate::clock::Nanos;
use crate::load::Load;

/// Latency times load over weight: how long an endpoint takes to answer, times the requests that would
/// be in flight there with one more, for each unit of weight.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Cost, Nanos, strategy::{Inputs, Reading}};
///
/// /// What one more request would cost at an endpoint, taken to answer in 10 ms if nothing is known of it.
/// fn cost(index: u32, inputs: &mut Inputs<'_>) -> Cost {
///     let reading: Reading = inputs.read(index);
///     inputs.cost(index, reading, Nanos::from_millis(10))
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Latency in microseconds times load in 1/256 of a request.
    pub(crate) value: u64,
    /// In 1/256.
    pub(crate) weight: u32,
}

/// One request, in the unit of loads.
const REQUEST: u64 = 256;

impl Cost {
    /// The cost at an endpoint of that latency, load and weight. Below a microsecond latencies do not
    /// differ.
    #[inline]
    pub(crate) fn new(latency: Nanos, load: Load, weight: u32) -> Self {
        // 30 s are below 2^25 us and a load below 2^33.
        let latency = (latency.0 / 1_000).clamp(1, 1 << 30);
        Self {
            value: latency * (load.total() + REQUEST),
            weight: weight.max(1),
        }
    }

    /// Whether this is below `part` / 1024 of the other, without dividing.
    #[inline]
    pub(crate) fn is_below(self, other: Self, part: u64) -> bool {
        let scaled = |cost: Self, weight: u32, part: u64| {
            u128::from(cost.value) * u128::from(u64::from(weight) * part)
        };
        scaled(self, other.weight, 1024) < scaled(other, self.weight, part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(latency_ms: u64, in_flight: u32, weight: u32) -> Cost {
        let load = Load {
            in_flight,
            penalty: 0,
        };
        Cost::new(Nanos::from_millis(latency_ms), load, weight)
    }

    /// Of two with equal load the one that answers in 10 ms must win, not the one in 100 ms.
    #[test]
    fn the_faster_is_cheaper() {
        assert!(cost(10, 0, 256).is_below(cost(100, 0, 256), 1024));
        assert!(!cost(100, 0, 256).is_below(cost(10, 0, 256), 1024));
        assert!(cost(10, 4, 256).is_below(cost(10, 5, 256), 1024));
        assert!(!cost(10, 4, 256).is_below(cost(10, 4, 256), 1024));
        assert!(cost(10, 5, 512).is_below(cost(10, 3, 256), 1024));
    }

    #[test]
    fn close_costs_are_not_below_a_part() {
        assert!(!cost(90, 0, 256).is_below(cost(100, 0, 256), 870));
        assert!(cost(80, 0, 256).is_below(cost(100, 0, 256), 870));
    }

    #[test]
    fn the_extremes_fit() {
        let worst = Cost::new(
            Nanos(u64::MAX),
            Load {
                in_flight: u32::MAX,
                penalty: u32::MAX,
            },
            1,
        );
        let best = Cost::new(Nanos(0), Load::default(), u32::MAX);
        assert!(best.is_below(worst, 1024) && !worst.is_below(best, 1024));
    }
}
