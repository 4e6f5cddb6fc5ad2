//! What a decision is about, and why there may be none.

use crate::clock::Nanos;
use crate::endpoint::Serial;

/// The endpoints that one request has already been sent to.
///
/// A retry never lands on one of them. Holds up to [`Attempts::MAX`]; later ones are forgotten
/// oldest first, since a request that has failed that often is past saving.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Attempts, Serial};
///
/// let mut attempts = Attempts::default();
/// attempts.push(Serial(7));
/// assert!(attempts.contains(Serial(7)));
/// assert_eq!(attempts.count(), 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Attempts {
    /// Only as many as `count` says are set: an empty list costs a few stores, no tags.
    tried: [Serial; Self::MAX],
    count: u8,
}

impl Attempts {
    /// The most endpoints that are remembered.
    pub const MAX: usize = 8;

    /// Remembers an endpoint as tried.
    pub fn push(&mut self, serial: Serial) {
        self.tried[usize::from(self.count) % Self::MAX] = serial;
        self.count = self.count.saturating_add(1);
    }

    /// Goes on from a count whose endpoints are not known.
    pub(crate) fn resume(&mut self, count: u8) {
        self.count = count;
    }

    /// Whether the endpoint has been tried.
    #[inline]
    #[must_use]
    pub fn contains(&self, serial: Serial) -> bool {
        self.remembered().contains(&serial)
    }

    /// The endpoints that are remembered.
    pub fn iter(&self) -> impl Iterator<Item = Serial> + use<'_> {
        self.remembered().iter().copied()
    }

    fn remembered(&self) -> &[Serial] {
        &self.tried[..usize::from(self.count).min(Self::MAX)]
    }

    /// How many attempts there have been, 0..=255.
    #[inline]
    #[must_use]
    pub fn count(&self) -> u8 {
        self.count
    }
}

/// What a decision may depend on, beside the snapshot. Fields that a strategy ignores cost nothing.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Nanos, PickContext};
///
/// let ctx = PickContext::at(Nanos::from_secs(1)).with_key(0x51ed);
/// assert_eq!(ctx.key, Some(0x51ed));
/// ```
#[derive(Clone, Debug, Default)]
pub struct PickContext {
    /// The host's monotonic time.
    pub now: Nanos,
    /// The hash of the request's key, for the strategies that keep a key on an endpoint.
    pub key: Option<u64>,
    /// Where this request has been before.
    pub attempts: Attempts,
    /// Which endpoints it may use: 0 for all, else the view of that number, counted from 1. See
    /// [`crate::Membership::set_views`].
    pub view: u16,
    /// The endpoint that the request's client was with before: it is asked first, and refuses as it
    /// would refuse anybody.
    pub affinity: Option<Serial>,
}

impl PickContext {
    /// A first attempt at `now`, without a key.
    #[must_use]
    pub fn at(now: Nanos) -> Self {
        Self {
            now,
            ..Self::default()
        }
    }

    /// Sets the hash of the request's key.
    #[must_use]
    pub fn with_key(mut self, key: u64) -> Self {
        self.key = Some(key);
        self
    }

    /// Sets which endpoints the request may use.
    #[must_use]
    pub fn with_view(mut self, view: u16) -> Self {
        self.view = view;
        self
    }
}

/// Why no endpoint was chosen.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Membership, Nanos, NoEndpoint, PickContext, Picker, PickerSeed, strategy::registry};
///
/// let empty = Membership::new("web", registry::build("random", &[])?).snapshot();
/// let mut picker = Picker::new(PickerSeed { root: 7, picker: 0 });
/// let picked = picker.pick(&empty, &PickContext::at(Nanos(0)));
/// assert_eq!(picked.err(), Some(NoEndpoint::Empty));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoEndpoint {
    /// Every endpoint that could be used is at its cap.
    #[error("every endpoint is at its capacity")]
    AllFull,
    /// The request has no key, and the cluster is told to fail then.
    #[error("the request has no key to choose by")]
    NoKey,
    /// No endpoint in service has the labels that are asked for.
    #[error("no endpoint in service has the labels asked for")]
    NoneLabelled,
    /// There are more endpoints than the strategy's table has slots.
    #[error("there are more endpoints than the strategy can choose between")]
    TooMany,
    /// There is no view of the number that the request asks for.
    #[error("there is no such view of the cluster")]
    UnknownView,
    /// Every endpoint that could be used has been tried by this request.
    #[error("every endpoint has been tried")]
    AllTried,
    /// The cluster has no endpoints.
    #[error("the cluster has no endpoints")]
    Empty,
    /// Every endpoint is draining, disabled, or has weight 0.
    #[error("every endpoint is draining, disabled or has weight 0")]
    NoneInService,
    /// Too few endpoints are healthy, and the cluster is told to fail rather than to panic.
    #[error("no endpoint is healthy")]
    NoneHealthy,
}

impl NoEndpoint {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::AllFull,
        Self::NoKey,
        Self::NoneLabelled,
        Self::TooMany,
        Self::UnknownView,
        Self::AllTried,
        Self::Empty,
        Self::NoneInService,
        Self::NoneHealthy,
    ];

    /// The word for it in receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AllFull => "all_full",
            Self::NoKey => "no_key",
            Self::NoneLabelled => "none_labelled",
            Self::TooMany => "too_many",
            Self::UnknownView => "unknown_view",
            Self::AllTried => "all_tried",
            Self::Empty => "empty",
            Self::NoneInService => "none_in_service",
            Self::NoneHealthy => "none_healthy",
        }
    }

    /// The reason of that word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_remembered_and_bounded() {
        let mut attempts = Attempts::default();
        assert!(!attempts.contains(Serial(0)));
        for serial in 0..9 {
            attempts.push(Serial(serial));
        }
        assert_eq!(attempts.count(), 9);
        assert!(!attempts.contains(Serial(0)));
        assert!((1..9).all(|serial| attempts.contains(Serial(serial))));
    }
}
