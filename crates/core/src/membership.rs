//! The writer's side of a cluster.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use crate::clock::Nanos;
use crate::endpoint::{Admin, Endpoint, EndpointState, Serial};
use crate::health::panic::PanicThreshold;
use crate::pick::context::NoEndpoint;
use crate::snapshot::{Candidate, Group, Snapshot, Standing, cap_of};
use crate::strategy::{Members, Strategy};
use crate::tier::shares::{TierHealth, tier_shares};

/// An endpoint listed twice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("endpoint id {0:?} is listed twice")]
pub struct DuplicateId(pub Arc<str>);

/// There is no endpoint of that id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no endpoint {0:?}")]
pub struct UnknownEndpoint(pub Arc<str>);

/// Full weight, in the 1/256 in which effective weights are counted.
pub(crate) const FULL: u16 = 256;

/// What a failure weighs halves in this time as long as no latencies are known: ten times 30 ms,
/// the latency that an endpoint without a history is taken to have.
const FAILURE_HALF_LIFE: Nanos = Nanos::from_millis(300);

static NEXT_SERIAL: AtomicU64 = AtomicU64::new(1);

/// From 1: a picker that has seen none is at 0.
static NEXT_SNAPSHOT: AtomicU64 = AtomicU64::new(1);

/// The endpoints of one cluster and its policies, as one writer changes them.
///
/// Changes gather until [`Membership::snapshot`] turns them into one new generation. The records of
/// endpoints that stay are the same ones in every generation.
#[derive(Debug)]
pub struct Membership {
    cluster: Arc<str>,
    strategy: Arc<dyn Strategy>,
    panic: PanicThreshold,
    members: BTreeMap<Arc<str>, Member>,
    /// Records of removed endpoints that may still have requests in flight.
    departed: BTreeMap<Arc<str>, Weak<EndpointState>>,
    generation: u64,
}

#[derive(Debug)]
struct Member {
    endpoint: Arc<Endpoint>,
    admin: Admin,
    healthy: bool,
    factor: u16,
    state: Arc<EndpointState>,
}

impl Member {
    fn standing(&self) -> Standing {
        match self.admin {
            Admin::Disabled => Standing::Disabled,
            Admin::Draining => Standing::Draining,
            Admin::Enabled if self.endpoint.weight() == 0 => Standing::Draining,
            Admin::Enabled if self.healthy => Standing::Ready,
            Admin::Enabled => Standing::Unhealthy,
        }
    }

    /// At least 1, so that an endpoint in service never starves.
    fn effective_weight(&self) -> u32 {
        match u32::from(self.endpoint.weight()) {
            0 => 0,
            weight => (weight * u32::from(self.factor)).max(1),
        }
    }
}

impl Membership {
    /// A cluster without endpoints.
    #[must_use]
    pub fn new(cluster: impl Into<Arc<str>>, strategy: Arc<dyn Strategy>) -> Self {
        Self {
            cluster: cluster.into(),
            strategy,
            panic: PanicThreshold::default(),
            members: BTreeMap::new(),
            departed: BTreeMap::new(),
            generation: 0,
        }
    }

    /// Sets below which share of healthy endpoints all are used.
    pub fn set_panic(&mut self, panic: PanicThreshold) {
        self.panic = panic;
    }

    /// Replaces the strategy; places in schedules carry over.
    pub fn set_strategy(&mut self, strategy: Arc<dyn Strategy>) {
        self.strategy = strategy;
    }

    /// Adds an endpoint, or changes the one of that id, and says whether it is new.
    ///
    /// The record stays. A new address under an old id is a return: requests in flight still count,
    /// what else is known of the endpoint starts anew.
    pub fn upsert(&mut self, endpoint: Endpoint) -> bool {
        let id = endpoint.shared_id();
        if let Some(member) = self.members.get_mut(&id) {
            if member.endpoint.address() != endpoint.address() {
                member.state.in_flight().forgive();
                member.healthy = true;
                member.factor = FULL;
            }
            member.endpoint = Arc::new(endpoint);
            return false;
        }
        let state = self
            .departed
            .remove(&id)
            .and_then(|state| state.upgrade())
            .unwrap_or_else(|| {
                let serial = NEXT_SERIAL.fetch_add(1, Ordering::Relaxed);
                Arc::new(EndpointState::new(Serial(serial)))
            });
        state.in_flight().forgive();
        let member = Member {
            endpoint: Arc::new(endpoint),
            admin: Admin::Enabled,
            healthy: true,
            factor: FULL,
            state,
        };
        self.members.insert(id, member);
        true
    }

    /// Removes an endpoint; its requests in flight finish.
    ///
    /// # Errors
    ///
    /// When there is none of that id.
    pub fn remove(&mut self, id: &str) -> Result<(), UnknownEndpoint> {
        let (id, member) = self
            .members
            .remove_entry(id)
            .ok_or_else(|| UnknownEndpoint(id.into()))?;
        self.departed.insert(id, Arc::downgrade(&member.state));
        Ok(())
    }

    /// Makes `list` the whole membership: the path that discovery takes.
    ///
    /// # Errors
    ///
    /// When an id is listed twice; then nothing changes.
    pub fn replace(&mut self, list: Vec<Endpoint>) -> Result<(), DuplicateId> {
        let mut ids: Vec<Arc<str>> = list.iter().map(Endpoint::shared_id).collect();
        ids.sort_unstable();
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(DuplicateId(Arc::clone(&pair[0])));
        }
        let gone: Vec<Arc<str>> = self
            .members
            .keys()
            .filter(|id| ids.binary_search(id).is_err())
            .cloned()
            .collect();
        for id in gone {
            let _ = self.remove(&id);
        }
        for endpoint in list {
            self.upsert(endpoint);
        }
        Ok(())
    }

    /// Sets a configured weight; 0 means no new requests.
    ///
    /// # Errors
    ///
    /// When there is no endpoint of that id.
    pub fn set_weight(&mut self, id: &str, weight: u16) -> Result<(), UnknownEndpoint> {
        let member = self.member(id)?;
        member.endpoint = Arc::new(Endpoint::clone(&member.endpoint).with_weight(weight));
        Ok(())
    }

    /// Sets what an operator wants of an endpoint.
    ///
    /// # Errors
    ///
    /// When there is no endpoint of that id.
    pub fn set_admin(&mut self, id: &str, admin: Admin) -> Result<(), UnknownEndpoint> {
        self.member(id)?.admin = admin;
        Ok(())
    }

    /// Sets whether an endpoint passes its checks.
    ///
    /// # Errors
    ///
    /// When there is no endpoint of that id.
    pub fn set_healthy(&mut self, id: &str, healthy: bool) -> Result<(), UnknownEndpoint> {
        self.member(id)?.healthy = healthy;
        Ok(())
    }

    /// Scales an endpoint's weight, in 1/256: 256 is its configured weight.
    ///
    /// # Errors
    ///
    /// When there is no endpoint of that id.
    pub fn set_factor(&mut self, id: &str, factor: u16) -> Result<(), UnknownEndpoint> {
        self.member(id)?.factor = factor;
        Ok(())
    }

    fn member(&mut self, id: &str) -> Result<&mut Member, UnknownEndpoint> {
        self.members
            .get_mut(id)
            .ok_or_else(|| UnknownEndpoint(id.into()))
    }

    /// The endpoints in id order with what an operator wants of them.
    pub fn endpoints(&self) -> impl Iterator<Item = (&Arc<Endpoint>, Admin)> {
        self.members
            .values()
            .map(|member| (&member.endpoint, member.admin))
    }

    /// The endpoint of that id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<(&Arc<Endpoint>, Admin)> {
        let member = self.members.get(id)?;
        Some((&member.endpoint, member.admin))
    }

    /// Builds the next generation. O(n log n) and the cost of the strategy's table; never on the
    /// path of a request.
    pub fn snapshot(&mut self) -> Snapshot {
        self.generation += 1;
        self.departed.retain(|_, state| state.strong_count() > 0);
        let standings: Box<[Standing]> = self.members.values().map(Member::standing).collect();
        let (groups, unavailable) = self.groups(&standings);
        let mut eligible = vec![false; standings.len()];
        for index in groups.iter().flat_map(|group| group.eligible.iter()) {
            eligible[*index as usize] = true;
        }
        let candidates: Box<[Candidate]> = self
            .members
            .values()
            .zip(&eligible)
            .map(|(member, eligible)| {
                let cap = if *eligible {
                    cap_of(&member.endpoint)
                } else {
                    0
                };
                Candidate::new(Arc::clone(&member.state), member.effective_weight(), cap)
            })
            .collect();
        let mut positions: Box<[(Serial, u32)]> = (0..)
            .zip(&candidates)
            .map(|(index, candidate)| (candidate.serial(), index))
            .collect();
        positions.sort_unstable();
        Snapshot {
            cluster: Arc::clone(&self.cluster),
            generation: self.generation,
            serial: NEXT_SNAPSHOT.fetch_add(1, Ordering::Relaxed),
            strategy: Arc::clone(&self.strategy),
            endpoints: self
                .members
                .values()
                .map(|member| Arc::clone(&member.endpoint))
                .collect(),
            standings,
            candidates,
            positions,
            groups,
            unavailable,
            failure_half_life: FAILURE_HALF_LIFE,
        }
    }

    /// The tiers that take part, each with its share and its table.
    fn groups(&self, standings: &[Standing]) -> (Box<[Group]>, NoEndpoint) {
        let tiers = self.tiers(standings);
        let health: Vec<TierHealth> = tiers.values().map(|tier| tier.health).collect();
        let shares = tier_shares(&health, self.panic);
        // A strategy that knows no weights still sends less to an endpoint that warms up.
        let weight = if self.strategy.descriptor().traits.weighted {
            Member::effective_weight
        } else {
            |member: &Member| u32::from(member.factor).max(1)
        };
        let weights: Vec<u32> = self.members.values().map(weight).collect();
        let mut share_up_to = 0;
        let mut groups = Vec::new();
        for ((number, tier), share) in tiers.iter().zip(shares) {
            share_up_to += share.percent;
            let eligible = if share.panic {
                &tier.in_service
            } else {
                &tier.healthy
            };
            if eligible.is_empty() {
                continue;
            }
            let members = Members::new(&weights, &tier.in_service, eligible);
            groups.push(Group {
                tier: *number,
                panic: share.panic,
                share_up_to,
                table: self.strategy.table(&members),
                eligible: eligible.as_slice().into(),
            });
        }
        (groups.into(), self.unavailable(&tiers))
    }

    fn tiers(&self, standings: &[Standing]) -> BTreeMap<u8, Tier> {
        let mut tiers: BTreeMap<u8, Tier> = BTreeMap::new();
        for ((index, member), standing) in (0..).zip(self.members.values()).zip(standings) {
            if !matches!(standing, Standing::Ready | Standing::Unhealthy) {
                continue;
            }
            let tier = tiers.entry(member.endpoint.tier()).or_default();
            tier.in_service.push(index);
            tier.health.total += 1;
            if *standing == Standing::Ready {
                tier.healthy.push(index);
                tier.health.healthy += 1;
            }
        }
        tiers
    }

    fn unavailable(&self, tiers: &BTreeMap<u8, Tier>) -> NoEndpoint {
        if self.members.is_empty() {
            NoEndpoint::Empty
        } else if tiers.is_empty() {
            NoEndpoint::NoneInService
        } else {
            NoEndpoint::NoneHealthy
        }
    }
}

#[derive(Debug)]
struct Tier {
    health: TierHealth,
    in_service: Vec<u32>,
    healthy: Vec<u32>,
}

impl Default for Tier {
    fn default() -> Self {
        Self {
            health: TierHealth {
                total: 0,
                healthy: 0,
            },
            in_service: Vec::new(),
            healthy: Vec::new(),
        }
    }
}
