//! The guard of a call at the endpoint that was chosen for it.

use std::fmt;
use std::sync::Arc;

use evenkeel_core::{Endpoint, Nanos, Outcome, OwnedLease, Serial};

use crate::clock;
use crate::rules::Judgement;
use crate::settings::Settings;
use crate::trail::Mark;
use crate::view::LocalView;

/// A call in flight at an endpoint.
///
/// It counts from the moment of the choice, and says how the call ended exactly once. Dropped before anybody
/// said so it blames nobody: the caller changed its mind. It may go to another thread.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Cluster, Settings, core::{Endpoint, Outcome}};
///
/// let cluster = Cluster::new(Settings::new("web"), [Endpoint::new("a", "10.0.0.1:80")], |_: &Endpoint| ())?;
/// let in_flight = || cluster.stats().endpoints[0].in_flight;
/// let lease = cluster.tries().next()?.into_lease();
/// assert_eq!(in_flight(), 1);
/// lease.finish(Outcome::Success);
/// assert_eq!(in_flight(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a lease that is dropped at once counts for nothing"]
pub struct CallLease {
    /// None once it has ended.
    lease: Option<OwnedLease<LocalView>>,
    mark: Option<Mark>,
    /// What the head of the answer says, and when it came.
    answered: Option<(Outcome, Nanos)>,
}

impl CallLease {
    pub(crate) fn new(lease: OwnedLease<LocalView>, mark: Option<Mark>) -> Self {
        Self {
            lease: Some(lease),
            mark,
            answered: None,
        }
    }

    /// The endpoint; none once the call has ended.
    #[must_use]
    pub fn endpoint(&self) -> Option<&Endpoint> {
        let lease = self.lease.as_ref()?;
        Some(lease.holder().endpoint(lease.index()))
    }

    /// What the endpoint was chosen from. Held until the call has ended.
    pub(crate) fn cluster(&self) -> &Arc<LocalView> {
        self.held().holder()
    }

    pub(crate) fn settings(&self) -> &Settings {
        self.cluster().settings()
    }

    /// When the endpoint was chosen.
    pub(crate) fn started(&self) -> Nanos {
        self.held().started()
    }

    /// The identity of the endpoint.
    pub(crate) fn serial(&self) -> Serial {
        self.held().state().serial()
    }

    // Whoever ends a call gives up its lease.
    fn held(&self) -> &OwnedLease<LocalView> {
        self.lease.as_ref().expect("it has not ended")
    }

    /// Notes what an answer says that has begun: this counts when the lease is dropped, with the time until
    /// now as the endpoint's latency. How long its rest takes is up to whoever reads it.
    pub fn answered(&mut self, judgement: Judgement) {
        self.note(&judgement);
        self.answered = Some((judgement.outcome, clock::now()));
    }

    /// Says how the call ended.
    pub fn finish(mut self, outcome: Outcome) {
        let at = match self.answered {
            Some((Outcome::Success, at)) if outcome == Outcome::Success => at,
            _ => clock::now(),
        };
        self.end(outcome, at);
    }

    /// Says that the call failed, and why in a word.
    pub(crate) fn fail(mut self, judgement: &Judgement) {
        self.note(judgement);
        self.end(judgement.outcome, clock::now());
    }

    fn note(&self, judgement: &Judgement) {
        if let Some(mark) = &self.mark {
            mark.note(|decision| {
                decision.status = judgement.status.or(decision.status);
                decision.error = judgement.word.or(decision.error);
            });
        }
    }

    fn end(&mut self, outcome: Outcome, at: Nanos) {
        let Some(lease) = self.lease.take() else {
            return;
        };
        if let Some(mark) = self.mark.take() {
            mark.note(|decision| {
                (decision.outcome, decision.ended_at) = (Some(outcome), Some(at));
            });
        }
        let index = lease.index();
        lease
            .holder()
            .count(index, outcome, at.since(lease.started()));
        if outcome != Outcome::Failure {
            lease.finish(outcome, at);
            return;
        }
        let view = Arc::clone(&lease.holder().view);
        lease.finish(outcome, at);
        let most = view.shared.settings.health.outlier;
        let run = view.snapshot.candidates()[index].state().failures_in_row();
        if most.is_some_and(|most| run.is_multiple_of(most.consecutive_failures.max(1))) {
            view.shared.accuse();
        }
    }
}

impl Drop for CallLease {
    fn drop(&mut self) {
        let (outcome, at) = match self.answered {
            Some((Outcome::Success, at)) => (Outcome::Success, at),
            Some((outcome, _)) => (outcome, clock::now()),
            None => (Outcome::Cancelled, clock::now()),
        };
        self.end(outcome, at);
    }
}

impl fmt::Debug for CallLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoint = self.endpoint().map(Endpoint::id);
        f.debug_struct("CallLease")
            .field("endpoint", &endpoint)
            .field("answered", &self.answered)
            .finish_non_exhaustive()
    }
}
