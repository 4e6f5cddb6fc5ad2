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

/// Chooses an endpoint, and writes down why if that is wanted.
#[inline]
pub(crate) fn choose<S: Clone + Send + 'static>(
    cluster: &impl Entrance<S>,
    ctx: &PickContext,
    is_first: bool,
    receipt: Option<&mut Receipt>,
) -> Result<Chosen<S>, NoEndpoint> {
    let (lease, services) = with(cluster, |local: &mut Local<S>| {
        let Local {
            picker,
            held,
            services,
            ..
        } = local;
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
                Ok((lease.keep(held), Rc::clone(services)))
            }
            // It is counted when it has waited.
            Err(NoEndpoint::AllFull) if snapshot.has_waiting_room() => Err(NoEndpoint::AllFull),
            Err(why) => {
                held.counters.count(Counted::None);
                Err(why)
            }
        }
    })?;
    // Cloned outside: whatever that does may call a cluster.
    let service = services[lease.index()].clone();
    Ok(Chosen { lease, service })
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

/// The version that this thread decides on.
pub(crate) fn view<S: Clone + Send + 'static>(cluster: &impl Entrance<S>) -> Arc<LocalView> {
    with(cluster, |local: &mut Local<S>| Arc::clone(&local.held))
}

#[inline]
fn with<S: Clone + Send + 'static, T>(
    cluster: &impl Entrance<S>,
    work: impl FnOnce(&mut Local<S>) -> T,
) -> T {
    let id = cluster.shared().id;
    let (result, _left) = KEPT.with(|kept| {
        let mut kept = kept.borrow_mut();
        let ended = ENDED.load(Ordering::Acquire);
        let left = match SEEN.get() == ended {
            true => Vec::new(),
            false => leave_ended(&mut kept, ended),
        };
        let at = kept.iter().position(|one| one.shared.id == id);
        let Some(at) = at.or_else(|| enter(cluster, &mut kept)) else {
            // A call that outlives its cluster: nobody would take out what is kept for it.
            return (work(&mut Local::new(cluster)), left);
        };
        let local = kept[at].local.downcast_mut::<Local<S>>();
        let local = local.expect("clusters of one number have services of one type");
        local.follow();
        // What has been left is dropped outside: it may call a cluster.
        (work(local), left)
    });
    result
}

/// Keeps a cluster, unless it has ended, and gives its place.
#[cold]
fn enter<S: Clone + Send + 'static>(
    cluster: &impl Entrance<S>,
    kept: &mut Vec<Kept>,
) -> Option<usize> {
    let shared = cluster.shared();
    if shared.has_ended() {
        return None;
    }
    kept.push(Kept {
        shared: Arc::clone(shared),
        local: Box::new(Local::new(cluster)),
    });
    Some(kept.len() - 1)
}

/// Takes out what was kept of clusters that have ended, when there are any that this thread has not heard of.
#[cold]
fn leave_ended(kept: &mut Vec<Kept>, ended: u64) -> Vec<Kept> {
    SEEN.set(ended);
    let (left, stay) = std::mem::take(kept)
        .into_iter()
        .partition(|one| one.shared.has_ended());
    *kept = stay;
    left
}

impl<S: Clone + Send + 'static> Local<S> {
    #[cold]
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
        }
    }

    #[inline]
    fn follow(&mut self) {
        if self.reader.refresh() {
            self.renew();
        }
    }

    #[cold]
    fn renew(&mut self) {
        let version = Arc::clone(self.reader.get());
        self.held = Arc::new(self.held.renewed(&version));
        self.services = version.services().into();
    }
}
