//! Counts times in buckets whose width grows with the time, so that memory does not grow with requests.

use evenkeel_core::Nanos;

/// Buckets for each doubling of the time: a bucket is 0.4 % wide at most.
const PER_OCTAVE: u64 = 256;
const BITS: u32 = 8;

/// Counts times from nanoseconds to centuries.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    max: u64,
}

fn bucket(value: u64) -> usize {
    if value < PER_OCTAVE {
        return value as usize;
    }
    let shift = 63 - value.leading_zeros() - BITS;
    let within = (value >> shift) - PER_OCTAVE;
    ((u64::from(shift) + 1) * PER_OCTAVE + within) as usize
}

/// The least value of a bucket, and how many values it holds.
fn bounds(bucket: usize) -> (u64, u64) {
    let (octave, within) = (bucket as u64 / PER_OCTAVE, bucket as u64 % PER_OCTAVE);
    if octave == 0 {
        return (within, 1);
    }
    let shift = octave - 1;
    ((PER_OCTAVE + within) << shift, 1 << shift)
}

impl Histogram {
    /// Counts a time.
    #[inline]
    pub fn add(&mut self, value: Nanos) {
        let at = bucket(value.0);
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
        self.count += 1;
        self.sum += u128::from(value.0);
        self.max = self.max.max(value.0);
    }

    /// Adds what another one counted.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// How many were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean in nanoseconds, exact; 0 when nothing was counted.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        self.sum as f64 / self.count as f64
    }

    /// The longest, exact.
    #[must_use]
    pub fn max(&self) -> Nanos {
        Nanos(self.max)
    }

    /// The value below which this share of the times lies, within 0.2 %; 0 when nothing was counted.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Nanos {
        if self.count == 0 {
            return Nanos(0);
        }
        let wanted = share * self.count as f64;
        let mut before = 0_u64;
        for (at, count) in self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            if (before + count) as f64 >= wanted {
                let (least, width) = bounds(at);
                let within = (wanted - before as f64).max(0.0) / *count as f64;
                let value = least + (within * (width - 1) as f64) as u64;
                return Nanos(value.min(self.max));
            }
            before += count;
        }
        Nanos(self.max)
    }

    /// The buckets that hold something: the middle of each, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        let filled = self.counts.iter().enumerate();
        filled.filter(|(_, count)| **count > 0).map(|(at, count)| {
            let (least, width) = bounds(at);
            (Nanos(least + width / 2), *count)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_cover_all_values_and_are_narrow() {
        let mut last = 0;
        for value in (0..4096)
            .chain((12..64).map(|bit| (1 << bit) - 1))
            .chain([u64::MAX])
        {
            let at = bucket(value);
            let (least, width) = bounds(at);
            assert!(least <= value && value - least < width, "{value}");
            assert!(width * 255 <= least.max(255), "{value}");
            assert!(at >= last, "{value}");
            last = at;
        }
    }

    #[test]
    fn quantiles_are_close() {
        let mut histogram = Histogram::default();
        for ms in 1..=1000 {
            histogram.add(Nanos::from_millis(ms));
        }
        for (share, ms) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0), (1.0, 1000.0)] {
            let got = histogram.quantile(share).0 as f64 / 1e6;
            assert!((got / ms - 1.0).abs() < 0.004, "{share}: {got}");
        }
        assert_eq!(histogram.mean(), 500.5e6);
    }
}
