//! Turns the writer's side of a cluster into a snapshot.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::candidate::Candidate;
use crate::clock::Nanos;
use crate::endpoint::{Endpoint, Serial};
use crate::gate::Levels;
use crate::hash::{Algorithm, Hasher};
use crate::health::panic::PanicThreshold;
use crate::membership::{Member, Membership};
use crate::pick::context::NoEndpoint;
use crate::snapshot::{Group, Origin, Snapshot, Standing, Terms, View};
use crate::strategy::{Facts, Members};
use crate::tier::labels::LabelSelector;
use crate::tier::shares::{TierHealth, TierShare, tier_shares};
use crate::tier::subset::Portion;
use crate::tier::zone::{WHOLE, zone_shares};

/// From 1: a picker that has seen none is at 0.
static NEXT_SNAPSHOT: AtomicU64 = AtomicU64::new(1);

/// The latency that a cluster without a history is taken to have.
const TYPICAL_LATENCY: Nanos = Nanos::from_millis(30);

/// How many median latencies it takes until a failure weighs half.
const FAILURE_LATENCIES: u64 = 10;

/// Penalties are stamped in milliseconds: a shorter half-life would be lost in rounding.
const FAILURE_HALF_LIFE_MIN: Nanos = Nanos::from_millis(20);

/// Failures pass for slow answers, so where everything has failed the median is half a minute, which is no measure of
/// how long endpoints that answer again are to be left alone.
const FAILURE_HALF_LIFE_MAX: Nanos = Nanos::from_secs(2);

/// Above the bits that tell tiers apart.
const VIEW_SHIFT: u32 = 32;

/// How fast latencies fade under a strategy that does not look at them.
const LATENCY_DECAY: Nanos = Nanos::from_secs(10);

/// Builds the generation that `members` is at.
pub(crate) fn assemble(members: &mut Membership) -> Snapshot {
    // Counted from the first bound on: what was in flight before is left out until it ends.
    let counted = members.in_flight.take();
    members.in_flight = members.bounded_load().map(|_| counted.unwrap_or_default());
    let parts = Parts::of(members);
    let tiers = parts.tiers(None);
    let (groups, unavailable) = parts.groups(None, &tiers, 0);
    let mut groups_before = groups.len();
    let view = |(number, selector): (u64, &LabelSelector)| {
        let tiers = parts.tiers(Some(selector));
        let (groups, unavailable) = parts.groups(Some(selector), &tiers, number << VIEW_SHIFT);
        let before = groups_before;
        groups_before += groups.len();
        View {
            labels: selector.clone(),
            groups,
            unavailable,
            or_any: selector.falls_back(),
            groups_before: before,
        }
    };
    let views: Box<[View]> = (1..).zip(&members.views).map(view).collect();
    let all_groups = groups
        .iter()
        .chain(views.iter().flat_map(|view| view.groups.iter()));
    let portions = tiers.values().flat_map(|tier| &tier.portions);
    let candidates = candidates(members, all_groups, portions);
    Snapshot {
        cluster: Arc::clone(&members.cluster),
        generation: members.generation,
        serial: NEXT_SNAPSHOT.fetch_add(1, Ordering::Relaxed),
        strategy: Arc::clone(&members.strategy),
        positions: positions(&candidates),
        is_gated: members.room.is_some() || members.has_levels(),
        levels: levels(members, &candidates),
        candidates,
        groups,
        unavailable,
        views,
        terms: terms(members, parts.median),
        missing_key: members.keys.missing,
        origin: origin(members, parts.factors, parts.median),
        endpoints: parts.endpoints.into(),
        standings: parts.standings.into(),
    }
}

impl Membership {
    fn has_levels(&self) -> bool {
        self.watermarks.is_some() && !self.strategy.descriptor().traits.keyed
    }

    /// The bound on an endpoint's share, if the strategy knows keys.
    fn bounded_load(&self) -> Option<f64> {
        let keyed = self.strategy.descriptor().traits.keyed;
        self.keys.bounded_load.filter(|bound| keyed && *bound > 1.0)
    }
}

fn origin(members: &Membership, factors: Vec<u16>, median: Option<Nanos>) -> Origin {
    Origin {
        panic: members.panic,
        keys: members.keys,
        watermarks: members.watermarks,
        zone: members.zone.clone(),
        subset: members.subset.clone(),
        factors: factors.into(),
        median,
    }
}

fn terms(members: &Membership, median: Option<Nanos>) -> Terms {
    let typical_latency = median.unwrap_or(TYPICAL_LATENCY);
    let half_life = Nanos(typical_latency.0.saturating_mul(FAILURE_LATENCIES));
    Terms {
        failure_half_life: half_life.clamp(FAILURE_HALF_LIFE_MIN, FAILURE_HALF_LIFE_MAX),
        latency_decay: members.strategy.latency_decay().unwrap_or(LATENCY_DECAY),
        by_load: members.strategy.goes_by_load(),
        failure_latency: members.failure_latency,
        typical_latency,
        in_flight: members.in_flight.clone(),
        room: members.room.clone(),
    }
}

/// What decisions read of each endpoint; those in no group take nothing, and those that are used in part by requests
/// that ask for no labels weigh less for all.
fn candidates<'g>(
    members: &Membership,
    groups: impl Iterator<Item = &'g Group>,
    portions: impl Iterator<Item = &'g Portion>,
) -> Box<[Candidate]> {
    let mut eligible = vec![false; members.members.len()];
    for index in groups.flat_map(|group| group.eligible.iter()) {
        eligible[*index as usize] = true;
    }
    let all = members.members.values();
    let mut weights: Vec<u32> = all.clone().map(Member::effective_weight).collect();
    scale(&mut weights, portions);
    let candidate = |((member, eligible), weight): ((&Member, bool), u32)| {
        let cap = if eligible { members.cap_of(member) } else { 0 };
        Candidate::new(Arc::clone(&member.state), weight, cap)
    };
    all.zip(eligible).zip(weights).map(candidate).collect()
}

/// Leaves endpoints that are used in part that part of their weights, at least 1.
fn scale<'p>(weights: &mut [u32], portions: impl Iterator<Item = &'p Portion>) {
    for (index, part, of) in portions {
        let weight = &mut weights[*index as usize];
        let scaled = u64::from(*weight) * u64::from(*part) / u64::from(*of);
        // No more than before, so it fits.
        *weight = (scaled as u32).max(u32::from(*weight > 0));
    }
}

/// Up to where endpoints are asked like others. A key stays where its data is, so strategies that know
/// keys know no such level.
fn levels(members: &Membership, candidates: &[Candidate]) -> Box<[Levels]> {
    let Some(marks) = members.watermarks.filter(|_| members.has_levels()) else {
        return Box::default();
    };
    let of = |candidate: &Candidate| match candidate.cap() {
        0 => Levels::default(),
        cap => marks.levels(cap),
    };
    candidates.iter().map(of).collect()
}

fn positions(candidates: &[Candidate]) -> Box<[(Serial, u32)]> {
    let mut positions: Box<[(Serial, u32)]> = (0..)
        .zip(candidates)
        .map(|(index, candidate)| (candidate.serial(), index))
        .collect();
    positions.sort_unstable();
    positions
}

/// What groups are made of, in id order.
struct Parts<'m> {
    members: &'m Membership,
    endpoints: Vec<Arc<Endpoint>>,
    standings: Vec<Standing>,
    weights: Vec<u32>,
    factors: Vec<u16>,
    median: Option<Nanos>,
}

/// The endpoints in service of one tier, as places in the snapshot.
#[derive(Debug, Default)]
struct Tier {
    in_service: Vec<u32>,
    healthy: Vec<u32>,
    /// How many of those in service are damped.
    damped: usize,
    /// Which of them are used in part.
    portions: Vec<Portion>,
}

impl Tier {
    /// Damped ones are known to come and go, so they are not counted, unless there is nobody else.
    fn health(&self) -> TierHealth {
        let total = match self.in_service.len() - self.damped {
            0 => self.in_service.len(),
            total => total,
        };
        TierHealth {
            total: total as u32,
            healthy: self.healthy.len() as u32,
        }
    }

    /// Those for which `keep` holds.
    fn part(&self, keep: impl Fn(u32) -> bool) -> Self {
        let kept = |list: &[u32]| list.iter().copied().filter(|index| keep(*index)).collect();
        Self {
            in_service: kept(&self.in_service),
            healthy: kept(&self.healthy),
            damped: 0,
            portions: self.portions.clone(),
        }
    }
}

impl<'m> Parts<'m> {
    fn of(members: &'m Membership) -> Self {
        // A strategy that knows no weights still sends less to an endpoint that warms up.
        let weight = if members.strategy.descriptor().traits.weighted {
            Member::effective_weight
        } else {
            |member: &Member| u32::from(member.scale()).max(1)
        };
        let all = || members.members.values();
        Self {
            endpoints: all().map(|member| Arc::clone(&member.endpoint)).collect(),
            standings: all().map(Member::standing).collect(),
            weights: all().map(weight).collect(),
            factors: all().map(Member::scale).collect(),
            median: members.recorded_median.or_else(|| members.median_latency()),
            members,
        }
    }

    /// The tiers that take part among the endpoints of a view, each with its share and its table.
    fn groups(
        &self,
        view: Option<&LabelSelector>,
        tiers: &BTreeMap<u8, Tier>,
        lanes: u64,
    ) -> (Box<[Group]>, NoEndpoint) {
        let largest = tiers.values().map(|tier| tier.in_service.len()).max();
        if largest.unwrap_or(0) > self.members.strategy.endpoints_max() {
            return (Box::default(), NoEndpoint::TooMany);
        }
        let health: Vec<TierHealth> = tiers.values().map(Tier::health).collect();
        // Where any endpoint will do, that is better than one that is known to be ill.
        let panic = match view {
            Some(selector) if selector.falls_back() => PanicThreshold::OFF,
            _ => self.members.panic,
        };
        let mut groups = Vec::new();
        let mut share_up_to = 0;
        for ((number, tier), share) in tiers.iter().zip(tier_shares(&health, panic)) {
            self.push_tier(&mut groups, *number, tier, share, share_up_to);
            share_up_to += u32::from(share.percent) * WHOLE / 100;
        }
        for group in &mut groups {
            group.lane ^= lanes;
        }
        (groups.into(), self.unavailable(view, tiers))
    }

    fn tiers(&self, view: Option<&LabelSelector>) -> BTreeMap<u8, Tier> {
        let mut tiers: BTreeMap<u8, Tier> = BTreeMap::new();
        for ((index, endpoint), standing) in (0..).zip(&self.endpoints).zip(&self.standings) {
            if !standing.is_in_service() || view.is_some_and(|selector| !selector.takes(endpoint)) {
                continue;
            }
            let tier = tiers.entry(endpoint.tier()).or_default();
            tier.in_service.push(index);
        }
        for tier in tiers.values_mut() {
            if let Some(subset) = &self.members.subset {
                let id = |index: u32| self.endpoints[index as usize].id();
                tier.portions = subset.choose(&mut tier.in_service, id);
            }
            let ready = |index: &u32| self.standings[*index as usize] == Standing::Ready;
            tier.healthy = tier.in_service.iter().copied().filter(ready).collect();
            let damped = |index: &&u32| self.standings[**index as usize] == Standing::Damped;
            tier.damped = tier.in_service.iter().filter(damped).count();
        }
        tiers
    }

    /// Adds the group of a tier, or those of its zones.
    fn push_tier(
        &self,
        groups: &mut Vec<Group>,
        number: u8,
        tier: &Tier,
        share: TierShare,
        before: u32,
    ) {
        let percent = u32::from(share.percent);
        let zones = if groups.is_empty() && !share.panic {
            self.zones(tier)
        } else {
            None
        };
        let Some(zones) = zones else {
            let up_to = before + percent * WHOLE / 100;
            groups.extend(self.group(number, u64::from(number), tier, share.panic, up_to));
            return;
        };
        let mut part = 0;
        for (zone, zone_share) in zones {
            part += zone_share;
            let in_zone = |index: u32| self.endpoints[index as usize].zone() == zone;
            let lane = Hasher::new(Algorithm::Xxh3, u64::from(number));
            let lane = lane.hash(zone.unwrap_or_default().as_bytes());
            let up_to = before + percent * part / 100;
            groups.extend(self.group(number, lane, &tier.part(in_zone), false, up_to));
        }
    }

    /// The share of each zone of a tier, if it is better split. A key has one home in a cluster, so
    /// strategies that know keys know no zones.
    fn zones(&self, tier: &Tier) -> Option<Vec<(Option<&str>, u32)>> {
        let own = self.members.zone.as_deref()?;
        if self.members.strategy.descriptor().traits.keyed {
            return None;
        }
        let zone = |index: &u32| self.endpoints[*index as usize].zone();
        let zones: BTreeSet<Option<&str>> = tier.healthy.iter().map(zone).collect();
        let zones: Vec<Option<&str>> = zones.into_iter().collect();
        let count = |of: &Option<&str>| tier.healthy.iter().filter(|at| zone(at) == *of).count();
        let healthy: Vec<u32> = zones.iter().map(|zone| count(zone) as u32).collect();
        let own = zones.iter().position(|zone| *zone == Some(own))?;
        // Where the other callers are is not known: as many in each zone.
        let shares = zone_shares(&vec![1; zones.len()], &healthy, own)?;
        Some(zones.into_iter().zip(shares).collect())
    }

    /// A group, unless it has nobody to choose from.
    fn group(
        &self,
        tier: u8,
        lane: u64,
        members: &Tier,
        panic: bool,
        share_up_to: u32,
    ) -> Option<Group> {
        let eligible = if panic {
            &members.in_service
        } else {
            &members.healthy
        };
        if eligible.is_empty() {
            return None;
        }
        let facts = Facts {
            endpoints: &self.endpoints,
            factors: &self.factors,
            median_latency: self.median,
            bounded_load: self.members.bounded_load(),
        };
        let mut weights = Cow::Borrowed(&self.weights[..]);
        if !members.portions.is_empty() {
            scale(weights.to_mut(), members.portions.iter());
        }
        let members = Members::new(&weights, &members.in_service, eligible, facts);
        Some(Group {
            tier,
            lane,
            panic,
            share_up_to,
            table: self.members.strategy.table(&members),
            eligible: eligible.as_slice().into(),
        })
    }

    fn unavailable(&self, view: Option<&LabelSelector>, tiers: &BTreeMap<u8, Tier>) -> NoEndpoint {
        if self.endpoints.is_empty() {
            NoEndpoint::Empty
        } else if !tiers.is_empty() {
            NoEndpoint::NoneHealthy
        } else if view.is_some() {
            NoEndpoint::NoneLabelled
        } else {
            NoEndpoint::NoneInService
        }
    }
}

/// The lower median of what is known.
pub(crate) fn median(latencies: impl Iterator<Item = Nanos>) -> Option<Nanos> {
    let mut known: Vec<Nanos> = latencies.collect();
    let middle = known.len().checked_sub(1)? / 2;
    let (_, median, _) = known.select_nth_unstable(middle);
    Some(*median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_weight_is_one_at_least_and_of_none_nothing() {
        let mut weights = [256, 1, 0, 7];
        scale(&mut weights, [(0, 1, 2), (1, 1, 2), (2, 1, 2)].iter());
        assert_eq!(weights, [128, 1, 0, 7]);
    }
}
