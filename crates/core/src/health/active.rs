//! What an endpoint's checks say of it.
//!
//! ```text
//!             fails                fails `fall` times in a row
//!  healthy ─────────▶ suspect ───────────────────────────────▶ unhealthy ◀┐
//!    ▲ ▲ passes          │                                      │         │ fails
//!    │ └─────────────────┘                passes, not held down │         │
//!    └───────────────────────────────────────────────────── recovering ───┘
//!          passes `rise` times in a row, not held down
//! ```

use super::flap::Flap;
use super::state::Health;
use crate::clock::Nanos;

/// How endpoints are checked.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// use evenkeel_core::{Nanos, health::{ActivePolicy, ClusterHealth, Health, HealthPolicy, Initial, ProbeResult}};
///
/// let active = ActivePolicy { fall: 1, initial: Initial::Healthy, ..ActivePolicy::default() };
/// let policy = HealthPolicy { active: Some(active), ..HealthPolicy::default() };
/// let mut health = ClusterHealth::new(policy, 7);
/// let _ = health.list(members.listed(), true, Nanos(0));
/// let failed = ProbeResult { passed: false, seen: "connection refused".to_owned() };
/// let _ = health.probed("a", &failed, Nanos::from_secs(1));
/// assert_eq!(health.verdict("a").expect("it is listed").health, Health::Unhealthy);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivePolicy {
    /// Between two checks.
    pub interval: Nanos,
    /// Between two checks once one contradicts what is held of the endpoint.
    pub fast_interval: Nanos,
    /// How long a check may take, over connect, request and the whole answer.
    pub timeout: Nanos,
    /// After how many good answers in a row an endpoint returns, at least 1.
    pub rise: u32,
    /// After how many bad ones in a row it is removed, at least 1.
    pub fall: u32,
    /// How long it stays out from its second removal within ten minutes on, doubling.
    pub hold_down: Nanos,
    /// Whether the first removal costs that already.
    pub hold_down_first: bool,
    /// What an endpoint is before its first check.
    pub initial: Initial,
}

impl Default for ActivePolicy {
    /// Each second, each half second after a bad one, half a second for an answer: a hung endpoint is
    /// out after 2.5 s at worst.
    fn default() -> Self {
        Self {
            interval: Nanos::from_secs(1),
            fast_interval: Nanos::from_millis(500),
            timeout: Nanos::from_millis(500),
            rise: 2,
            fall: 3,
            hold_down: Nanos::from_secs(60),
            hold_down_first: false,
            initial: Initial::Healthy,
        }
    }
}

/// What an endpoint is before its first check.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// use evenkeel_core::{Nanos, health::{ActivePolicy, ClusterHealth, Health, HealthPolicy, Initial, ProbeResult}};
///
/// let active = ActivePolicy { fall: 1, initial: Initial::Healthy, ..ActivePolicy::default() };
/// let policy = HealthPolicy { active: Some(active), ..HealthPolicy::default() };
/// let mut health = ClusterHealth::new(policy, 7);
/// let _ = health.list(members.listed(), true, Nanos(0));
/// let failed = ProbeResult { passed: false, seen: "connection refused".to_owned() };
/// let _ = health.probed("a", &failed, Nanos::from_secs(1));
/// assert_eq!(health.verdict("a").expect("it is listed").health, Health::Unhealthy);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Initial {
    /// It takes requests.
    #[default]
    Healthy,
    /// It takes none until it has passed one.
    ProbeFirst,
}

/// What a check found.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// use evenkeel_core::{Nanos, health::{ActivePolicy, ClusterHealth, Health, HealthPolicy, Initial, ProbeResult}};
///
/// let active = ActivePolicy { fall: 1, initial: Initial::Healthy, ..ActivePolicy::default() };
/// let policy = HealthPolicy { active: Some(active), ..HealthPolicy::default() };
/// let mut health = ClusterHealth::new(policy, 7);
/// let _ = health.list(members.listed(), true, Nanos(0));
/// let failed = ProbeResult { passed: false, seen: "connection refused".to_owned() };
/// let _ = health.probed("a", &failed, Nanos::from_secs(1));
/// assert_eq!(health.verdict("a").expect("it is listed").health, Health::Unhealthy);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeResult {
    /// Whether it is as it should be.
    pub passed: bool,
    /// What was seen, in words: `status 503 is not 200-299`.
    pub seen: String,
}

/// The machine of one endpoint.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Active {
    health: Health,
    /// Good answers in a row.
    passes: u32,
    /// Bad answers in a row.
    failures: u32,
    /// It has never passed a check, and has to.
    awaited: bool,
    flap: Flap,
}

impl Active {
    pub(super) fn new(initial: Initial) -> Self {
        let awaited = initial == Initial::ProbeFirst;
        Self {
            health: if awaited {
                Health::Unhealthy
            } else {
                Health::Healthy
            },
            passes: 0,
            failures: 0,
            awaited,
            flap: Flap::default(),
        }
    }

    pub(super) fn health(&self) -> Health {
        self.health
    }

    /// Whether it has never passed a check, and has to.
    pub(super) fn is_awaited(&self) -> bool {
        self.awaited
    }

    /// Whether it is out since it came and went too often.
    pub(super) fn is_damped(&self, now: Nanos) -> bool {
        !self.health.is_usable() && self.flap.is_damped(now)
    }

    /// Until when it is held out, if it is.
    pub(super) fn held(&self, now: Nanos) -> Option<Nanos> {
        if self.health.is_usable() {
            return None;
        }
        self.flap.held(now)
    }

    /// How long until the next check: sooner while it is in doubt.
    pub(super) fn pace(&self, policy: &ActivePolicy, now: Nanos) -> Nanos {
        let in_doubt = match self.health {
            Health::Suspect | Health::Recovering => true,
            Health::Unhealthy => self.passes > 0 && self.flap.held(now).is_none(),
            _ => false,
        };
        if in_doubt {
            policy.fast_interval
        } else {
            policy.interval
        }
    }

    /// Takes in what a check found; the health before and after may differ.
    pub(super) fn probed(&mut self, passed: bool, policy: &ActivePolicy, now: Nanos) {
        if passed {
            self.passes = self.passes.saturating_add(1);
            self.failures = 0;
            self.passed(policy, now);
        } else {
            self.failures = self.failures.saturating_add(1);
            self.passes = 0;
            self.failed(policy, now);
        }
    }

    fn passed(&mut self, policy: &ActivePolicy, now: Nanos) {
        self.health = match self.health {
            Health::Healthy | Health::Suspect => Health::Healthy,
            _ if self.awaited => Health::Healthy,
            _ if self.flap.held(now).is_some() => Health::Unhealthy,
            _ if self.passes >= policy.rise => Health::Healthy,
            _ => Health::Recovering,
        };
        if self.health == Health::Healthy {
            self.awaited = false;
            self.flap.returned();
        }
    }

    fn failed(&mut self, policy: &ActivePolicy, now: Nanos) {
        self.health = match self.health {
            Health::Healthy | Health::Suspect if self.failures >= policy.fall => {
                self.flap.removed(policy, now);
                Health::Unhealthy
            }
            Health::Healthy | Health::Suspect => Health::Suspect,
            _ => Health::Unhealthy,
        };
    }

    /// What was seen, and what will end it, in words.
    pub(super) fn evidence(&self, policy: &ActivePolicy, seen: &str, now: Nanos) -> String {
        let (passes, failures) = (self.passes, self.failures);
        match self.health {
            Health::Suspect => format!(
                "{} failed ({seen}), removed when {} in a row do",
                checks(failures),
                policy.fall
            ),
            Health::Unhealthy if self.awaited && failures == 0 => {
                "not checked yet, takes requests once it has passed a check".to_owned()
            }
            Health::Unhealthy if self.awaited => {
                format!("has passed no check ({seen}), takes requests once it has")
            }
            Health::Unhealthy if failures == 0 => {
                let removals = self.flap.recent(now);
                format!(
                    "{} passed, but it was removed {removals} times in ten minutes and is held out",
                    checks(passes)
                )
            }
            Health::Unhealthy => {
                let held = match self.flap.held(now) {
                    Some(until) => format!(", in {} at the earliest", span(until.since(now))),
                    None => String::new(),
                };
                format!(
                    "{} in a row failed ({seen}), returns after {} good ones{held}",
                    checks(failures),
                    policy.rise
                )
            }
            Health::Recovering => format!("{} of {} needed passed", checks(passes), policy.rise),
            Health::Healthy | Health::Ejected => format!("{} in a row passed", checks(passes)),
        }
    }
}

/// `1 check`, `3 checks`.
fn checks(count: u32) -> String {
    if count == 1 {
        "1 check".to_owned()
    } else {
        format!("{count} checks")
    }
}

/// A span as people say it: `60 s`, `250 ms`.
pub(super) fn span(span: Nanos) -> String {
    match span.as_millis() {
        ms if ms < 1_000 => format!("{ms} ms"),
        ms => format!("{} s", ms.div_ceil(1_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(active: &mut Active, policy: &ActivePolicy, results: &str) -> Vec<Health> {
        let results = results.bytes().enumerate();
        results
            .map(|(at, result)| {
                active.probed(result == b'+', policy, Nanos::from_secs(at as u64));
                active.health()
            })
            .collect()
    }

    #[test]
    fn it_takes_fall_failures_and_rise_passes_in_a_row() {
        use Health::{Healthy, Recovering, Suspect, Unhealthy};
        let policy = ActivePolicy::default();
        let mut active = Active::new(Initial::Healthy);
        assert_eq!(
            run(&mut active, &policy, "+--+---+-++"),
            [
                Healthy, Suspect, Suspect, Healthy, Suspect, Suspect, Unhealthy, Recovering,
                Unhealthy, Recovering, Healthy
            ]
        );
    }

    /// Case C02: scattered failures over days add up to nothing.
    #[test]
    fn c02_alternating_answers_change_nothing() {
        let policy = ActivePolicy {
            fall: 2,
            ..ActivePolicy::default()
        };
        let mut active = Active::new(Initial::Healthy);
        let seen = run(&mut active, &policy, &"+-".repeat(10));
        assert!(seen.iter().all(|health| health.is_usable()), "{seen:?}");
    }

    #[test]
    fn one_good_answer_admits_what_was_never_checked() {
        let policy = ActivePolicy {
            initial: Initial::ProbeFirst,
            ..ActivePolicy::default()
        };
        let mut active = Active::new(policy.initial);
        assert!(!active.health().is_usable());
        assert_eq!(
            run(&mut active, &policy, "-+"),
            [Health::Unhealthy, Health::Healthy]
        );
    }

    #[test]
    fn it_is_asked_sooner_while_it_is_in_doubt() {
        let policy = ActivePolicy::default();
        let now = Nanos(0);
        let mut active = Active::new(Initial::Healthy);
        assert_eq!(active.pace(&policy, now), policy.interval);
        active.probed(false, &policy, now);
        assert_eq!(active.pace(&policy, now), policy.fast_interval);
        active.probed(false, &policy, now);
        active.probed(false, &policy, now);
        assert_eq!(active.pace(&policy, now), policy.interval);
        active.probed(true, &policy, now);
        assert_eq!(active.pace(&policy, now), policy.fast_interval);
    }

    #[test]
    fn who_comes_and_goes_is_held_out_and_in_the_end_damped() {
        let policy = ActivePolicy {
            fall: 1,
            rise: 1,
            ..ActivePolicy::default()
        };
        let (mut active, at) = (Active::new(Initial::Healthy), Nanos::from_secs);
        active.probed(false, &policy, at(0));
        assert_eq!(active.held(at(0)), None, "the first time is free");
        active.probed(true, &policy, at(1));
        active.probed(false, &policy, at(2));
        assert_eq!(
            (active.held(at(2)), active.is_damped(at(2))),
            (Some(at(62)), false)
        );
        active.probed(true, &policy, at(61));
        assert_eq!(active.health(), Health::Unhealthy, "it is held out");
        let free = ActivePolicy {
            hold_down: Nanos(0),
            ..policy
        };
        let mut active = Active::new(Initial::Healthy);
        for second in 0..4 {
            active.probed(true, &free, at(second));
            active.probed(false, &free, at(second));
        }
        assert!(active.is_damped(at(4)) && active.held(at(4)).is_some());
        let until = active.held(at(4)).expect("damped");
        active.probed(true, &free, until);
        assert_eq!(
            (active.health(), active.is_damped(until)),
            (Health::Healthy, false)
        );
        assert_eq!(active.held(until), None);
    }

    #[test]
    fn what_was_seen_and_what_will_end_it_is_said() {
        let policy = ActivePolicy::default();
        let mut active = Active::new(Initial::ProbeFirst);
        let (now, seen) = (Nanos::from_secs(1), "status 503");
        let mut said = |result: &str| {
            for result in result.bytes() {
                active.probed(result == b'+', &policy, now);
            }
            active.evidence(&policy, seen, now)
        };
        assert_eq!(
            said(""),
            "not checked yet, takes requests once it has passed a check"
        );
        assert_eq!(
            said("-"),
            "has passed no check (status 503), takes requests once it has"
        );
        assert_eq!(said("+"), "1 check in a row passed");
        assert_eq!(said("+"), "2 checks in a row passed");
        assert_eq!(
            said("--"),
            "2 checks failed (status 503), removed when 3 in a row do"
        );
        assert_eq!(
            said("-"),
            "3 checks in a row failed (status 503), returns after 2 good ones"
        );
        assert_eq!(said("+"), "1 check of 2 needed passed");
        let again = "3 checks in a row failed (status 503), returns after 2 good ones, in 60 s at the earliest";
        assert_eq!(said("+---"), again);
        let held = "2 checks passed, but it was removed 2 times in ten minutes and is held out";
        assert_eq!(said("++"), held);
    }

    #[test]
    fn spans_are_said_in_whole_units_and_never_too_short() {
        let said = [0, 250, 999, 1_000, 1_001, 60_000].map(|ms| span(Nanos::from_millis(ms)));
        assert_eq!(said, ["0 ms", "250 ms", "999 ms", "1 s", "2 s", "60 s"]);
    }
}
