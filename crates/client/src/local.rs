//! What a thread keeps of each cluster that it calls: its picker, its version, its clones of services.
//!
//! So threads that choose at the same time share each endpoint's count in flight, and nothing else: no lock, no
//! common counter, not even one of who holds the cluster. What is kept of a cluster that has ended goes when the
//! thread next calls any cluster, or ends.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use evenkeel_core::{
    NoEndpoint, OwnedLease, PickContext, Picker, Published, Reader, Receipt, Slot,
};

use crate::counters::Counted;
use crate::shared::{ENDED, Shared};
use crate::view::{LocalView, Version};

thread_local! {
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
    /// How many clusters had ended when this thread looked last.
    static SEEN: Cell<u64> = const { Cell::new(0) };
}

struct Kept {
    shared: Arc<Shared>,
    local: Box<dyn Any>,
}

/// What a thread keeps of one cluster.
struct Local<S> {
    reader: Reader<Version<S>>,
    /// What the rest is made of. Held, so that the reader drops no version when it finds a newer one.
    version: Arc<Version<S>>,
    picker: Picker,
    held: Arc<LocalView>,
    services: Rc<[S]>,
}

/// The way into a cluster, for a thread that may not have called it before.
pub(crate) trait Entrance<S> {
    fn shared(&self) -> &Arc<Shared>;
    fn published(&self) -> Arc<Published<Version<S>>>;
}

impl<S: Send + 'static> Entrance<S> for LocalView {
    fn shared(&self) -> &Arc<Shared> {
        &self.view.shared
    }

    fn published(&self) -> Arc<Published<Version<S>>> {
        let published = Arc::clone(&self.published).downcast();
        published.expect("a cluster has services of one type")
    }
}

/// An endpoint that was chosen, and what reaches it.
pub(crate) struct Chosen<S> {
    pub(crate) lease: OwnedLease<LocalView>,
    pub(crate) service: S,
}

/// What a call wants.
pub(crate) struct Wanted<'w> {
    pub(crate) ctx: &'w PickContext,
    pub(crate) is_first: bool,
    /// To be filled with why it came out so.
    pub(crate) receipt: Option<&'w mut Receipt>,
}

/// Where a call looks for its endpoint.
pub(crate) trait Chooses<S> {
    /// Chooses an endpoint.
    fn choose(&mut self, wanted: Wanted<'_>) -> Result<Chosen<S>, NoEndpoint>;

    /// The version that it decides on.
    fn view(&self) -> Arc<LocalView>;
}

impl<S: Clone + Send + 'static, E: Entrance<S>> Chooses<S> for &E {
    #[inline]
    fn choose(&mut self, wanted: Wanted<'_>) -> Result<Chosen<S>, NoEndpoint> {
        let (lease, services) = with(*self, |local: &mut Local<S>| {
            let lease = pick(&mut local.picker, &local.held, wanted)?;
            Ok((lease, Rc::clone(&local.services)))
        })?;
        // Cloned outside: whatever that does may call a cluster.
        let service = services[lease.index()].clone();
        Ok(Chosen { lease, service })
    }

    fn view(&self) -> Arc<LocalView> {
        view(*self)
    }
}

/// Picks an endpoint, and counts that.
#[inline]
pub(crate) fn pick(
    picker: &mut Picker,
    held: &Arc<LocalView>,
    wanted: Wanted<'_>,
) -> Result<OwnedLease<LocalView>, NoEndpoint> {
    let Wanted {
        ctx,
        is_first,
        receipt,
    } = wanted;
    if is_first {
        held.window().count(ctx.now);
    }
    let snapshot = &held.view.snapshot;
    let picked = match receipt {
        None => picker.pick(snapshot, ctx),
        Some(receipt) => picker.pick_traced(snapshot, ctx, receipt),
    };
    match picked {
        Ok(lease) => {
            held.counters.count(match lease.fallback() {
                None => Counted::Picked,
                Some(_) => Counted::Fallback,
            });
            Ok(lease.keep(held))
        }
        // It is counted when it has waited.
        Err(NoEndpoint::AllFull) if snapshot.has_waiting_room() => Err(NoEndpoint::AllFull),
        Err(why) => {
            held.counters.count(Counted::None);
            Err(why)
        }
    }
}

/// Takes a slot that was handed over.
pub(crate) fn bind<S: Clone + Send + 'static>(
    cluster: &impl Entrance<S>,
    ctx: &PickContext,
    slot: Slot,
    receipt: Option<&mut Receipt>,
) -> Result<Chosen<S>, Slot> {
    let (lease, services) = with(cluster, |local: &mut Local<S>| {
        let snapshot = &local.held.view.snapshot;
        let lease = local.picker.bind(snapshot, ctx, slot, receipt)?;
        local.held.counters.count(Counted::Queued);
        Ok((lease.keep(&local.held), Rc::clone(&local.services)))
    })?;
    let service = services[lease.index()].clone();
    Ok(Chosen { lease, service })
}

/// The version that this thread decides on. The cluster lives, as for all that is done here.
pub(crate) fn view<S: Clone + Send + 'static>(cluster: &impl Entrance<S>) -> Arc<LocalView> {
    with(cluster, |local: &mut Local<S>| Arc::clone(&local.held))
}

#[inline]
fn with<S: Clone + Send + 'static, T>(
    cluster: &impl Entrance<S>,
    work: impl FnOnce(&mut Local<S>) -> T,
) -> T {
    let id = cluster.shared().id;
    let mut work = Some(work);
    // Written where it stays: a lease is handed on by each call.
    let mut done = None;
    borrow(|kept| {
        if SEEN.get() != ENDED.load(Ordering::Acquire) {
            return;
        }
        let Some(one) = kept.iter_mut().find(|one| one.shared.id == id) else {
            return;
        };
        let local = one.local.downcast_mut::<Local<S>>().expect(ONE_TYPE);
        if local.is_newest() {
            done = work.take().map(|work| work(local));
        }
    });
    match work {
        None => done.expect("work that was begun was done"),
        Some(work) => apart(cluster, work),
    }
}

const ONE_TYPE: &str = "clusters of one number have services of one type";

/// What this thread keeps; none when the thread ends, or within the choice of a strategy that calls a cluster itself.
/// Nothing else of callers runs meanwhile, clones and drops of their services neither.
#[inline]
fn borrow<T>(work: impl FnOnce(&mut Vec<Kept>) -> T) -> Option<T> {
    let borrowed =
        |kept: &RefCell<Vec<Kept>>| kept.try_borrow_mut().ok().map(|mut kept| work(&mut kept));
    KEPT.try_with(borrowed).ok().flatten()
}

/// Works with what is not kept yet, or is not the newest: it is taken out for as long as it is made new.
#[cold]
fn apart<S: Clone + Send + 'static, T>(
    cluster: &impl Entrance<S>,
    work: impl FnOnce(&mut Local<S>) -> T,
) -> T {
    leave_ended();
    let shared = cluster.shared();
    let mut local = match take_out(shared.id) {
        Some(local) => local,
        None => Box::new(Local::new(cluster)),
    };
    local.follow();
    let result = work(&mut local);
    keep(Kept {
        shared: Arc::clone(shared),
        local,
    });
    result
}

fn take_out<S: 'static>(id: u64) -> Option<Box<Local<S>>> {
    let taken = borrow(|kept| {
        let at = kept.iter().position(|one| one.shared.id == id)?;
        Some(kept.swap_remove(at))
    });
    let local = taken.flatten()?.local.downcast();
    Some(local.expect(ONE_TYPE))
}

/// Keeps a cluster, unless it has ended: nobody would take it out again.
fn keep(one: Kept) {
    if one.shared.has_ended() {
        return;
    }
    let mut one = Some(one);
    let _left = borrow(|kept| {
        let id = one.as_ref()?.shared.id;
        // Code of callers may have called the cluster meanwhile.
        let at = kept.iter().position(|other| other.shared.id == id);
        let left = at.map(|at| kept.swap_remove(at));
        kept.extend(one.take());
        left
    });
}

/// Drops what was kept of clusters that have ended, when there are any that this thread has not heard of.
fn leave_ended() {
    let ended = ENDED.load(Ordering::Acquire);
    if SEEN.get() == ended {
        return;
    }
    let _left: Option<Vec<Kept>> = borrow(|kept| {
        SEEN.set(ended);
        let has_ended = |one: &mut Kept| one.shared.has_ended();
        kept.extract_if(.., has_ended).collect()
    });
}

impl<S: Clone + Send + 'static> Local<S> {
    fn new(cluster: &impl Entrance<S>) -> Self {
        let published = cluster.published();
        let mut reader = Reader::new(Arc::clone(&published));
        let version = Arc::clone(reader.get());
        let shared = cluster.shared();
        let held = LocalView::new(&version, shared.count_thread(), published);
        Self {
            reader,
            picker: Picker::new(shared.picker_seed()),
            held: Arc::new(held),
            services: version.services().into(),
            version,
        }
    }

    /// Looks for a newer version, and says whether this is still made of the newest. Drops nothing.
    #[inline]
    fn is_newest(&mut self) -> bool {
        !self.reader.refresh()
    }

    /// Is made of the newest version.
    fn follow(&mut self) {
        let version = Arc::clone(self.reader.get());
        if Arc::ptr_eq(&version, &self.version) {
            return;
        }
        self.services = version.services().into();
        self.held = Arc::new(self.held.renewed(&version));
        self.version = version;
    }
}
