//! The health of all endpoints of a cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::active::{Active, ActivePolicy, Initial, ProbeResult};
use super::outlier::OutlierPolicy;
use super::passive::Passive;
use super::record::{Record, settle};
use super::slow_start::SlowStart;
use super::state::{Cause, Condition, Health, Transition};
use super::verdict::{Happening, Listed, Verdict};
use crate::ascending::follow_list;
use crate::clock::Nanos;
use crate::endpoint::Admin;
use crate::membership::Membership;
use crate::report::AgentLine;
use crate::rng::Rng;

/// What is held against endpoints; each none: not at all.
///
/// # Examples
///
/// ```
/// use evenkeel_core::health::{ClusterHealth, HealthPolicy, OutlierPolicy};
///
/// let policy = HealthPolicy { outlier: Some(OutlierPolicy::default()), ..HealthPolicy::default() };
/// assert!(ClusterHealth::new(policy, 7).policy().active.is_none());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HealthPolicy {
    /// Their checks.
    pub active: Option<ActivePolicy>,
    /// Their requests.
    pub outlier: Option<OutlierPolicy>,
    /// How they warm up.
    pub slow_start: Option<SlowStart>,
}

/// The health of all endpoints of a cluster: a pure state machine.
///
/// Its host tells it who is there, what checks find and what requests come to, and asks now and then;
/// it says what changed, with cause and evidence. Nothing changes unless one of these is called.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// # use evenkeel_core::{Nanos, health::{ClusterHealth, HealthPolicy, OutlierPolicy}};
/// # let policy = HealthPolicy { outlier: Some(OutlierPolicy::default()), ..HealthPolicy::default() };
/// # let mut health = ClusterHealth::new(policy, 7);
/// # let _ = health.list(members.listed(), true, Nanos(0));
/// use evenkeel_core::health::Health;
///
/// let _ = health.runs([("a", 5)].into_iter(), Nanos::from_secs(1));
/// assert_eq!(health.verdict("a").expect("it is listed").health, Health::Ejected);
/// assert!(health.apply(&mut members, Nanos::from_secs(1)), "it takes no more requests");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ClusterHealth {
    pub(super) policy: HealthPolicy,
    pub(super) endpoints: BTreeMap<Arc<str>, Record>,
    pub(super) rng: Rng,
    /// Most endpoints seem to fail, so none is ejected.
    pub(super) shared_cause: bool,
}

impl ClusterHealth {
    /// A cluster without endpoints. `seed` decides how ejections are prolonged.
    #[must_use]
    pub fn new(policy: HealthPolicy, seed: u64) -> Self {
        Self {
            policy,
            endpoints: BTreeMap::new(),
            rng: Rng::new(seed),
            shared_cause: false,
        }
    }

    /// What is held against endpoints.
    #[must_use]
    pub fn policy(&self) -> &HealthPolicy {
        &self.policy
    }

    /// Holds something else against endpoints from now on. What was found by what is no more is
    /// forgotten; the rest stays.
    pub fn set_policy(&mut self, policy: HealthPolicy, now: Nanos) -> Vec<Happening> {
        self.policy = policy;
        let ids: Vec<Arc<str>> = self.endpoints.keys().cloned().collect();
        let mut happenings = Vec::new();
        for (id, record) in ids.iter().zip(self.endpoints.values_mut()) {
            let mut what = "";
            if policy.active.is_none() {
                record.active = Active::new(Initial::Healthy);
                what = "endpoints are not checked any more";
            }
            if policy.outlier.is_none() {
                if record.passive.is_ejected() {
                    what = "endpoints are not ejected any more";
                }
                record.passive = Passive::default();
            }
            happenings.extend(settle(id, record, Cause::TurnedOff, what.to_owned(), now));
        }
        self.follow_warmth(now);
        happenings
    }

    /// Says who is there: those that are new begin, those that are gone are forgotten, and a new
    /// address is a new beginning. Those that come while `is_start` do not warm up.
    pub fn list(
        &mut self,
        listed: impl Iterator<Item = Listed>,
        is_start: bool,
        now: Nanos,
    ) -> Vec<Happening> {
        let mut listed: Vec<Listed> = listed.collect();
        // As they are already where a membership lists them.
        listed.sort_by(|one, other| one.id.cmp(&other.id));
        let mut happenings = Vec::new();
        let policy = self.policy;
        let stays = |_: &Arc<str>, record: &mut Record, listed| {
            happenings.extend(keep(record, &listed, &policy, now));
        };
        let (new, _) = follow_list(&mut self.endpoints, listed, |one| &*one.id, stays);
        for listed in new {
            let record = Record::new(&listed, &policy, now, !is_start);
            self.endpoints.insert(listed.id, record);
        }
        self.follow_warmth(now);
        happenings
    }

    /// How often an endpoint is to be checked at the moment; none when it is not.
    #[must_use]
    pub fn pace(&self, id: &str, now: Nanos) -> Option<Nanos> {
        let policy = self.policy.active.as_ref()?;
        Some(self.endpoints.get(id)?.active.pace(policy, now))
    }

    /// A check of an endpoint has come to an end.
    pub fn probed(&mut self, id: &str, result: &ProbeResult, now: Nanos) -> Vec<Happening> {
        let Some(policy) = self.policy.active else {
            return Vec::new();
        };
        let Some((id, record)) = entry(&mut self.endpoints, id) else {
            return Vec::new();
        };
        record.active.probed(result.passed, &policy, now);
        let evidence = record.active.evidence(&policy, &result.seen, now);
        let cause = match result.passed {
            true => Cause::ChecksPassed,
            false => Cause::ChecksFailed,
        };
        let stays = record.verdict.health == record.health();
        if stays && record.active.health() > Health::Ejected {
            // The figures in its reason go on.
            record.verdict.reason.clone_from(&evidence);
            record.verdict.until = record.active.held(now);
        } else if stays && let Some(said) = &record.agent_down {
            // Its checks pass, and its agent keeps it out.
            record.verdict.reason.clone_from(said);
            record.verdict.until = None;
        }
        let happening = settle(&id, record, cause, evidence, now);
        // Most checks change nothing, and there may be many of them.
        if happening.is_some() {
            self.follow_warmth(now);
        }
        happening.into_iter().collect()
    }

    /// The agent beside an endpoint has said a line. Whether it is `up` or `down` counts here, at once, and
    /// lasts until it says the other.
    pub fn agent_said(&mut self, id: &str, line: &AgentLine<'_>, now: Nanos) -> Vec<Happening> {
        let Some((id, record)) = entry(&mut self.endpoints, id) else {
            return Vec::new();
        };
        let (cause, evidence) = match line.up {
            None => return Vec::new(),
            Some(true) => (Cause::AgentUp, "its agent says that it is up".to_owned()),
            Some(false) => (Cause::AgentDown, agent_down(line.reason)),
        };
        let is_down = line.up == Some(false);
        if is_down && record.agent_down.is_some() && record.active.health() <= Health::Ejected {
            record.verdict.reason.clone_from(&evidence);
        }
        record.agent_down = is_down.then(|| evidence.clone());
        let happening = settle(&id, record, cause, evidence, now);
        if happening.is_some() {
            self.follow_warmth(now);
        }
        happening.into_iter().collect()
    }

    /// Time passes: ejections end, endpoints warm up.
    pub fn tick(&mut self, now: Nanos) -> Vec<Happening> {
        let ids: Vec<Arc<str>> = self.endpoints.keys().cloned().collect();
        let mut happenings = Vec::new();
        for (id, record) in ids.iter().zip(self.endpoints.values_mut()) {
            if record.passive.returns(now) {
                let evidence = "the time of its ejection is over".to_owned();
                happenings.extend(settle(id, record, Cause::EjectionOver, evidence, now));
            }
        }
        self.follow_warmth(now);
        happenings
    }

    /// When [`ClusterHealth::tick`] has something to do; none: never, unless something happens.
    #[must_use]
    pub fn next_tick(&self, now: Nanos) -> Option<Nanos> {
        let ejections = self
            .endpoints
            .values()
            .filter_map(|record| record.passive.until());
        let damped = self.endpoints.values();
        let damped = damped.filter(|record| record.active.is_damped(now));
        let damped = damped.filter_map(|record| record.active.held(now));
        let warming = self
            .endpoints
            .values()
            .any(|record| record.warming.is_some());
        // Twice for each step.
        let step = self.policy.slow_start.filter(|_| warming);
        let step = step.map(|slow| now + Nanos((slow.window.0 / 32).max(1_000_000)));
        ejections.chain(damped).chain(step).min()
    }

    /// What is held of an endpoint.
    #[must_use]
    pub fn verdict(&self, id: &str) -> Option<&Verdict> {
        self.endpoints.get(id).map(|record| &record.verdict)
    }

    /// How each endpoint is, in the order of their ids.
    pub fn healths(&self) -> impl Iterator<Item = (&Arc<str>, Health)> {
        let endpoints = self.endpoints.iter();
        endpoints.map(|(id, record)| (id, record.verdict.health))
    }

    /// Puts what follows for decisions into `members`, and says whether anything is other than it was.
    pub fn apply(&self, members: &mut Membership, now: Nanos) -> bool {
        let conditions = self.endpoints.iter().map(|(id, record)| {
            let condition = match record.health() {
                health if health.is_usable() => Condition::Usable,
                Health::Ejected => Condition::Ejected,
                _ if record.active.is_damped(now) => Condition::Damped,
                _ => Condition::Unhealthy,
            };
            (&**id, condition, record.warmth)
        });
        members.set_conditions(conditions)
    }
}

/// Has a record follow what is listed of its endpoint.
fn keep(
    record: &mut Record,
    listed: &Listed,
    policy: &HealthPolicy,
    now: Nanos,
) -> Option<Happening> {
    if record.address != listed.address {
        let new = Record::new(listed, policy, now, true);
        let (from, to) = (record.verdict.health, new.verdict.health);
        *record = new;
        let transition = Transition {
            id: Arc::clone(&listed.id),
            from,
            to,
            cause: Cause::NewAddress,
            evidence: format!("it is at {} now", listed.address),
            until: None,
        };
        return (from != to).then_some(Happening::Endpoint(transition));
    }
    // One that was drained and stayed well is as warm as it was.
    let was_away = record.admin == Admin::Disabled || record.returned_unseen;
    if listed.admin == Admin::Enabled && !record.is_enabled() {
        record.returned_unseen = false;
        if was_away && record.verdict.health.is_usable() {
            record.warming = Some(now);
        }
    }
    (record.tier, record.admin) = (listed.tier, listed.admin);
    if listed.has_agent || record.agent_down.take().is_none() {
        return None;
    }
    let evidence = "it has no agent any more".to_owned();
    settle(&listed.id, record, Cause::TurnedOff, evidence, now)
}

/// What an agent says that takes its endpoint out. Its words come from elsewhere, and are shown as text.
fn agent_down(reason: Option<&str>) -> String {
    const WORDS_MAX: usize = 200;
    let shown = |letter: char| if letter.is_control() { ' ' } else { letter };
    let words = reason.map(|reason| {
        reason
            .chars()
            .take(WORDS_MAX)
            .map(shown)
            .collect::<String>()
    });
    let words = words.map_or_else(String::new, |words| format!(" ({words})"));
    format!("its agent says that it is down{words}, until it says up")
}

/// An endpoint with its own copy of its id.
pub(super) fn entry<'r>(
    endpoints: &'r mut BTreeMap<Arc<str>, Record>,
    id: &str,
) -> Option<(Arc<str>, &'r mut Record)> {
    let (known, _) = endpoints.get_key_value(id)?;
    let known = Arc::clone(known);
    let record = endpoints.get_mut(id)?;
    Some((known, record))
}
