//! The words for how an endpoint is, and for what changes it.

use std::sync::Arc;

use crate::clock::Nanos;

/// How an endpoint is, from best to worst: of two opinions the worse one counts.
///
/// # Examples
///
/// ```
/// use evenkeel_core::health::Health;
///
/// assert!(Health::Suspect.is_usable());
/// assert!(!Health::Ejected.is_usable());
/// assert_eq!(Health::Ejected.as_str(), "ejected");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Health {
    /// Nothing speaks against it.
    #[default]
    Healthy,
    /// It failed a check, and takes requests until it has failed enough of them.
    Suspect,
    /// It failed requests, and takes none for a while.
    Ejected,
    /// It was unhealthy and answers its checks again, not often enough yet.
    Recovering,
    /// It failed its checks, and takes no requests.
    Unhealthy,
}

impl Health {
    /// All of them, from best to worst.
    pub const ALL: [Self; 5] = [
        Self::Healthy,
        Self::Suspect,
        Self::Ejected,
        Self::Recovering,
        Self::Unhealthy,
    ];

    /// The word for it in the API and in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Suspect => "suspect",
            Self::Ejected => "ejected",
            Self::Recovering => "recovering",
            Self::Unhealthy => "unhealthy",
        }
    }

    /// Whether an endpoint in this state takes requests.
    #[must_use]
    pub const fn is_usable(self) -> bool {
        matches!(self, Self::Healthy | Self::Suspect)
    }
}

/// What decisions need to know of an endpoint's health.
///
/// # Examples
///
/// ```
/// use evenkeel_core::health::Condition;
///
/// assert_ne!(Condition::Ejected, Condition::Unhealthy);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// It takes requests.
    #[default]
    Usable,
    /// It takes none since its checks failed.
    Unhealthy,
    /// It takes none for a while since its requests failed.
    Ejected,
    /// It takes none since it came and went too often. That is known of it, so it is not counted
    /// where few healthy endpoints mean panic.
    Damped,
}

/// Why an endpoint's health changed.
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
/// use evenkeel_core::health::{Cause, Happening, Health};
///
/// let happened = health.runs([("a", 5)].into_iter(), Nanos::from_secs(1));
/// let Happening::Endpoint(transition) = &happened[0] else { panic!("it is of an endpoint") };
/// assert_eq!((&*transition.id, transition.to), ("a", Health::Ejected));
/// assert_eq!(transition.cause, Cause::ConsecutiveFailures);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Checks failed.
    ChecksFailed,
    /// Checks passed.
    ChecksPassed,
    /// Requests failed, one after the other.
    ConsecutiveFailures,
    /// Too large a part of its requests failed.
    FailureRate,
    /// Its answers took much longer than those of the others.
    Latency,
    /// The time of its ejection is over.
    EjectionOver,
    /// Another address under the same id: nothing is known of it.
    NewAddress,
    /// What had found it unhealthy was turned off.
    TurnedOff,
    /// The agent beside it says that it is down.
    AgentDown,
    /// The agent beside it says that it is up.
    AgentUp,
    /// A quorum of the gateways of the fleet holds it out.
    FleetOut,
    /// No quorum does any more.
    FleetIn,
}

impl Cause {
    /// Those of ejections.
    pub const OF_EJECTIONS: [Self; 3] =
        [Self::ConsecutiveFailures, Self::FailureRate, Self::Latency];

    /// The word for it in events and in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChecksFailed => "checks_failed",
            Self::ChecksPassed => "checks_passed",
            Self::ConsecutiveFailures => "consecutive_failures",
            Self::FailureRate => "failure_rate",
            Self::Latency => "latency",
            Self::EjectionOver => "ejection_over",
            Self::NewAddress => "new_address",
            Self::TurnedOff => "turned_off",
            Self::AgentDown => "agent_down",
            Self::AgentUp => "agent_up",
            Self::FleetOut => "fleet_out",
            Self::FleetIn => "fleet_in",
        }
    }
}

/// An endpoint's health changed.
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
/// use evenkeel_core::health::{Cause, Happening, Health};
///
/// let happened = health.runs([("a", 5)].into_iter(), Nanos::from_secs(1));
/// let Happening::Endpoint(transition) = &happened[0] else { panic!("it is of an endpoint") };
/// assert_eq!((&*transition.id, transition.to), ("a", Health::Ejected));
/// assert_eq!(transition.cause, Cause::ConsecutiveFailures);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Which one's.
    pub id: Arc<str>,
    /// What it was.
    pub from: Health,
    /// What it is.
    pub to: Health,
    /// Why, in a word.
    pub cause: Cause,
    /// What was seen, and what will end it, in words.
    pub evidence: String,
    /// When it ends, if it ends by itself; before that it does not.
    pub until: Option<Nanos>,
}
