//! Checks of endpoints: whether they are well is asked beside the calls.
//!
//! By a thread of its own for each cluster that has checks, with a runtime of its own: neither calls nor the caller's
//! runtime hold checks up. What they find is judged by the core's machine, as in the gateway.

#[cfg(feature = "hyper")]
mod http;
mod rounds;
mod tcp;

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use evenkeel_core::health::ActivePolicy;
use evenkeel_core::{Endpoint, Nanos};

use crate::clock;
use crate::cluster::Inner;
use crate::connect::Connect;
use crate::error::BoxError;
use crate::observe::Trouble;
use crate::shared::Shared;
use crate::upkeep::{guard, tell};

#[cfg(feature = "hyper")]
pub use self::http::{HttpCheck, NoBody};
use self::rounds::Rounds;
pub use tcp::TcpCheck;

/// What a check does until it knows: with what is wrong with the endpoint, if anything is.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Check, Checking, core::Endpoint};
///
/// /// Whether an endpoint has a name that we know.
/// struct Named;
///
/// impl Check for Named {
///     fn check(&self, endpoint: &Endpoint) -> Checking {
///         let is_known = endpoint.id().starts_with("users-");
///         Box::pin(async move {
///             match is_known {
///                 true => Ok(()),
///                 false => Err("not one of ours".into()),
///             }
///         })
///     }
/// }
/// ```
pub type Checking = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// Finds out whether an endpoint is well: [`TcpCheck`], [`HttpCheck`], or any function from an endpoint to a future.
/// See
/// [`Settings::checks`](crate::Settings::checks).
///
/// It is carried out on a thread of its own, in a runtime of tokio with I/O and time, and should not block. When its
/// time is over it is dropped. A panic is told to [`Observe::trouble`](crate::Observe::trouble) and says nothing of
/// the endpoint.
///
/// # Examples
///
/// ```
/// use evenkeel_client::{Settings, core::{Endpoint, health::ActivePolicy}};
///
/// let ping = |endpoint: &Endpoint| {
///     let address = endpoint.address().to_owned();
///     async move {
///         // Whatever tells.
///         if address.is_empty() { Err("it has no address")? }
///         Ok(())
///     }
/// };
/// let settings = Settings::new("users").checks(ActivePolicy::default(), ping);
/// ```
pub trait Check: Send + Sync + 'static {
    /// Begins a check of an endpoint. It is well if the future gives no error; an error is shown with the endpoint,
    /// and should fit into a line.
    fn check(&self, endpoint: &Endpoint) -> Checking;
}

impl<F, T> Check for F
where
    F: Fn(&Endpoint) -> T + Send + Sync + 'static,
    T: Future<Output = Result<(), BoxError>> + Send + 'static,
{
    fn check(&self, endpoint: &Endpoint) -> Checking {
        Box::pin(self(endpoint))
    }
}

/// A check that settings have.
#[derive(Clone)]
pub(crate) struct Checker(pub(crate) Arc<dyn Check>);

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Checker")
    }
}

/// The shortest span in a policy: with none nobody would ever rest.
const SPAN_MIN: Nanos = Nanos::from_millis(10);

/// A policy whose figures make sense.
pub(crate) fn sensible(policy: ActivePolicy) -> ActivePolicy {
    ActivePolicy {
        interval: policy.interval.max(SPAN_MIN),
        fast_interval: policy.fast_interval.max(SPAN_MIN),
        timeout: policy.timeout.max(SPAN_MIN),
        rise: policy.rise.max(1),
        fall: policy.fall.max(1),
        ..policy
    }
}

/// Begins to check the endpoints of a cluster, if it has checks, until it ends. Where the system gives no thread,
/// that is told, and calls go on without.
pub(crate) fn start<C: Connect>(inner: &Arc<Inner<C>>) {
    let settings = &inner.shared.settings;
    let Some((policy, checker)) = settings.health.active.zip(settings.checker.clone()) else {
        return;
    };
    if let Err(error) = spawn(Arc::downgrade(inner), policy, checker) {
        tell(&inner.shared, &Trouble::NoChecks(&error));
    }
}

fn spawn<C: Connect>(
    cluster: Weak<Inner<C>>,
    policy: ActivePolicy,
    checker: Checker,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let thread = std::thread::Builder::new().name("evenkeel-checks".to_owned());
    let work = move || runtime.block_on(watch(cluster, policy, checker, clock::now));
    thread.spawn(work).map(drop)
}

/// Checks endpoints until their cluster ends.
async fn watch<C: Connect>(
    cluster: Weak<Inner<C>>,
    policy: ActivePolicy,
    Checker(check): Checker,
    clock: fn() -> Nanos,
) {
    let Some(shared) = cluster.upgrade().map(|inner| Arc::clone(&inner.shared)) else {
        return;
    };
    let mut rounds = Rounds::new(policy, clock, shared.health_seed());
    let mut is_new_list = true;
    while !shared.has_ended() {
        // Held for as long as it takes, so that the cluster can end.
        let Some(inner) = cluster.upgrade() else {
            return;
        };
        let found = rounds.take_in(|message| tell(&shared, &Trouble::Panicked { message }));
        if !found.is_empty() {
            inner.probed(&found, clock());
        }
        rounds.go_on(|id| inner.pace(id, clock()));
        if is_new_list {
            rounds.follow_list(inner.checked());
        }
        rounds.begin(&check);
        // It may end the cluster, and so run code of others.
        guard(&shared, move || drop(inner));
        is_new_list = wait(&mut rounds, &shared, clock).await;
    }
}

/// Waits until there is something to do, and says whether the list may be another one.
async fn wait(rounds: &mut Rounds, shared: &Shared, clock: fn() -> Nanos) -> bool {
    let next = rounds.next();
    let until = async {
        match next {
            Some(next) => tokio::time::sleep(Duration::from(next.since(clock()))).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = shared.list_changed() => true,
        () = until => false,
        () = rounds.ended() => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    use evenkeel_core::Standing;
    use evenkeel_core::health::Health;
    use tokio::time::Instant;

    use super::*;
    use crate::{Cluster, Settings};

    /// The time of the runtime, which stands still but where everybody waits.
    fn virtual_clock() -> Nanos {
        static BEGAN: OnceLock<Instant> = OnceLock::new();
        let began = *BEGAN.get_or_init(Instant::now);
        Nanos::from(Instant::now().duration_since(began)) + Nanos::from_secs(1)
    }

    /// Endpoints of which one hangs at times.
    struct Checked {
        cluster: Cluster<fn(&Endpoint)>,
        hangs: Arc<AtomicBool>,
        watching: tokio::task::JoinHandle<()>,
    }

    impl Checked {
        fn start(policy: ActivePolicy, ids: &[&str]) -> Self {
            let mut settings = Settings::new("web").seed(7).slow_start(None);
            // The checks are carried out here, not by a thread.
            settings.health.active = Some(sensible(policy));
            let list = ids.iter().map(|id| Endpoint::new(*id, "10.0.0.1:80"));
            let connect: fn(&Endpoint) = |_| ();
            let cluster = Cluster::new(settings, list, connect).expect("unique");
            let hangs = Arc::new(AtomicBool::new(false));
            let hung = Arc::clone(&hangs);
            let check = move |endpoint: &Endpoint| {
                let hangs = endpoint.id() == "b" && hung.load(Ordering::Relaxed);
                async move {
                    match hangs {
                        true => std::future::pending().await,
                        false => Ok(()),
                    }
                }
            };
            let weak = Arc::downgrade(&cluster.inner);
            let watching = watch(weak, policy, Checker(Arc::new(check)), virtual_clock);
            Self {
                cluster,
                hangs,
                watching: tokio::spawn(watching),
            }
        }

        fn of(&self, id: &str) -> (Health, Standing, String) {
            let endpoints = self.cluster.stats().endpoints;
            let one = endpoints.iter().find(|one| one.endpoint.id() == id);
            let one = one.expect("it is listed");
            (one.health, one.standing, one.reason.clone())
        }

        /// After how long an endpoint has this health; at most a few minutes.
        async fn until(&self, id: &str, health: Health) -> Duration {
            let began = Instant::now();
            while self.of(id).0 != health {
                assert!(
                    began.elapsed() < Duration::from_secs(300),
                    "{:?}",
                    self.of(id)
                );
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            began.elapsed()
        }
    }

    /// With the defaults: three checks of half a second, of which the first comes a second after the last good one.
    #[tokio::test(start_paused = true)]
    async fn a_hung_endpoint_is_out_within_three_seconds_and_comes_back() {
        let checked = Checked::start(ActivePolicy::default(), &["a", "b", "c"]);
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(checked.of("b").0, Health::Healthy);
        for round in 0..2 {
            checked.hangs.store(true, Ordering::Relaxed);
            let took = checked.until("b", Health::Unhealthy).await;
            assert!(took <= Duration::from_secs(3), "{took:?}");
            let (_, standing, reason) = checked.of("b");
            assert_eq!(standing, Standing::Unhealthy);
            assert!(reason.contains("no answer within 500ms"), "{reason}");
            let mut tries = checked.cluster.tries();
            assert_ne!(tries.next().expect("the others").endpoint().id(), "b");
            checked.hangs.store(false, Ordering::Relaxed);
            let took = checked.until("b", Health::Healthy).await;
            // Its second removal within ten minutes costs a minute.
            let most = [3, 70][round];
            assert!(took <= Duration::from_secs(most), "{took:?}");
            assert!(round == 0 || took >= Duration::from_secs(55), "{took:?}");
        }
        assert_eq!(checked.of("a").0, Health::Healthy);
    }

    #[tokio::test(start_paused = true)]
    async fn lists_are_followed_and_the_end_of_the_cluster_ends_it() {
        let checked = Checked::start(ActivePolicy::default(), &["a"]);
        tokio::time::sleep(Duration::from_secs(2)).await;
        checked.hangs.store(true, Ordering::Relaxed);
        // One that comes later is checked at once.
        checked.cluster.upsert(Endpoint::new("b", "10.0.0.2:80"));
        let took = checked.until("b", Health::Suspect).await;
        assert!(took <= Duration::from_millis(600), "{took:?}");
        checked.until("b", Health::Unhealthy).await;
        // Another address is a new beginning, also for the check that is under way.
        checked.hangs.store(false, Ordering::Relaxed);
        checked.cluster.upsert(Endpoint::new("b", "10.0.0.3:80"));
        assert_eq!(checked.of("b").0, Health::Healthy);
        tokio::time::sleep(Duration::from_millis(1)).await;
        // Who is disabled is not checked.
        let disabled = evenkeel_core::Admin::Disabled;
        checked
            .cluster
            .set_admin("b", disabled)
            .expect("it is listed");
        checked.hangs.store(true, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(checked.of("b").0, Health::Healthy);
        let Checked {
            cluster, watching, ..
        } = checked;
        drop(cluster);
        watching.await.expect("no panic");
    }
}
