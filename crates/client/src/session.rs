//! One call: where it has been, and whether it may go elsewhere.

use std::sync::Arc;

use evenkeel_core::{
    Ask, NoEndpoint, PickContext, Priority, Receipt, Refused, Repeatable, ShedReason, Slot, Waiting,
};

use crate::clock;
use crate::cluster::Inner;
use crate::connect::Connect;
use crate::counters::Counted;
use crate::lease::CallLease;
use crate::local::Chosen;
use crate::rules::Judgement;
use crate::trail::Trail;

/// One call, over all of its tries.
pub(crate) struct Session<C: Connect> {
    pub(crate) cluster: Arc<Inner<C>>,
    ctx: PickContext,
    pub(crate) priority: Priority,
    trail: Option<Arc<Trail>>,
    /// Why there is no other endpoint.
    nobody: Option<NoEndpoint>,
}

/// An endpoint that a call goes to.
pub(crate) struct At<S> {
    pub(crate) service: S,
    pub(crate) lease: CallLease,
}

impl<C: Connect> Session<C> {
    pub(crate) fn new(
        cluster: Arc<Inner<C>>,
        key: Option<u64>,
        priority: Priority,
        trail: Option<Arc<Trail>>,
    ) -> Self {
        Self {
            cluster,
            ctx: PickContext {
                key,
                ..PickContext::default()
            },
            priority,
            trail,
            nobody: None,
        }
    }

    /// Whether it waits when all endpoints are full.
    pub(crate) fn has_queue(&self) -> bool {
        self.cluster.shared.settings.queue.is_some()
    }

    /// Chooses the first endpoint.
    #[inline]
    pub(crate) fn first(&mut self) -> Result<At<C::Service>, NoEndpoint> {
        self.choose(true)
    }

    /// How many tries there were.
    pub(crate) fn tries(&self) -> u8 {
        self.ctx.attempts.count()
    }

    /// Why there is no other endpoint.
    pub(crate) fn nobody(&self) -> Option<NoEndpoint> {
        self.nobody
    }

    /// Whether a call may be sent to another endpoint after it ended so.
    pub(crate) fn may_repeat(&self, judgement: &Judgement, what: Repeatable) -> bool {
        let rules = &self.cluster.shared.settings.retry;
        judgement.failed_at.is_some_and(|at| rules.allow(at, what))
    }

    /// Chooses another endpoint, if there is one and the budget has a retry left.
    ///
    /// The budget comes first: a choice that is not carried out would upset the strategy's order. A choice that
    /// finds nobody is not paid for.
    pub(crate) fn another(&mut self) -> Option<At<C::Service>> {
        let view = self.cluster.view();
        if self.tries() >= view.view.retry().attempts {
            return None;
        }
        let snapshot = &view.view.snapshot;
        let open = self.ctx.attempts.iter().filter(|serial| {
            let at = snapshot.position(*serial);
            at.is_some_and(|at| snapshot.candidates()[at as usize].is_open())
        });
        if open.count() >= view.view.eligible {
            self.nobody = Some(NoEndpoint::AllTried);
            return None;
        }
        let now = clock::now();
        if !self.cluster.shared.spend_retry(now) {
            view.counters.count(Counted::OverBudget);
            return None;
        }
        match self.choose(false) {
            Ok(at) => {
                view.counters.count(Counted::Retry);
                Some(at)
            }
            Err(why) => {
                self.forget();
                self.cluster.shared.give_back_retry(now);
                self.nobody = Some(why);
                None
            }
        }
    }

    /// Takes a retry from the budget for one that has to wait for its slot.
    pub(crate) fn spend_to_wait(&self) -> bool {
        self.nobody == Some(NoEndpoint::AllFull)
            && self.has_queue()
            && self.cluster.shared.spend_retry(clock::now())
    }

    /// Takes a place among those who wait.
    pub(crate) fn enter(&self) -> Result<Waiting, Refused> {
        let shared = &self.cluster.shared;
        let Some(queue) = shared.settings.queue else {
            let reason = ShedReason::Capacity;
            return Err(Refused { reason, wait: None });
        };
        let now = clock::now();
        let waiting = shared
            .room
            .enter(self.ask(), self.priority, now + queue.timeout, now)?;
        // Somebody has to look after those who wait.
        if shared.room.len() == 1 {
            shared.ring();
        }
        Ok(waiting)
    }

    /// What it asks for.
    pub(crate) fn ask(&self) -> Ask {
        Ask {
            attempts: self.ctx.attempts.clone(),
            ..Ask::default()
        }
    }

    /// Looks for a slot once more. The look before is forgotten: nothing came of it.
    pub(crate) fn look_again(&mut self) -> Result<At<C::Service>, NoEndpoint> {
        self.forget();
        self.choose(false)
    }

    /// Takes a slot that was handed over, if the call may have it.
    pub(crate) fn bind(&mut self, slot: Slot) -> Result<At<C::Service>, Slot> {
        self.ctx.now = clock::now();
        let mut receipt = self.trail.as_ref().map(|_| Receipt::default());
        let chosen = self.cluster.bind(&self.ctx, slot, receipt.as_mut())?;
        self.forget();
        Ok(self.begin(chosen, receipt))
    }

    /// Counts that it was turned away.
    pub(crate) fn shed(&self) {
        self.cluster.view().counters.count(Counted::Shed);
    }

    /// Counts a second try beside a slow first one.
    pub(crate) fn hedged(&self) {
        self.cluster.view().counters.count(Counted::Hedge);
    }

    #[inline]
    fn choose(&mut self, is_first: bool) -> Result<At<C::Service>, NoEndpoint> {
        self.ctx.now = clock::now();
        if self.trail.is_some() {
            return self.choose_traced(is_first);
        }
        let chosen = self.cluster.choose(&self.ctx, is_first, None)?;
        Ok(self.begin(chosen, None))
    }

    #[cold]
    fn choose_traced(&mut self, is_first: bool) -> Result<At<C::Service>, NoEndpoint> {
        let mut receipt = Receipt::default();
        let chosen = self.cluster.choose(&self.ctx, is_first, Some(&mut receipt));
        match chosen {
            Ok(chosen) => Ok(self.begin(chosen, Some(receipt))),
            Err(why) => {
                let view = Arc::clone(&self.cluster.view().view);
                // It may have changed since; then it is no receipt of this one.
                if let Some(trail) = &self.trail
                    && view.snapshot.generation() == receipt.generation
                {
                    let took = clock::now().since(self.ctx.now);
                    trail.push(view, receipt, self.ctx.now, took.0);
                }
                Err(why)
            }
        }
    }

    #[inline]
    fn begin(&mut self, chosen: Chosen<C::Service>, receipt: Option<Receipt>) -> At<C::Service> {
        let Chosen { lease, service } = chosen;
        self.ctx.attempts.push(lease.state().serial());
        let mark = self.trail.as_ref().zip(receipt).map(|(trail, receipt)| {
            let took = clock::now().since(self.ctx.now);
            let view = Arc::clone(&lease.holder().view);
            trail.push(view, receipt, self.ctx.now, took.0)
        });
        let lease = CallLease::new(lease, mark);
        At { service, lease }
    }

    fn forget(&self) {
        if let Some(trail) = &self.trail {
            trail.forget_nobody();
        }
    }
}
