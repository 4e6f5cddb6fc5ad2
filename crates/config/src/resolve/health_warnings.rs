//! Settings of checks, ejection and warm-up that are right and cannot work, each with the arithmetic.

use std::ops::Range;

use evenkeel_core::Nanos;

use super::health::duration;
use crate::Mistake;
use crate::model::cluster::{Cluster, ReportSource};
use crate::raw::section::Section;
use crate::raw::walk::Walk;

/// From so many probes a second by all of the example's gateways on they are a load of their own.
const PROBES_PER_SECOND_MAX: f64 = 480.0;

/// From so many a second at each endpoint on, too.
const PROBES_PER_ENDPOINT_MAX: f64 = 10.0;

/// How many gateways the example has.
const GATEWAYS: f64 = 12.0;

/// What a cluster's settings come to, where that is not what they are for.
pub(super) fn warn(walk: &mut Walk<'_>, section: &Section<'_>, cluster: &Cluster) {
    let at = |table: &str, key: &str| -> Option<Range<usize>> {
        let table = section.get(table)?;
        let toml::de::DeValue::Table(keys) = table.value.get_ref() else {
            return None;
        };
        let mut keys = keys.iter();
        let written = keys.find(|(name, _)| name.get_ref() == key);
        written.map(|(name, _)| name.span())
    };
    let table = |name: &str| section.get(name).map(|entry| entry.span);
    let mut say = |place: Option<Range<usize>>, said: Option<(String, String)>| {
        if let Some((place, (message, help))) = place.zip(said) {
            walk.warning(place, Mistake::new(message, help));
        }
    };
    say(at("dynamic_weights", "report"), unheard(cluster));
    say(
        at("health", "interval").or(table("health")),
        probe_rate(cluster),
    );
    say(
        at("health", "timeout").or(at("health", "interval")),
        overlong(cluster),
    );
    say(
        at("health", "fast_interval").or(at("health", "interval")),
        not_faster(cluster),
    );
    say(at("outlier", "max_ejected"), nobody_ejected(cluster));
    say(
        at("outlier", "max_ejection").or(at("outlier", "base_ejection")),
        no_growth(cluster),
    );
    say(
        at("slow_start", "window").or(at("health", "interval")),
        warm_between_checks(cluster),
    );
}

fn unheard(cluster: &Cluster) -> Option<(String, String)> {
    let is_heard = cluster.endpoints.iter().any(|it| it.agent().is_some());
    let report = cluster.dynamic_weights?.report;
    (report == ReportSource::Agent && !is_heard && cluster.discovery.is_none()).then(|| {
        let message = "report = \"agent\" hears nobody: no endpoint has an agent";
        let help = "say where it is: { address = \"…\", agent = \"127.0.0.1:9102\" }";
        (message.to_owned(), help.to_owned())
    })
}

/// `12 gateways x 40 endpoints probe 480 times a second`.
fn probe_rate(cluster: &Cluster) -> Option<(String, String)> {
    let interval = cluster.health.as_ref()?.policy.interval;
    let each = 1e9 / interval.0.max(1) as f64;
    let count = cluster.endpoints.len();
    let all = each * count as f64;
    let few = all * GATEWAYS < PROBES_PER_SECOND_MAX && each <= PROBES_PER_ENDPOINT_MAX;
    if count == 0 || few {
        return None;
    }
    let message = format!(
        "{count} endpoints each {:?}: this gateway probes {all:.0} times a second; \
         {GATEWAYS} gateways x {count} endpoints probe {:.0} times a second, {:.0} of them at each endpoint",
        duration(interval),
        all * GATEWAYS,
        each * GATEWAYS
    );
    Some((message, "make the interval longer".to_owned()))
}

fn overlong(cluster: &Cluster) -> Option<(String, String)> {
    let policy = cluster.health.as_ref()?.policy;
    let worst = policy.interval.0
        + u64::from(policy.fall - 1) * policy.fast_interval.0.max(policy.timeout.0)
        + policy.timeout.0;
    (policy.timeout > policy.interval).then(|| {
        let message = format!(
            "a check may take {:?} and is due each {:?}: one that hangs holds up the next, and a dead endpoint is found after {:?} at worst",
            duration(policy.timeout),
            duration(policy.interval),
            duration(Nanos(worst))
        );
        (message, "make the timeout shorter than the interval".to_owned())
    })
}

fn not_faster(cluster: &Cluster) -> Option<(String, String)> {
    let policy = cluster.health.as_ref()?.policy;
    (policy.fast_interval > policy.interval).then(|| {
        let message = format!(
            "after a bad answer the next check comes {:?} later, and else each {:?}: the doubtful are checked less often",
            duration(policy.fast_interval),
            duration(policy.interval)
        );
        (message, "make fast_interval the shorter one".to_owned())
    })
}

fn nobody_ejected(cluster: &Cluster) -> Option<(String, String)> {
    let (policy, count) = (cluster.outlier?, cluster.endpoints.len());
    let share = policy.max_ejected;
    if share <= 0.0 {
        let help = "write outlier = false if that is meant";
        return Some(("max_ejected = 0 ejects none".to_owned(), help.to_owned()));
    }
    if count == 1 {
        let message = format!(
            "1 endpoint with max_ejected {share} can eject none: the last one is never ejected"
        );
        return Some((
            message,
            "write outlier = false, or add endpoints".to_owned(),
        ));
    }
    let rounds_to_nothing = count > 1 && count as f64 * share + 1e-9 < 1.0;
    rounds_to_nothing.then(|| {
        let message = format!(
            "{count} endpoints with max_ejected {share} make {:.1}, which rounds to none: one may be out all the same",
            count as f64 * share
        );
        (message, format!("write max_ejected = {:.2} or more, or leave it out", 1.0 / count as f64))
    })
}

fn no_growth(cluster: &Cluster) -> Option<(String, String)> {
    let policy = cluster.outlier?;
    (policy.max_ejection < policy.base_ejection).then(|| {
        let message = format!(
            "the longest ejection, {:?}, is shorter than the first one, {:?}: all last {:?}",
            duration(policy.max_ejection),
            duration(policy.base_ejection),
            duration(policy.base_ejection)
        );
        (message, "make max_ejection the longer one".to_owned())
    })
}

fn warm_between_checks(cluster: &Cluster) -> Option<(String, String)> {
    let (slow, check) = (cluster.slow_start?, cluster.health.as_ref()?);
    let interval = check.policy.interval;
    (slow.window < interval).then(|| {
        let message = format!(
            "an endpoint is warm after {:?} and checked each {:?}: one that the first requests kill has its whole share before that is noticed",
            duration(slow.window),
            duration(interval)
        );
        (message, "make the window several intervals long".to_owned())
    })
}
