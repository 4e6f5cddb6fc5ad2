//! What everybody who calls a cluster shares, whatever its services are.

use std::any::Any;
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use evenkeel_core::health::AttemptTotals;
use evenkeel_core::{Nanos, PickerSeed, QueuePolicy, RetryBudget, WaitingRoom, unpoisoned};

use tokio::sync::Notify;

use crate::counters::{COUNTED, EndpointCounters, ThreadCounters};
use crate::settings::Settings;
use crate::stats::EndpointCalls;

/// Numbers the clusters of a process.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Counts clusters that have ended: threads look for what they keep of those when it has moved.
pub(crate) static ENDED: AtomicU64 = AtomicU64::new(0);

/// What everybody who calls a cluster shares.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) id: u64,
    pub(crate) settings: Settings,
    pub(crate) room: Arc<WaitingRoom>,
    budget: RetryBudget,
    seed: u64,
    pickers: AtomicU32,
    /// The strategy in force chooses by keys.
    keyed: AtomicBool,
    /// An endpoint has failed so often in a row that somebody should look.
    accused: AtomicBool,
    ended: AtomicBool,
    registry: Mutex<Registry>,
    bell: Bell,
    /// For whoever checks endpoints.
    list_changed: Notify,
    /// The cluster itself.
    owner: OnceLock<Weak<Owner>>,
}

/// What a cluster lives by: it ends when nobody has it any more.
pub(crate) type Owner = dyn Any + Send + Sync;

/// The counters that threads registered.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    endpoints: BTreeMap<Arc<str>, Series>,
    threads: Vec<Arc<ThreadCounters>>,
    /// Of threads that are no more.
    past: [u64; COUNTED],
}

#[derive(Debug, Default)]
struct Series {
    threads: Vec<Arc<EndpointCounters>>,
    /// Of threads that are no more.
    past: (AttemptTotals, EndpointCalls),
}

impl Shared {
    pub(crate) fn new(settings: Settings) -> Self {
        let nobody = QueuePolicy::default();
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            room: Arc::new(WaitingRoom::new(settings.queue.unwrap_or(nobody))),
            budget: RetryBudget::new(settings.budget),
            seed: settings.seed.unwrap_or_else(random),
            pickers: AtomicU32::new(0),
            keyed: AtomicBool::new(false),
            accused: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            registry: Mutex::default(),
            bell: Bell::default(),
            list_changed: Notify::new(),
            owner: OnceLock::new(),
            settings,
        }
    }

    pub(crate) fn health_seed(&self) -> u64 {
        self.seed
    }

    /// The seed of the next thread's picker.
    pub(crate) fn picker_seed(&self) -> PickerSeed {
        PickerSeed {
            root: self.seed,
            picker: self.pickers.fetch_add(1, Ordering::Relaxed),
        }
    }

    pub(crate) fn set_keyed(&self, keyed: bool) {
        self.keyed.store(keyed, Ordering::Relaxed);
    }

    /// Whether the strategy in force chooses by keys.
    #[inline]
    pub(crate) fn is_keyed(&self) -> bool {
        self.keyed.load(Ordering::Relaxed)
    }

    /// Takes a retry from the budget; a lock, on a path that is not that of most calls.
    pub(crate) fn spend_retry(&self, now: Nanos) -> bool {
        let registry = self.registry();
        let windows = registry.threads.iter().map(|thread| &thread.window);
        self.budget.spend(now, windows)
    }

    pub(crate) fn give_back_retry(&self, now: Nanos) {
        self.budget.give_back(now);
    }

    /// Says that an endpoint has failed so often in a row that somebody should look.
    #[cold]
    pub(crate) fn accuse(&self) {
        self.accused.store(true, Ordering::Relaxed);
        self.ring();
    }

    /// Whether somebody was accused since this was asked last.
    pub(crate) fn take_accusation(&self) -> bool {
        self.accused.swap(false, Ordering::Relaxed)
    }

    /// Wakes whoever looks after the cluster.
    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    /// Waits until somebody rings, at most so long.
    pub(crate) fn wait(&self, most: Duration) {
        self.bell.wait(most);
    }

    /// Says that others are listed.
    pub(crate) fn change_list(&self) {
        self.list_changed.notify_one();
    }

    /// Waits until others are listed, or the cluster has ended. For one who waits.
    pub(crate) async fn list_changed(&self) {
        self.list_changed.notified().await;
    }

    /// Says whose this is, once.
    pub(crate) fn set_owner(&self, owner: Weak<Owner>) {
        let _ = self.owner.set(owner);
    }

    /// The cluster, if it has not ended: looked after for as long as this is held.
    pub(crate) fn owner(&self) -> Option<Arc<Owner>> {
        self.owner.get()?.upgrade()
    }

    /// Says that nobody calls it any more.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        ENDED.fetch_add(1, Ordering::Release);
        self.ring();
        self.change_list();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// This thread's counters for the cluster.
    pub(crate) fn count_thread(&self) -> Arc<ThreadCounters> {
        let counters = Arc::new(ThreadCounters::new(&self.settings.budget));
        self.registry().threads.push(Arc::clone(&counters));
        counters
    }

    /// This thread's counters for an endpoint.
    pub(crate) fn count_endpoint(&self, id: &Arc<str>) -> Arc<EndpointCounters> {
        let counters = Arc::new(EndpointCounters::new());
        let mut registry = self.registry();
        let series = registry.endpoints.entry(Arc::clone(id)).or_default();
        series.threads.push(Arc::clone(&counters));
        counters
    }

    /// The sums of what was counted of calls.
    pub(crate) fn counts(&self) -> [u64; COUNTED] {
        let mut registry = self.registry();
        registry.forget_threads();
        let mut sums = registry.past;
        registry
            .threads
            .iter()
            .for_each(|thread| thread.add_to(&mut sums));
        sums
    }

    /// What attempts at an endpoint came to.
    pub(crate) fn attempts(&self, id: &str) -> AttemptTotals {
        let registry = self.registry();
        let Some(series) = registry.endpoints.get(id) else {
            return AttemptTotals::default();
        };
        let mut sum = series.past.0.clone();
        series
            .threads
            .iter()
            .for_each(|thread| thread.add_attempts(&mut sum));
        sum
    }

    /// What calls to an endpoint came to.
    pub(crate) fn calls(&self, id: &str) -> EndpointCalls {
        let registry = self.registry();
        let Some(series) = registry.endpoints.get(id) else {
            return EndpointCalls::default();
        };
        let mut sum = series.past.1.clone();
        series
            .threads
            .iter()
            .for_each(|thread| thread.add_calls(&mut sum));
        sum
    }

    /// Drops what was counted of endpoints that are gone and that nobody calls any more, and folds up what
    /// threads counted that are no more.
    pub(crate) fn tidy(&self, is_listed: impl Fn(&str) -> bool) {
        let mut registry = self.registry();
        registry.forget_threads();
        registry.endpoints.retain(|id, series| {
            series.fold_up();
            is_listed(id) || !series.threads.is_empty()
        });
    }

    // Nothing panics while it holds this lock, so a poisoned one is whole.
    fn registry(&self) -> MutexGuard<'_, Registry> {
        unpoisoned(self.registry.lock())
    }
}

impl Registry {
    fn forget_threads(&mut self) {
        let Self { threads, past, .. } = self;
        threads.retain(|thread| {
            let lives = Arc::strong_count(thread) > 1;
            if !lives {
                thread.add_to(past);
            }
            lives
        });
    }
}

impl Series {
    fn fold_up(&mut self) {
        let Self { threads, past } = self;
        threads.retain(|thread| {
            let lives = Arc::strong_count(thread) > 1;
            if !lives {
                thread.add_attempts(&mut past.0);
                thread.add_calls(&mut past.1);
            }
            lives
        });
    }
}

/// What wakes whoever looks after a cluster.
#[derive(Debug, Default)]
struct Bell {
    rung: Mutex<bool>,
    heard: Condvar,
}

impl Bell {
    fn ring(&self) {
        *unpoisoned(self.rung.lock()) = true;
        self.heard.notify_one();
    }

    fn wait(&self, most: Duration) {
        let rung = unpoisoned(self.rung.lock());
        let waited = self.heard.wait_timeout_while(rung, most, |rung| !*rung);
        let (mut rung, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *rung = false;
    }
}

/// Another number in each process.
#[expect(
    clippy::disallowed_types,
    reason = "that it differs between processes is what it is for: the pickers of a fleet must not start in step"
)]
fn random() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}
