//! Spill-over between tiers by health, as Envoy's priority levels do it.
//!
//! Source: `load_balancer_impl` of Envoy, in its integer arithmetic; its manual's second table
//! prints other figures for three of the vectors below and contradicts its own first table.

use crate::health::panic::PanicThreshold;

/// How many of a tier's endpoints are in service, and how many of those are healthy.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{PanicThreshold, TierHealth, TierShare, tier_shares};
///
/// let tiers = [TierHealth { total: 4, healthy: 4 }, TierHealth { total: 4, healthy: 4 }];
/// let shares = tier_shares(&tiers, PanicThreshold::default());
/// assert_eq!(shares[0], TierShare { percent: 100, panic: false });
/// assert_eq!(shares[1].percent, 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierHealth {
    /// Endpoints in service.
    pub total: u32,
    /// Healthy ones among them.
    pub healthy: u32,
}

/// What a tier gets.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{PanicThreshold, TierHealth, TierShare, tier_shares};
///
/// let tiers = [TierHealth { total: 4, healthy: 4 }, TierHealth { total: 4, healthy: 4 }];
/// let shares = tier_shares(&tiers, PanicThreshold::default());
/// assert_eq!(shares[0], TierShare { percent: 100, panic: false });
/// assert_eq!(shares[1].percent, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierShare {
    /// Of a hundred requests.
    pub percent: u8,
    /// Whether all its endpoints are used, healthy or not.
    pub panic: bool,
}

/// A tier is full as long as this many percent of its endpoints' health covers the whole load.
const OVERPROVISIONING_PERCENT: u64 = 140;

/// Splits the load between tiers, the first ones first.
///
/// The percents add up to 100, or to 0 when nobody may be used. O(tiers).
///
/// # Examples
///
/// ```
/// use evenkeel_core::{PanicThreshold, TierHealth, tier_shares};
///
/// let tiers = [TierHealth { total: 4, healthy: 2 }, TierHealth { total: 4, healthy: 4 }];
/// let shares = tier_shares(&tiers, PanicThreshold::default());
/// assert_eq!((shares[0].percent, shares[1].percent), (70, 30));
/// ```
#[must_use]
pub fn tier_shares(tiers: &[TierHealth], threshold: PanicThreshold) -> Vec<TierShare> {
    let health: Vec<u64> = tiers.iter().map(|tier| health_of(*tier)).collect();
    let sum = health.iter().sum::<u64>().min(100);
    let mut shares = if sum == 0 {
        by_count(tiers, threshold)
    } else {
        by_health(&health, sum)
    };
    if sum < 100 {
        for (share, tier) in shares.iter_mut().zip(tiers) {
            share.panic = threshold.is_crossed(tier.healthy, tier.total);
        }
    }
    shares
}

/// How much of the whole load a tier could bear, in percent.
fn health_of(tier: TierHealth) -> u64 {
    match tier.total {
        0 => 0,
        total => (OVERPROVISIONING_PERCENT * u64::from(tier.healthy) / u64::from(total)).min(100),
    }
}

fn by_health(health: &[u64], sum: u64) -> Vec<TierShare> {
    let mut left = 100;
    let mut shares: Vec<TierShare> = health
        .iter()
        .map(|health| {
            let percent = left.min(health * 100 / sum);
            left -= percent;
            share(percent)
        })
        .collect();
    if let Some(first) = health.iter().position(|health| *health > 0) {
        shares[first].percent += left as u8;
    }
    shares
}

/// Nobody is healthy: if that means panic, each tier counts by its endpoints.
fn by_count(tiers: &[TierHealth], threshold: PanicThreshold) -> Vec<TierShare> {
    let total: u64 = tiers.iter().map(|tier| u64::from(tier.total)).sum();
    if total == 0 || threshold == PanicThreshold::OFF {
        return vec![TierShare::default(); tiers.len()];
    }
    let counts: Vec<u64> = tiers.iter().map(|tier| u64::from(tier.total)).collect();
    by_health(&counts, total)
}

fn share(percent: u64) -> TierShare {
    TierShare {
        percent: percent as u8,
        panic: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(healthy_percent: [u32; 2]) -> ([u8; 2], [bool; 2]) {
        let tiers = healthy_percent.map(|healthy| TierHealth {
            total: 100,
            healthy,
        });
        let shares = tier_shares(&tiers, PanicThreshold::default());
        (
            [shares[0].percent, shares[1].percent],
            [shares[0].panic, shares[1].panic],
        )
    }

    /// Healthy percent of two tiers and their shares, worked out by Envoy's integer arithmetic.
    #[test]
    fn tiers_spill_over_as_envoys_do() {
        let calm = [false, false];
        assert_eq!(split([72, 100]), ([100, 0], calm));
        assert_eq!(split([71, 100]), ([99, 1], calm));
        assert_eq!(split([50, 100]), ([70, 30], calm));
        assert_eq!(split([25, 100]), ([35, 65], calm));
        assert_eq!(split([50, 60]), ([70, 30], calm));
        assert_eq!(split([25, 25]), ([50, 50], [true, true]));
        assert_eq!(split([5, 65]), ([8, 92], [true, false]));
    }

    #[test]
    fn with_nobody_healthy_the_tiers_count_by_their_endpoints() {
        let tiers = [3, 1].map(|total| TierHealth { total, healthy: 0 });
        let shares = tier_shares(&tiers, PanicThreshold::default());
        assert_eq!((shares[0].percent, shares[1].percent), (75, 25));
        assert!(shares.iter().all(|share| share.panic));
        let none = tier_shares(&tiers, PanicThreshold::OFF);
        assert!(none.iter().all(|share| *share == TierShare::default()));
        assert!(tier_shares(&[], PanicThreshold::default()).is_empty());
    }
}
