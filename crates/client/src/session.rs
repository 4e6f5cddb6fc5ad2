//! One call: where it has been, and whether it may go elsewhere.

use std::sync::Arc;

use evenkeel_core::{
    Ask, NoEndpoint, PickContext, Priority, Receipt, Refused, ShedReason, Slot, Waiting,
};

use crate::alone::Alone;
use crate::clock;
use crate::counters::Counted;
use crate::lease::CallLease;
use crate::local::{self, Chooses, Chosen, Entrance, Wanted};
use crate::settings::Settings;
use crate::shared::{Owner, Shared};
use crate::trail::{Mark, Trail};
use crate::view::LocalView;

/// An endpoint that a call goes to.
pub(crate) struct At<S> {
    pub(crate) service: S,
    pub(crate) lease: CallLease,
}

/// Chooses the first endpoint of a call. Most calls need no other, and so no [`Session`].
#[inline]
pub(crate) fn first<S: Clone + Send + 'static>(
    cluster: &impl Entrance<S>,
    key: Option<u64>,
    trail: Option<&Arc<Trail>>,
) -> Result<At<S>, NoEndpoint> {
    let ctx = PickContext {
        now: clock::now(),
        key,
        ..PickContext::default()
    };
    choose(&mut &*cluster, &ctx, true, trail)
}

#[inline]
fn choose<S: Clone + Send + 'static>(
    from: &mut impl Chooses<S>,
    ctx: &PickContext,
    is_first: bool,
    trail: Option<&Arc<Trail>>,
) -> Result<At<S>, NoEndpoint> {
    if let Some(trail) = trail {
        return choose_traced(from, ctx, is_first, trail);
    }
    let receipt = None;
    let wanted = Wanted {
        ctx,
        is_first,
        receipt,
    };
    let chosen = from.choose(wanted)?;
    Ok(begin(chosen, None))
}

#[cold]
fn choose_traced<S: Clone + Send + 'static>(
    from: &mut impl Chooses<S>,
    ctx: &PickContext,
    is_first: bool,
    trail: &Arc<Trail>,
) -> Result<At<S>, NoEndpoint> {
    let mut receipt = Receipt::default();
    let chosen = from.choose(Wanted {
        ctx,
        is_first,
        receipt: Some(&mut receipt),
    });
    let took = clock::now().since(ctx.now);
    match chosen {
        Ok(chosen) => {
            let view = Arc::clone(&chosen.lease.holder().view);
            let mark = trail.push(view, receipt, ctx.now, took.0);
            Ok(begin(chosen, Some(mark)))
        }
        Err(why) => {
            let view = Arc::clone(&from.view().view);
            // It may have changed since; then it is no receipt of this one.
            if view.snapshot.generation() == receipt.generation {
                trail.push(view, receipt, ctx.now, took.0);
            }
            Err(why)
        }
    }
}

#[inline]
fn begin<S>(chosen: Chosen<S>, mark: Option<Mark>) -> At<S> {
    let Chosen { lease, service } = chosen;
    let lease = CallLease::new(lease, mark);
    At { service, lease }
}

/// What is known of a call when it begins.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) key: Option<u64>,
    pub(crate) priority: Priority,
    pub(crate) trail: Option<Arc<Trail>>,
}

/// One call, over all of its tries.
pub(crate) struct Session<S> {
    cluster: Arc<LocalView>,
    ctx: PickContext,
    pub(crate) priority: Priority,
    trail: Option<Arc<Trail>>,
    /// Why there is no other endpoint.
    nobody: Option<NoEndpoint>,
    owner: Ownership<S>,
}

/// Whether the cluster of a call lives.
enum Ownership<S> {
    /// It is looked after for as long as the call takes.
    Held { _owner: Arc<Owner> },
    /// It has ended, and so nobody looks after those who wait for it.
    Ended(Box<Alone<S>>),
}

impl<S: Clone + Send + 'static> Session<S> {
    /// Of a call to a cluster, which has ended if there is no owner.
    pub(crate) fn new(cluster: Arc<LocalView>, asked: Asked, owner: Option<Arc<Owner>>) -> Self {
        let Asked {
            key,
            priority,
            trail,
        } = asked;
        let ctx = PickContext {
            key,
            ..PickContext::default()
        };
        let owner = match owner {
            Some(_owner) => Ownership::Held { _owner },
            None => Ownership::Ended(Box::new(Alone::new(&cluster))),
        };
        Self {
            cluster,
            ctx,
            priority,
            trail,
            nobody: None,
            owner,
        }
    }

    /// Of a call that has been to its first endpoint.
    pub(crate) fn resume(lease: &CallLease, asked: Asked, owner: Option<Arc<Owner>>) -> Self {
        let mut session = Self::new(Arc::clone(lease.cluster()), asked, owner);
        session.note(lease);
        session
    }

    /// The version that it decides on.
    fn view(&self) -> Arc<LocalView> {
        match &self.owner {
            Ownership::Held { .. } => local::view::<S>(&*self.cluster),
            Ownership::Ended(alone) => alone.view(),
        }
    }

    fn shared(&self) -> &Shared {
        &self.cluster.view.shared
    }

    pub(crate) fn settings(&self) -> &Settings {
        self.cluster.settings()
    }

    /// Whether it waits when all endpoints are full.
    fn has_queue(&self) -> bool {
        self.settings().queue.is_some() && matches!(self.owner, Ownership::Held { .. })
    }

    /// Chooses the first endpoint.
    pub(crate) fn first(&mut self) -> Result<At<S>, NoEndpoint> {
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

    /// Chooses another endpoint, if there is one and the budget has a retry left.
    ///
    /// The budget comes first: a choice that is not carried out would upset the strategy's order. A choice that
    /// finds nobody is not paid for.
    pub(crate) fn another(&mut self) -> Option<At<S>> {
        let view = self.view();
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
        if !self.shared().spend_retry(now) {
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
                self.shared().give_back_retry(now);
                self.nobody = Some(why);
                None
            }
        }
    }

    /// Takes a retry from the budget for one that has to wait for its slot.
    pub(crate) fn spend_to_wait(&self) -> bool {
        self.nobody == Some(NoEndpoint::AllFull)
            && self.has_queue()
            && self.shared().spend_retry(clock::now())
    }

    /// Takes a place among those who wait.
    pub(crate) fn enter(&self) -> Result<Waiting, Refused> {
        let Some(queue) = self.settings().queue else {
            let reason = ShedReason::Capacity;
            return Err(Refused { reason, wait: None });
        };
        let now = clock::now();
        let shared = self.shared();
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
    pub(crate) fn look_again(&mut self) -> Result<At<S>, NoEndpoint> {
        self.forget();
        self.choose(false)
    }

    /// Takes a slot that was handed over, if the call may have it.
    pub(crate) fn bind(&mut self, slot: Slot) -> Result<At<S>, Slot> {
        self.ctx.now = clock::now();
        let mut receipt = self.trail.as_ref().map(|_| Receipt::default());
        let chosen = local::bind::<S>(&*self.cluster, &self.ctx, slot, receipt.as_mut())?;
        self.forget();
        let mark = self.trail.as_ref().zip(receipt).map(|(trail, receipt)| {
            let took = clock::now().since(self.ctx.now);
            let view = Arc::clone(&chosen.lease.holder().view);
            trail.push(view, receipt, self.ctx.now, took.0)
        });
        let at = begin(chosen, mark);
        self.note(&at.lease);
        Ok(at)
    }

    /// Counts that it was turned away.
    pub(crate) fn shed(&self) {
        self.view().counters.count(Counted::Shed);
    }

    /// Counts a second try beside a slow first one.
    pub(crate) fn hedged(&self) {
        self.view().counters.count(Counted::Hedge);
    }

    fn choose(&mut self, is_first: bool) -> Result<At<S>, NoEndpoint> {
        self.ctx.now = clock::now();
        let (ctx, trail) = (&self.ctx, self.trail.as_ref());
        let at = match &mut self.owner {
            Ownership::Held { .. } => choose(&mut &*self.cluster, ctx, is_first, trail)?,
            Ownership::Ended(alone) => choose(&mut **alone, ctx, is_first, trail)?,
        };
        self.note(&at.lease);
        Ok(at)
    }

    /// Notes that the call has been to an endpoint.
    fn note(&mut self, lease: &CallLease) {
        self.ctx.attempts.push(lease.serial());
    }

    fn forget(&self) {
        if let Some(trail) = &self.trail {
            trail.forget_nobody();
        }
    }
}
