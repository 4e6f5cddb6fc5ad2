//! What was heard of an endpoint in a period.

use crate::endpoint::Serial;

/// What was heard of an endpoint.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Signal, SignalSum};
///
/// let mut sum = SignalSum::default();
/// sum.add(Signal { value: 0.2, rps: 10.0, eps: 0.0 });
/// sum.add(Signal { value: 0.4, rps: 30.0, eps: 0.0 });
/// let mean = sum.take().expect("two of them");
/// assert!((mean.value - 0.3).abs() < 1e-9);
/// assert!(sum.is_empty());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signal {
    /// How busy it is, 1 being all that it can do; for [`super::WeightLaw::Latency`] how long it takes, in
    /// any unit. What is not above 0 says nothing.
    pub value: f64,
    /// Requests a second.
    pub rps: f64,
    /// Errors a second.
    pub eps: f64,
}

impl Signal {
    /// Errors for each request; with errors and no requests, 1.
    pub(super) fn error_share(self) -> f64 {
        if self.eps <= 0.0 {
            0.0
        } else if self.rps > 0.0 {
            self.eps / self.rps
        } else {
            1.0
        }
    }
}

/// What is known of an endpoint at a step.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{DynamicWeights, Nanos, Observation, Serial, Signal, WeightMemory, WeightRules};
///
/// let mut weights = DynamicWeights::new(WeightRules::default());
/// let signal = Signal { value: 0.5, rps: 100.0, eps: 0.0 };
/// let heard = Observation { serial: Serial(1), tier: 0, weight: 1, signal: Some(signal) };
/// weights.step(Nanos::from_secs(1), &[heard]);
/// let memory: Option<WeightMemory> = weights.remember(Serial(1));
/// assert!(memory.is_some());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Whose it is.
    pub serial: Serial,
    /// Its tier: only endpoints of one tier are compared.
    pub tier: u8,
    /// Its configured weight.
    pub weight: u16,
    /// What was heard since the last step; none: nothing.
    pub signal: Option<Signal>,
}

/// Adds up what is heard in a period.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Signal, SignalSum};
///
/// let mut sum = SignalSum::default();
/// sum.add(Signal { value: 0.2, rps: 10.0, eps: 0.0 });
/// sum.add(Signal { value: 0.4, rps: 30.0, eps: 0.0 });
/// let mean = sum.take().expect("two of them");
/// assert!((mean.value - 0.3).abs() < 1e-9);
/// assert!(sum.is_empty());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SignalSum {
    sum: Signal,
    count: u32,
}

impl SignalSum {
    /// Takes in one signal.
    #[inline]
    pub fn add(&mut self, signal: Signal) {
        self.merge(Self {
            sum: signal,
            count: 1,
        });
    }

    /// Takes in what another one has heard.
    pub fn merge(&mut self, other: Self) {
        self.sum.value += other.sum.value;
        self.sum.rps += other.sum.rps;
        self.sum.eps += other.sum.eps;
        self.count = self.count.saturating_add(other.count);
    }

    /// Whether nothing was heard.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The mean of what was heard, and starts anew.
    pub fn take(&mut self) -> Option<Signal> {
        let Self { sum, count } = std::mem::take(self);
        let count = f64::from(count);
        (count > 0.0).then(|| Signal {
            value: sum.value / count,
            rps: sum.rps / count,
            eps: sum.eps / count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_a_share_of_requests() {
        let share = |rps, eps| {
            Signal {
                value: 1.0,
                rps,
                eps,
            }
            .error_share()
        };
        assert_eq!(
            [share(10.0, 2.0), share(10.0, 0.0), share(0.0, 3.0)],
            [0.2, 0.0, 1.0]
        );
    }

    #[test]
    fn the_mean_is_taken_once() {
        let mut sum = SignalSum::default();
        assert_eq!(sum.take(), None);
        for value in [1.0, 2.0] {
            let (rps, eps) = (10.0 * value, 0.0);
            sum.add(Signal { value, rps, eps });
        }
        let mean = Signal {
            value: 1.5,
            rps: 15.0,
            eps: 0.0,
        };
        assert_eq!((sum.take(), sum.is_empty()), (Some(mean), true));
    }
}
