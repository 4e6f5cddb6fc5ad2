//! The health of all endpoints of a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::active::{Active, ActivePolicy, Initial, ProbeResult, span};
use super::outlier::{Observed, OutlierPolicy, judge, judged};
use super::passive::Passive;
use super::slow_start::SlowStart;
use super::state::{Cause, Condition, Health, Transition};
use crate::clock::Nanos;
use crate::endpoint::Admin;
use crate::membership::{FULL_WEIGHT, Membership};
use crate::rng::Rng;

/// What is held against endpoints; each none: not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HealthPolicy {
    /// Their checks.
    pub active: Option<ActivePolicy>,
    /// Their requests.
    pub outlier: Option<OutlierPolicy>,
    /// How they warm up.
    pub slow_start: Option<SlowStart>,
}

/// An endpoint as it is listed.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its identity.
    pub id: Arc<str>,
    /// Where it is: another address under the same id is another endpoint.
    pub address: Arc<str>,
    /// Its tier.
    pub tier: u8,
    /// What operators want of it; with weight 0 it is drained.
    pub admin: Admin,
}

/// What is held of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How it is.
    pub health: Health,
    /// Since when.
    pub since: Nanos,
    /// Why, and what will end it, in words; empty as long as nothing ever happened.
    pub reason: String,
    /// When it ends, if it ends by itself; before that it does not.
    pub until: Option<Nanos>,
}

/// Something that operators want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// An endpoint's health changed.
    Endpoint(Transition),
    /// So many endpoints fail at once that the cause is taken to be shared, and no more are ejected; or
    /// that is over.
    SharedCause {
        /// Whether it begins.
        begins: bool,
        /// What was seen.
        evidence: String,
    },
}

/// The health of all endpoints of a cluster: a pure state machine.
///
/// Its host tells it who is there, what checks find and what requests come to, and asks now and then;
/// it says what changed, with cause and evidence. Nothing changes unless one of these is called.
#[derive(Debug)]
pub struct ClusterHealth {
    policy: HealthPolicy,
    endpoints: BTreeMap<Arc<str>, Record>,
    rng: Rng,
    /// Most endpoints seem to fail, so none is ejected.
    shared_cause: bool,
}

#[derive(Debug)]
struct Record {
    address: Arc<str>,
    tier: u8,
    admin: Admin,
    /// It was out and came back while it took no requests anyway.
    returned_unseen: bool,
    active: Active,
    passive: Passive,
    /// When it came or returned, while it warms up.
    warming: Option<Nanos>,
    /// Warms up when it is admitted: not so what has to pass a check when the process starts.
    cold: bool,
    /// In 1/256 of its weight.
    warmth: u16,
    verdict: Verdict,
}

impl Record {
    fn new(listed: &Listed, policy: &HealthPolicy, now: Nanos, joins: bool) -> Self {
        let initial = policy
            .active
            .map_or(Initial::Healthy, |active| active.initial);
        let active = Active::new(initial);
        let health = active.health();
        let reason = match policy.active {
            Some(policy) if active.is_awaited() => active.evidence(&policy, "", now),
            _ => String::new(),
        };
        Self {
            address: Arc::clone(&listed.address),
            tier: listed.tier,
            admin: listed.admin,
            returned_unseen: false,
            active,
            passive: Passive::default(),
            warming: Some(now).filter(|_| joins && health.is_usable()),
            cold: joins || health.is_usable(),
            warmth: FULL_WEIGHT,
            verdict: Verdict {
                health,
                since: now,
                reason,
                until: None,
            },
        }
    }

    fn health(&self) -> Health {
        let passive = match self.passive.is_ejected() {
            true => Health::Ejected,
            false => Health::Healthy,
        };
        self.active.health().max(passive)
    }

    fn is_usable(&self) -> bool {
        self.is_enabled() && self.verdict.health.is_usable()
    }

    fn is_enabled(&self) -> bool {
        self.admin == Admin::Enabled
    }
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
        let mut before = std::mem::take(&mut self.endpoints);
        let mut happenings = Vec::new();
        for listed in listed {
            let known = before.remove(&listed.id);
            let record = match known {
                Some(known) => {
                    let (record, happening) = self.keep(known, &listed, now);
                    happenings.extend(happening);
                    record
                }
                None => Record::new(&listed, &self.policy, now, !is_start),
            };
            self.endpoints.insert(listed.id, record);
        }
        self.follow_warmth(now);
        happenings
    }

    fn keep(&self, mut record: Record, listed: &Listed, now: Nanos) -> (Record, Option<Happening>) {
        if record.address != listed.address {
            let new = Record::new(listed, &self.policy, now, true);
            let (from, to) = (record.verdict.health, new.verdict.health);
            let transition = Transition {
                id: Arc::clone(&listed.id),
                from,
                to,
                cause: Cause::NewAddress,
                evidence: format!("it is at {} now", listed.address),
                until: None,
            };
            let happening = (from != to).then_some(Happening::Endpoint(transition));
            return (new, happening);
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
        (record, None)
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
        }
        let happening = settle(&id, record, cause, evidence, now);
        // Most checks change nothing, and there may be many of them.
        if happening.is_some() {
            self.follow_warmth(now);
        }
        happening.into_iter().collect()
    }

    /// How many failures in a row endpoints have at the moment; to be told when one has had enough.
    pub fn runs<'r>(
        &mut self,
        runs: impl Iterator<Item = (&'r str, u32)>,
        now: Nanos,
    ) -> Vec<Happening> {
        let Some(policy) = self.policy.outlier else {
            return Vec::new();
        };
        let known = runs.filter(|(id, _)| self.endpoints.contains_key(*id));
        let runs: BTreeMap<&str, u32> = known.collect();
        let mut worst: Vec<(&str, u32)> = runs.iter().map(|(id, run)| (*id, *run)).collect();
        worst.retain(|(_, run)| *run >= policy.consecutive_failures);
        worst.sort_by_key(|(_, run)| std::cmp::Reverse(*run));
        let mut happenings = Vec::new();
        for (id, run) in worst {
            let from = policy.looks_bad_from();
            let looks_bad = |id: &str| runs.get(id).is_some_and(|run| *run >= from);
            if self.most_are_bad(id, looks_bad) {
                happenings
                    .extend(self.brake(&format!("most have {from} failures in a row or more")));
                break;
            }
            let evidence = format!("{run} requests in a row failed");
            happenings.extend(self.eject(id, Cause::ConsecutiveFailures, evidence, now));
        }
        happenings
    }

    /// An interval is over, in which this was seen of endpoints.
    pub fn interval<'o>(
        &mut self,
        observed: impl Iterator<Item = (&'o str, Observed)>,
        now: Nanos,
    ) -> Vec<Happening> {
        let Some(policy) = self.policy.outlier else {
            return Vec::new();
        };
        for record in self.endpoints.values_mut() {
            record.passive.interval();
        }
        let known = observed.filter(|(id, _)| {
            let record = self.endpoints.get(*id);
            record.is_some_and(|record| record.is_enabled() && !record.passive.is_ejected())
        });
        let (ids, observed): (Vec<&str>, Vec<Observed>) = known.unzip();
        let from = policy.looks_bad_from();
        let bad_runs = ids
            .iter()
            .zip(&observed)
            .filter(|(_, seen)| seen.run >= from);
        let bad_runs: BTreeSet<&str> = bad_runs.map(|(id, _)| *id).collect();
        if bad_runs
            .iter()
            .any(|id| self.most_are_bad(id, |id| bad_runs.contains(id)))
        {
            let evidence = format!("most have {from} failures in a row or more");
            return self.brake(&evidence).into_iter().collect();
        }
        let verdicts = judge(&policy, &observed);
        let bad = verdicts.iter().flatten().count();
        let records = self.endpoints.values();
        let out = records.filter(|record| record.passive.is_ejected()).count();
        let total = judged(&policy, &observed).max(bad) + out;
        if bad > 0 && total > 1 && (bad + out) * 2 > total {
            let evidence = format!("{} of {total} endpoints with requests fail", bad + out);
            return self.brake(&evidence).into_iter().collect();
        }
        let mut happenings: Vec<Happening> = self.release_brake().into_iter().collect();
        for (id, verdict) in ids.into_iter().zip(verdicts) {
            let Some((cause, evidence)) = verdict else {
                continue;
            };
            happenings.extend(self.eject(id, cause, evidence, now));
        }
        happenings
    }

    /// Whether the cause of failures seems to be shared: more than half of the endpoints look bad, of the
    /// cluster or of the tier of this one.
    fn most_are_bad(&self, id: &str, looks_bad: impl Fn(&str) -> bool) -> bool {
        let tier = self.endpoints.get(id).map(|record| record.tier);
        let mut counts = [(0, 0); 2];
        for (id, record) in self
            .endpoints
            .iter()
            .filter(|(_, record)| record.is_enabled())
        {
            let bad = usize::from(record.passive.is_ejected() || looks_bad(id));
            let in_tier = usize::from(Some(record.tier) == tier);
            counts[0] = (counts[0].0 + bad, counts[0].1 + 1);
            counts[1] = (counts[1].0 + bad * in_tier, counts[1].1 + in_tier);
        }
        counts
            .iter()
            .any(|(bad, total)| *total > 1 && bad * 2 > *total)
    }

    fn brake(&mut self, evidence: &str) -> Option<Happening> {
        if std::mem::replace(&mut self.shared_cause, true) {
            return None;
        }
        Some(Happening::SharedCause {
            begins: true,
            evidence: format!("{evidence}: the cause is taken to be shared, no more are ejected"),
        })
    }

    fn release_brake(&mut self) -> Option<Happening> {
        std::mem::take(&mut self.shared_cause).then(|| Happening::SharedCause {
            begins: false,
            evidence: "most endpoints do not fail any more".to_owned(),
        })
    }

    /// Ejects an endpoint, unless as many are out as may be, or it is the last one that is any good.
    fn eject(&mut self, id: &str, cause: Cause, seen: String, now: Nanos) -> Option<Happening> {
        let policy = self.policy.outlier?;
        let record = self.endpoints.get(id)?;
        if !record.is_enabled()
            || record.passive.is_ejected()
            || !self.may_eject(&policy, record.tier)
        {
            return None;
        }
        let others = self.endpoints.iter().filter(|(other, _)| &***other != id);
        if !others.into_iter().any(|(_, record)| record.is_usable()) {
            return None;
        }
        let (id, record) = entry(&mut self.endpoints, id)?;
        let time = record.passive.eject(&policy, &mut self.rng, now);
        let evidence = format!("{seen}, takes none for {}", span(time));
        let happening = settle(&id, record, cause, evidence, now);
        self.follow_warmth(now);
        happening
    }

    fn may_eject(&self, policy: &OutlierPolicy, tier: u8) -> bool {
        let in_tier = || {
            let records = self.endpoints.values();
            records.filter(|record| record.is_enabled() && record.tier == tier)
        };
        let out = in_tier()
            .filter(|record| record.passive.is_ejected())
            .count();
        out < policy.ejected_max(in_tier().count())
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

    /// Works out anew how warm each endpoint is. When more than half of a tier is warming up, all of it
    /// counts as warm: the few others would be crushed.
    fn follow_warmth(&mut self, now: Nanos) {
        let Some(slow) = self.policy.slow_start else {
            for record in self.endpoints.values_mut() {
                (record.warming, record.warmth) = (None, FULL_WEIGHT);
            }
            return;
        };
        let mut tiers: BTreeMap<u8, (usize, usize)> = BTreeMap::new();
        for record in self.endpoints.values_mut() {
            record.warming = record
                .warming
                .filter(|since| !slow.is_over(now.since(*since)));
            if record.is_usable() {
                let (warming, total) = tiers.entry(record.tier).or_default();
                *warming += usize::from(record.warming.is_some());
                *total += 1;
            }
        }
        for record in self.endpoints.values_mut() {
            let (warming, total) = tiers.get(&record.tier).copied().unwrap_or_default();
            record.warmth = match record.warming {
                Some(since) if warming * 2 <= total => slow.factor(now.since(since)),
                _ => FULL_WEIGHT,
            };
        }
    }

    /// What is held of an endpoint.
    #[must_use]
    pub fn verdict(&self, id: &str) -> Option<&Verdict> {
        self.endpoints.get(id).map(|record| &record.verdict)
    }

    /// The share of its weight that an endpoint has, in 1/256, and when it will have the whole: none
    /// while it does not warm up.
    #[must_use]
    pub fn warmth(&self, id: &str) -> Option<(u16, Nanos)> {
        let record = self.endpoints.get(id)?;
        let whole = self.policy.slow_start?.whole();
        let since = record.warming.filter(|_| record.warmth < FULL_WEIGHT)?;
        Some((record.warmth, since + whole))
    }

    /// Whether most endpoints seem to fail, so that none is ejected.
    #[must_use]
    pub fn has_shared_cause(&self) -> bool {
        self.shared_cause
    }

    /// Puts what follows for decisions into `members`, and says whether anything is other than it was.
    pub fn apply(&self, members: &mut Membership, now: Nanos) -> bool {
        let mut changed = false;
        for (id, record) in &self.endpoints {
            let condition = match record.health() {
                health if health.is_usable() => Condition::Usable,
                Health::Ejected => Condition::Ejected,
                _ if record.active.is_damped(now) => Condition::Damped,
                _ => Condition::Unhealthy,
            };
            changed |= members.set_condition(id, condition, record.warmth);
        }
        changed
    }
}

/// An endpoint with its own copy of its id.
fn entry<'r>(
    endpoints: &'r mut BTreeMap<Arc<str>, Record>,
    id: &str,
) -> Option<(Arc<str>, &'r mut Record)> {
    let (known, _) = endpoints.get_key_value(id)?;
    let known = Arc::clone(known);
    let record = endpoints.get_mut(id)?;
    Some((known, record))
}

/// Brings the verdict in line with the machines; says so if it is another one.
fn settle(
    id: &Arc<str>,
    record: &mut Record,
    cause: Cause,
    evidence: String,
    now: Nanos,
) -> Option<Happening> {
    let (from, to) = (record.verdict.health, record.health());
    if from == to {
        return None;
    }
    let returns = to.is_usable() && !from.is_usable();
    if returns && record.cold {
        record.warming = Some(now);
        record.returned_unseen = !record.is_enabled();
    }
    // Whatever happens from here on is a return.
    record.cold |= to.is_usable();
    let held = record.active.held(now);
    let until = match to {
        Health::Ejected => record.passive.until(),
        _ => held,
    };
    record.verdict = Verdict {
        health: to,
        since: now,
        reason: evidence.clone(),
        until,
    };
    Some(Happening::Endpoint(Transition {
        id: Arc::clone(id),
        from,
        to,
        cause,
        evidence,
        until,
    }))
}
