//! What an endpoint's law of service is, as far as a log tells.

use super::log::Try;
use crate::chance::Sampler;

/// So many observations are kept of an endpoint, evenly over all of them by size.
const KEPT: usize = 4_096;

/// An endpoint waits in line if what came at its busiest took so many times as long as at its quietest.
const WAITS: f64 = 1.25;

/// Fewer tries than this say little.
const TRIES_MIN: usize = 200;

/// An endpoint as far as a log tells.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    pub(super) service: Sampler,
    /// Requests it serves at once; none: no limit was seen.
    pub(super) slots: Option<f64>,
    /// The share of its answers that are errors.
    pub(super) errors: f64,
    /// How long those take, in milliseconds.
    pub(super) error_ms: f64,
    /// The most requests that were in it at once.
    pub(super) most: u32,
    pub(super) warnings: Vec<String>,
}

impl Fit {
    /// Fits what was seen of an endpoint. Nothing when none of its tries succeeded.
    pub(super) fn of(id: &str, tries: &[Try]) -> Option<Self> {
        let crowd = crowd(tries);
        let good: Vec<(u32, f64)> = tries
            .iter()
            .zip(&crowd)
            .filter(|(tried, _)| !tried.failed)
            .map(|(tried, crowd)| (*crowd, tried.took_ms))
            .collect();
        if good.is_empty() {
            return None;
        }
        let bad: Vec<f64> = tries
            .iter()
            .filter(|t| t.failed)
            .map(|t| t.took_ms)
            .collect();
        let mut warnings = Vec::new();
        if good.len() < TRIES_MIN {
            warnings.push(format!(
                "{id} has {} good answers: too few to know the tail of its latency",
                good.len()
            ));
        }
        let slots = slots(&good);
        let quiet = quantile_of(
            good.iter().map(|(crowd, _)| f64::from(*crowd)).collect(),
            0.5,
        );
        let of_service: Vec<f64> = match slots {
            // Where requests wait, only those that came at a quiet moment show the work alone.
            Some(_) => good
                .iter()
                .filter(|(crowd, _)| f64::from(*crowd) <= quiet)
                .map(|(_, ms)| *ms)
                .collect(),
            None => good.iter().map(|(_, ms)| *ms).collect(),
        };
        Some(Self {
            service: observed(of_service),
            slots,
            errors: bad.len() as f64 / tries.len() as f64,
            error_ms: bad.iter().sum::<f64>() / bad.len().max(1) as f64,
            most: crowd.iter().copied().max().unwrap_or(0),
            warnings,
        })
    }
}

/// For each try how many others were in the endpoint when it came.
fn crowd(tries: &[Try]) -> Vec<u32> {
    let mut ends: std::collections::BinaryHeap<std::cmp::Reverse<u64>> =
        std::collections::BinaryHeap::new();
    let mut sorted: Vec<(usize, &Try)> = tries.iter().enumerate().collect();
    sorted.sort_by_key(|(_, tried)| tried.at);
    let mut crowd = vec![0; tries.len()];
    for (index, tried) in sorted {
        while ends.peek().is_some_and(|end| end.0 <= tried.at) {
            ends.pop();
        }
        crowd[index] = ends.len() as u32;
        ends.push(std::cmp::Reverse(tried.at + (tried.took_ms * 1e6) as u64));
    }
    crowd
}

/// How many requests an endpoint serves at once, if what came to a crowd waited: n that share c slots take n / c
/// times as long.
fn slots(good: &[(u32, f64)]) -> Option<f64> {
    let crowds: Vec<f64> = good.iter().map(|(crowd, _)| f64::from(*crowd)).collect();
    let (low, high) = (quantile_of(crowds.clone(), 0.5), quantile_of(crowds, 0.9));
    if high < low + 1.0 {
        return None;
    }
    let mean = |keep: &dyn Fn(f64) -> bool| {
        let kept: Vec<(u32, f64)> = good
            .iter()
            .copied()
            .filter(|(crowd, _)| keep(f64::from(*crowd)))
            .collect();
        let n = kept.len().max(1) as f64;
        let crowd = kept.iter().map(|(crowd, _)| f64::from(*crowd)).sum::<f64>() / n;
        let took = kept.iter().map(|(_, ms)| ms).sum::<f64>() / n;
        (crowd, took)
    };
    let (_, quiet) = mean(&|crowd| crowd <= low);
    let (crowd, busy) = mean(&|crowd| crowd >= high);
    if quiet <= 0.0 || busy < quiet * WAITS {
        return None;
    }
    Some(((crowd + 1.0) * quiet / busy).round().max(1.0))
}

fn quantile_of(mut all: Vec<f64>, share: f64) -> f64 {
    all.sort_by(f64::total_cmp);
    let at = (share * (all.len() as f64 - 1.0)) as usize;
    all.get(at).copied().unwrap_or(0.0)
}

/// The times themselves, thinned evenly where there are many.
fn observed(mut ms: Vec<f64>) -> Sampler {
    ms.sort_by(f64::total_cmp);
    let n = ms.len();
    let kept = n.min(KEPT);
    let pick = |k: usize| ms[k * (n - 1) / (kept - 1).max(1)] * 1e6;
    Sampler::Observed((0..kept).map(pick).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(at_ms: u64, took_ms: f64) -> Try {
        Try {
            at: at_ms * 1_000_000,
            took_ms,
            failed: false,
        }
    }

    #[test]
    fn an_endpoint_that_takes_any_number_has_no_slots() {
        let tries: Vec<Try> = (0..1000)
            .map(|n| tried(n * 3, 10.0 + (n % 5) as f64))
            .collect();
        let fit = Fit::of("a", &tries).expect("answers");
        assert_eq!((fit.slots, fit.most), (None, 4));
        assert!((fit.service.mean() / 12e6 - 1.0).abs() < 0.01);
        assert!(fit.warnings.is_empty());
    }

    #[test]
    fn one_that_makes_wait_is_seen_through() {
        // A slot of 10 ms; bursts of five that wait for each other, and lone ones.
        let burst = |n: u64| (0..5).map(move |k| tried(n * 100, 10.0 * (k + 1) as f64));
        let lone = |n: u64| std::iter::once(tried(n * 100 + 60, 10.0));
        let tries: Vec<Try> = (0..400).flat_map(|n| burst(n).chain(lone(n))).collect();
        let fit = Fit::of("a", &tries).expect("answers");
        assert_eq!(fit.slots, Some(1.0));
    }
}
