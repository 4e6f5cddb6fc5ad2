//! Means of a few runs, and the ranges that hold them.

/// A figure with the range that holds its mean with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The mean over all runs.
    pub mean: f64,
    /// The range.
    pub low: f64,
    /// The range.
    pub high: f64,
}

/// Student's t for 95 % of both sides, by the number of runs less one.
const STUDENT: [f64; 10] = [
    12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
];

impl Interval {
    /// Of the figure in each run.
    pub(super) fn of(all: &[f64]) -> Self {
        let n = all.len().max(1) as f64;
        let mean = all.iter().sum::<f64>() / n;
        let squares: f64 = all
            .iter()
            .map(|value| (value - mean) * (value - mean))
            .sum();
        let deviation = (squares / (n - 1.0).max(1.0)).sqrt();
        let t = STUDENT
            .get(all.len().saturating_sub(2))
            .copied()
            .unwrap_or(2.0);
        let half = t * deviation / n.sqrt();
        Self {
            mean,
            low: (mean - half).max(0.0),
            high: mean + half,
        }
    }
}
