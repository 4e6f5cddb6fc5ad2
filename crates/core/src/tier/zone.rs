//! How much of a tier's traffic stays in the own zone.
//!
//! Source: zone-aware routing of Envoy. Traffic stays at home as long as the own zone has its share
//! of the endpoints; what it could not bear goes where there are more endpoints than callers.

/// Of so many, shares of zones are counted.
pub(crate) const WHOLE: u32 = 10_000;

/// A smaller tier is not split: a zone would be left with one endpoint or two.
const ENDPOINTS_MIN: u32 = 6;

/// The share of each zone in units of 1/10,000 for a caller in zone `own`, or nothing when the tier
/// is better used as a whole: with one zone, with too few endpoints, or with no caller or endpoint.
///
/// `callers` and `healthy` count those of each zone, in the same order. The shares add up to 10,000.
/// O(zones).
pub(crate) fn zone_shares(callers: &[u32], healthy: &[u32], own: usize) -> Option<Vec<u32>> {
    let total: u32 = healthy.iter().sum();
    if healthy.len() < 2 || total < ENDPOINTS_MIN {
        return None;
    }
    let (callers, healthy) = (parts(callers)?, parts(healthy)?);
    let (home_callers, home) = (*callers.get(own)?, *healthy.get(own)?);
    let mut shares = vec![0; healthy.len()];
    if home >= home_callers {
        shares[own] = WHOLE;
        return Some(shares);
    }
    shares[own] = home * WHOLE / home_callers;
    let spare = |zone: usize| match zone == own {
        true => 0,
        false => healthy[zone].saturating_sub(callers[zone]),
    };
    spread(WHOLE - shares[own], spare, &mut shares);
    Some(shares)
}

/// Spreads what is left over the zones with spare endpoints, in proportion; in rounding nothing is
/// lost. Without any spare it stays at home.
fn spread(left: u32, spare: impl Fn(usize) -> u32, shares: &mut [u32]) {
    let total: u64 = (0..shares.len()).map(|zone| u64::from(spare(zone))).sum();
    if total == 0 {
        if let Some(home) = shares.iter_mut().find(|share| **share > 0) {
            *home += left;
        }
        return;
    }
    let (mut sum, mut given) = (0, 0);
    for (zone, share) in shares.iter_mut().enumerate() {
        sum += u64::from(spare(zone));
        let up_to = (u64::from(left) * sum / total) as u32;
        *share += up_to - given;
        given = up_to;
    }
}

/// Each count as its part of all, in 1/10,000; nothing without a count.
fn parts(counts: &[u32]) -> Option<Vec<u32>> {
    let total: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let part = |count: &u32| (u64::from(*count) * u64::from(WHOLE) / total.max(1)) as u32;
    (total > 0).then(|| counts.iter().map(part).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked out by the rule of Envoy's zone aware routing: 62.5 % stay, the rest goes 10:5 to zones 2 and 3.
    #[test]
    fn what_the_own_zone_cannot_bear_goes_where_there_is_room() {
        // 40/40/20 callers and 25/50/25 endpoints.
        let shares = zone_shares(&[40, 40, 20], &[25, 50, 25], 0);
        assert_eq!(shares, Some(vec![6_250, 2_500, 1_250]));
    }

    #[test]
    fn a_zone_with_its_share_of_endpoints_keeps_its_traffic() {
        assert_eq!(zone_shares(&[1, 1], &[3, 3], 1), Some(vec![0, WHOLE]));
        assert_eq!(
            zone_shares(&[1, 1, 1], &[4, 2, 2], 0),
            Some(vec![WHOLE, 0, 0])
        );
    }

    #[test]
    fn an_empty_zone_sends_all_away() {
        assert_eq!(
            zone_shares(&[1, 1, 1], &[0, 4, 4], 0),
            Some(vec![0, 5_000, 5_000])
        );
    }

    /// What rounding takes from the own zone is no reason to go elsewhere.
    #[test]
    fn where_nobody_has_room_all_stays_at_home() {
        let healthy = [33_335, 33_329, 33_336];
        assert_eq!(
            zone_shares(&[1, 1, 1], &healthy, 1),
            Some(vec![0, WHOLE, 0])
        );
    }

    #[test]
    fn small_or_single_zones_are_used_as_a_whole() {
        assert_eq!(zone_shares(&[1], &[9], 0), None);
        assert_eq!(zone_shares(&[1, 1], &[2, 3], 0), None);
        assert_eq!(zone_shares(&[1, 1], &[0, 0], 0), None);
        assert_eq!(zone_shares(&[0, 0], &[5, 5], 0), None);
        assert_eq!(zone_shares(&[1, 1], &[5, 5], 2), None);
    }

    #[test]
    fn shares_add_up_whatever_the_counts() {
        for seed in 0..2_000u32 {
            let count = |at: u32| seed.wrapping_mul(2_654_435_761).rotate_left(at * 7) % 23;
            let healthy: Vec<u32> = (0..4).map(count).collect();
            let callers: Vec<u32> = (4..8).map(count).collect();
            for own in 0..4 {
                if let Some(shares) = zone_shares(&callers, &healthy, own) {
                    let sum: u32 = shares.iter().sum();
                    assert!(
                        sum == WHOLE || healthy[own] == 0,
                        "{shares:?} of {healthy:?}"
                    );
                }
            }
        }
    }
}
