//! What a thread keeps of each cluster that it calls: its picker, its version, its clones of services.
//!
//! So threads that choose at the same time share each endpoint's count in flight, and nothing else: no lock, no
//! common counter. What is kept of a cluster that has ended goes when the thread next calls any cluster, or
//! ends.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use evenkeel_core::{NoEndpoint, OwnedLease, PickContext, Picker, Reader, Receipt, Slot};

use crate::cluster::Inner;
use crate::connect::Connect;
use crate::counters::{Counted, EndpointCounters};
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

/// An endpoint that was chosen, and what reaches it.
pub(crate) struct Chosen<S> {
    pub(crate) lease: OwnedLease<LocalView>,
    pub(crate) service: S,
}

impl<C: Connect> Inner<C> {
    /// Chooses an endpoint, and writes down why if that is wanted.
    #[inline]
    pub(crate) fn choose(
        &self,
        ctx: &PickContext,
        is_first: bool,
        receipt: Option<&mut Receipt>,
    ) -> Result<Chosen<C::Service>, NoEndpoint> {
        let (lease, services) = self.with(|local| {
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
    pub(crate) fn bind(
        &self,
        ctx: &PickContext,
        slot: Slot,
        receipt: Option<&mut Receipt>,
    ) -> Result<Chosen<C::Service>, Slot> {
        let (lease, services) = self.with(|local| {
            let snapshot = &local.held.view.snapshot;
            let lease = local.picker.bind(snapshot, ctx, slot, receipt)?;
            local.held.counters.count(Counted::Queued);
            Ok((lease.keep(&local.held), Rc::clone(&local.services)))
        })?;
        let service = services[lease.index()].clone();
        Ok(Chosen { lease, service })
    }

    /// The version that this thread decides on.
    pub(crate) fn view(&self) -> Arc<LocalView> {
        self.with(|local| Arc::clone(&local.held))
    }

    #[inline]
    fn with<T>(&self, work: impl FnOnce(&mut Local<C::Service>) -> T) -> T {
        let (result, _left) = KEPT.with(|kept| {
            let mut kept = kept.borrow_mut();
            let left = leave_ended(&mut kept);
            let at = kept.iter().position(|one| one.shared.id == self.shared.id);
            let at = at.unwrap_or_else(|| {
                kept.push(self.enter());
                kept.len() - 1
            });
            let local = kept[at].local.downcast_mut::<Local<C::Service>>();
            let local = local.expect("clusters of one number have services of one type");
            local.follow();
            // What has been left is dropped outside: it may call a cluster.
            (work(local), left)
        });
        result
    }

    #[cold]
    fn enter(&self) -> Kept {
        let mut reader = Reader::new(Arc::clone(&self.published));
        let version = Arc::clone(reader.get());
        let counters = self.shared.count_thread();
        let held = LocalView::new(&version, counters, None);
        let local = Local {
            reader,
            picker: Picker::new(self.shared.picker_seed()),
            held: Arc::new(held),
            services: version.services().into(),
        };
        Kept {
            shared: Arc::clone(&self.shared),
            local: Box::new(local),
        }
    }
}

/// Takes out what was kept of clusters that have ended, when there are any that this thread has not heard of.
#[inline]
fn leave_ended(kept: &mut Vec<Kept>) -> Vec<Kept> {
    let ended = ENDED.load(Ordering::Acquire);
    if SEEN.replace(ended) == ended {
        return Vec::new();
    }
    let (left, stay) = std::mem::take(kept)
        .into_iter()
        .partition(|one| one.shared.has_ended());
    *kept = stay;
    left
}

impl<S: Clone> Local<S> {
    #[inline]
    fn follow(&mut self) {
        if self.reader.refresh() {
            self.renew();
        }
    }

    #[cold]
    fn renew(&mut self) {
        let version = Arc::clone(self.reader.get());
        let counters = Arc::clone(&self.held.counters);
        self.held = Arc::new(LocalView::new(&version, counters, Some(&self.held)));
        self.services = version.services().into();
    }
}

impl LocalView {
    fn new<S>(
        version: &Version<S>,
        counters: Arc<crate::counters::ThreadCounters>,
        old: Option<&Self>,
    ) -> Self {
        let view = Arc::clone(&version.view);
        let known = |id: &str| -> Option<Arc<EndpointCounters>> {
            let old = old?;
            let endpoints = old.view.snapshot.endpoints();
            let at = endpoints
                .binary_search_by(|endpoint| endpoint.id().cmp(id))
                .ok()?;
            Some(Arc::clone(&old.endpoints[at]))
        };
        let endpoints = view.snapshot.endpoints().iter();
        let endpoints = endpoints.map(|endpoint| {
            known(endpoint.id())
                .unwrap_or_else(|| view.shared.count_endpoint(&endpoint.shared_id()))
        });
        Self {
            endpoints: endpoints.collect(),
            view,
            counters,
        }
    }
}
