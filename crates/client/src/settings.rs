//! How a cluster behaves.

use std::sync::Arc;

use evenkeel_core::health::{ActivePolicy, HealthPolicy, OutlierPolicy, SlowStart};
use evenkeel_core::strategy::registry::{self, BuildError};
use evenkeel_core::strategy::{Strategy, Value};
use evenkeel_core::{
    KeyPolicy, Membership, Nanos, PanicThreshold, QueuePolicy, RetryPolicy, RetryRules, Subset,
    Watermarks,
};

use crate::checks::{self, Check, Checker};
use crate::observe::Observe;

/// The shortest interval of [`Settings::outlier`]: with none the thread that judges would never rest.
const INTERVAL_MIN: Nanos = Nanos::from_millis(10);

/// How a cluster behaves: what a `[cluster.NAME]` table is to the gateway, with the same defaults.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use evenkeel_client::Settings;
///
/// let settings = Settings::new("users")
///     .strategy("peak_ewma", &[])?
///     .capacity(100)
///     .queue(1000, Duration::from_secs(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    pub(crate) name: Arc<str>,
    pub(crate) strategy: Arc<dyn Strategy>,
    pub(crate) retry: RetryRules,
    pub(crate) budget: RetryPolicy,
    pub(crate) health: HealthPolicy,
    pub(crate) checker: Option<Checker>,
    pub(crate) panic: PanicThreshold,
    pub(crate) keys: KeyPolicy,
    pub(crate) cap: Option<u32>,
    pub(crate) watermarks: Option<Watermarks>,
    pub(crate) queue: Option<QueuePolicy>,
    pub(crate) zone: Option<Arc<str>>,
    pub(crate) subset: Option<Subset>,
    pub(crate) seed: Option<u64>,
    pub(crate) observers: Vec<Arc<dyn Observe>>,
}

impl Settings {
    /// The defaults: `least_request`; two tries after a failed connect, a reset or a 503, within a budget of
    /// a fifth of the calls; ejection of endpoints that fail; warm-up of those that join.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        let strategy =
            registry::find(registry::DEFAULT).map(|known| (known.build)(&Default::default()));
        Self {
            name: name.into(),
            strategy: strategy.unwrap_or_else(|| unreachable!("the default is registered")),
            retry: RetryRules::default(),
            budget: RetryPolicy::default(),
            health: HealthPolicy {
                active: None,
                outlier: Some(OutlierPolicy::default()),
                slow_start: Some(SlowStart::default()),
            },
            checker: None,
            panic: PanicThreshold::default(),
            keys: KeyPolicy::default(),
            cap: None,
            watermarks: None,
            queue: None,
            zone: None,
            subset: None,
            seed: None,
            observers: Vec::new(),
        }
    }

    /// Chooses endpoints by the strategy of that name, with parameters.
    ///
    /// # Errors
    ///
    /// When there is no such strategy, or not with these parameters; the error says what would be right.
    pub fn strategy(self, name: &str, params: &[(String, Value)]) -> Result<Self, BuildError> {
        let strategy = registry::build(name, params)?;
        Ok(self.own_strategy(strategy))
    }

    /// Chooses endpoints by a strategy of one's own: see the [guide of the core's
    /// trait](evenkeel_core::strategy).
    ///
    /// It may call clusters while it chooses, also its own as long as that comes to an end; each such call is a slow
    /// one. A strategy that asks or changes its own cluster while it makes a table panics: the cluster waits for
    /// that.
    #[must_use]
    pub fn own_strategy(mut self, strategy: Arc<dyn Strategy>) -> Self {
        self.strategy = strategy;
        self
    }

    /// What is tried again, and how often. [`RetryRules::attempts`] of 1: nothing.
    #[must_use]
    pub fn retry(mut self, rules: RetryRules) -> Self {
        self.retry = rules;
        self
    }

    /// How many retries there may be at all.
    #[must_use]
    pub fn retry_budget(mut self, budget: RetryPolicy) -> Self {
        self.budget = budget;
        self
    }

    /// When an endpoint is ejected for what its calls come to; none: never. An interval below 10 ms counts as 10 ms.
    #[must_use]
    pub fn outlier(mut self, policy: Option<OutlierPolicy>) -> Self {
        self.health.outlier = policy.map(|policy| OutlierPolicy {
            interval: policy.interval.max(INTERVAL_MIN),
            ..policy
        });
        self
    }

    /// Checks endpoints: those that fail [`ActivePolicy::fall`] checks in a row get no calls until they have passed
    /// [`ActivePolicy::rise`]. By a thread of its own. A span below 10 ms counts as 10 ms.
    ///
    /// # Examples
    ///
    /// ```
    /// use evenkeel_client::{Settings, TcpCheck, core::health::ActivePolicy};
    ///
    /// // By the defaults a hung endpoint is out within 3 s.
    /// let settings = Settings::new("users").checks(ActivePolicy::default(), TcpCheck);
    /// ```
    #[must_use]
    pub fn checks(mut self, policy: ActivePolicy, check: impl Check) -> Self {
        self.health.active = Some(checks::sensible(policy));
        self.checker = Some(Checker(Arc::new(check)));
        self
    }

    /// How endpoints warm up that join or return; none: not at all.
    #[must_use]
    pub fn slow_start(mut self, policy: Option<SlowStart>) -> Self {
        self.health.slow_start = policy;
        self
    }

    /// Below which share of healthy endpoints all are used.
    #[must_use]
    pub fn panic_threshold(mut self, threshold: PanicThreshold) -> Self {
        self.panic = threshold;
        self
    }

    /// What is done with calls that have no key, under a strategy that chooses by key.
    #[must_use]
    pub fn keys(mut self, policy: KeyPolicy) -> Self {
        self.keys = policy;
        self
    }

    /// The most calls in flight at an endpoint that says nothing of its own capacity; 0 counts as 1.
    #[must_use]
    pub fn capacity(mut self, calls: u32) -> Self {
        self.cap = Some(calls.max(1));
        self
    }

    /// From which share of its capacity on an endpoint is left alone while others are less busy.
    #[must_use]
    pub fn watermarks(mut self, marks: Watermarks) -> Self {
        self.watermarks = Some(marks);
        self
    }

    /// How many calls wait for a slot when all endpoints are full, and how long. A call is bound to an
    /// endpoint only when a slot opens.
    #[must_use]
    pub fn queue(mut self, size: u32, timeout: std::time::Duration) -> Self {
        let timeout = Nanos::from(timeout);
        self.queue = Some(QueuePolicy { size, timeout });
        self
    }

    /// The zone that this process is in: endpoints of the same one come first, as far as they suffice.
    #[must_use]
    pub fn zone(mut self, zone: impl Into<Arc<str>>) -> Self {
        self.zone = Some(zone.into());
        self
    }

    /// Uses a few endpoints of a large cluster only; `caller` tells this process from others.
    #[must_use]
    pub fn subset(mut self, size: usize, caller: impl Into<Arc<str>>) -> Self {
        self.subset = Some(Subset::new(size, caller));
        self
    }

    /// Where random numbers and schedules start, for tests. Else each process has its own.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Tells somebody what happens: see [`Observe`].
    #[must_use]
    pub fn observe(mut self, observer: Arc<dyn Observe>) -> Self {
        self.observers.push(observer);
        self
    }

    /// Whether tries have timers.
    pub(crate) fn has_timers(&self) -> bool {
        self.retry.per_try_timeout.is_some() || self.retry.hedge_after.is_some()
    }

    /// Whether calls have to be copied before they are sent.
    pub(crate) fn repeats(&self) -> bool {
        self.retry.attempts > 1
    }

    /// A cluster without endpoints that goes by these settings.
    pub(crate) fn membership(&self) -> Membership {
        let mut members = Membership::new(Arc::clone(&self.name), Arc::clone(&self.strategy));
        members.set_panic(self.panic);
        members.set_key_policy(self.keys);
        members.set_zone(self.zone.clone());
        members.set_subset(self.subset.clone());
        members.set_watermarks(self.watermarks);
        members.set_first_cap(self.cap);
        if let Some(late) = self.retry.per_try_timeout {
            members.set_failure_latency(late);
        }
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_of_nothing_lets_the_judge_rest() {
        let policy = |interval| OutlierPolicy {
            interval,
            ..OutlierPolicy::default()
        };
        let interval = |settings: Settings| settings.health.outlier.map(|policy| policy.interval);
        let none = Settings::new("web").outlier(Some(policy(Nanos(0))));
        assert_eq!(interval(none), Some(INTERVAL_MIN));
        let second = Settings::new("web").outlier(Some(policy(Nanos::from_secs(1))));
        assert_eq!(interval(second), Some(Nanos::from_secs(1)));
    }
}
