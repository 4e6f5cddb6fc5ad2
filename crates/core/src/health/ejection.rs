//! Who is ejected for what came of its requests, and when nobody is.

use std::collections::{BTreeMap, BTreeSet};

use super::active::span;
use super::cluster::{ClusterHealth, entry};
use super::outlier::{Observed, OutlierPolicy, judge, judged};
use super::record::settle;
use super::state::Cause;
use super::verdict::Happening;
use crate::clock::Nanos;

impl ClusterHealth {
    /// How many failures in a row endpoints have at the moment; to be told when one has had enough.
    pub fn runs<'r>(
        &mut self,
        runs: impl Iterator<Item = (&'r str, u32)>,
        now: Nanos,
    ) -> Vec<Happening> {
        self.runs_known(runs, |_| None, now)
    }

    /// As [`runs`](Self::runs), by one who may know what the last failure of an endpoint was, in a few words:
    /// `status 500`.
    pub fn runs_known<'r>(
        &mut self,
        runs: impl Iterator<Item = (&'r str, u32)>,
        last: impl Fn(&str) -> Option<String>,
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
            let mut evidence = format!("{run} requests in a row failed");
            if let Some(last) = last(id) {
                evidence.push_str(&format!(" (the last: {last})"));
            }
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
        let evidence = format!("{seen}, out for {}", span(time));
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

    /// Whether most endpoints seem to fail, so that none is ejected.
    #[must_use]
    pub fn has_shared_cause(&self) -> bool {
        self.shared_cause
    }
}
