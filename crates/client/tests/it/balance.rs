//! Who gets how many calls, and what takes an endpoint out of service.

use evenkeel_client::core::health::{Happening, OutlierPolicy, SlowStart};
use evenkeel_client::core::strategy::registry;
use evenkeel_client::core::{Admin, Endpoint, Nanos, NoEndpoint, Outcome, Rng, Standing};
use evenkeel_client::{Cluster, Observe, Plain, Settings};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use tower::{Service, ServiceExt};

use crate::endpoints::{Endpoints, Manner, eventually, in_flight, listed};

fn settings() -> Settings {
    Settings::new("web").seed(7)
}

#[tokio::test]
async fn calls_go_by_weight() {
    let endpoints = Endpoints::default();
    let list =
        [("a", 1), ("b", 3)].map(|(id, weight)| Endpoint::new(id, "x:1").with_weight(weight));
    let settings = settings()
        .strategy("weighted_round_robin", &[])
        .expect("known");
    let cluster = Cluster::new(settings, list, endpoints.clone()).expect("unique");
    let mut service = cluster.balance(Plain);
    for call in 0..400 {
        service
            .ready()
            .await
            .expect("ready")
            .call(call)
            .await
            .expect("an answer");
    }
    assert_eq!((endpoints.calls("a"), endpoints.calls("b")), (100, 300));
    let stats = cluster.stats();
    assert_eq!((stats.picked, in_flight(&stats)), (400, 0));
    assert_eq!(stats.endpoints[1].calls.successes, 300);
    assert_eq!(stats.endpoints[1].calls.latency.count(), 300);
}

#[tokio::test]
async fn a_drained_endpoint_gets_no_new_calls_and_one_that_is_gone_none_at_all() {
    let endpoints = Endpoints::default();
    let cluster =
        Cluster::new(settings(), listed(&["a", "b", "c"]), endpoints.clone()).expect("unique");
    let service = cluster.balance(Plain);
    cluster.set_admin("a", Admin::Draining).expect("known");
    cluster.remove("b").expect("known");
    for call in 0..50 {
        assert_eq!(service.clone().oneshot(call).await.expect("an answer"), "c");
    }
    cluster.set_endpoints(Vec::new()).expect("unique");
    let error = service.clone().oneshot(0).await.expect_err("nobody");
    assert_eq!(error.no_endpoint(), Some(NoEndpoint::Empty));
    assert!(cluster.remove("b").is_err());
}

#[derive(Debug, Default)]
struct Heard(Mutex<Vec<String>>);

impl Observe for Heard {
    fn happened(&self, cluster: &str, happening: &Happening) {
        if let Happening::Endpoint(transition) = happening {
            let line = format!("{cluster} {} {}", transition.id, transition.to.as_str());
            self.0.lock().expect("whole").push(line);
        }
    }
}

#[tokio::test]
async fn an_endpoint_that_fails_is_ejected_and_returns() {
    let endpoints = Endpoints::default();
    endpoints.set("a", Manner::Fails);
    let heard = Arc::new(Heard::default());
    let outlier = OutlierPolicy {
        base_ejection: Nanos::from_millis(100),
        ..OutlierPolicy::default()
    };
    let settings = settings()
        .strategy("round_robin", &[])
        .expect("known")
        .outlier(Some(outlier))
        .observe(Arc::clone(&heard) as Arc<dyn Observe>);
    let cluster =
        Cluster::new(settings, listed(&["a", "b", "c"]), endpoints.clone()).expect("unique");
    let service = cluster.balance(Plain);
    let mut failed = 0;
    for call in 0..15 {
        failed += u32::from(service.clone().oneshot(call).await.is_err());
    }
    assert!(failed >= 5, "{failed}");
    eventually("it is ejected", || {
        heard
            .0
            .lock()
            .expect("whole")
            .contains(&"web a ejected".to_owned())
    });
    endpoints.set("a", Manner::Answers);
    eventually("it returns", || {
        cluster.stats().endpoints[0].standing == Standing::Ready
            && heard.0.lock().expect("whole").len() >= 2
    });
}

#[tokio::test]
async fn one_that_joins_warms_up() {
    let endpoints = Endpoints::default();
    let slow = SlowStart {
        window: Nanos::from_secs(3600),
        ..SlowStart::default()
    };
    let settings = settings()
        .strategy("weighted_random", &[])
        .expect("known")
        .slow_start(Some(slow));
    let cluster = Cluster::new(settings, listed(&["a", "b"]), endpoints.clone()).expect("unique");
    let service = cluster.balance(Plain);
    assert!(cluster.upsert(Endpoint::new("c", "10.0.0.3:80")));
    for call in 0..2100 {
        service.clone().oneshot(call).await.expect("an answer");
    }
    // A tenth of a third, not a third.
    let joined = endpoints.calls("c");
    assert!((40..180).contains(&joined), "{joined} of 2100");
}

#[test]
fn callers_that_block_choose_for_themselves_and_need_no_runtime() {
    let cluster = Cluster::new(settings(), listed(&["a", "b"]), |_: &Endpoint| ()).expect("unique");
    let mut tries = cluster.tries();
    let first = tries.next().expect("one of two");
    let id = first.endpoint().id().to_owned();
    first.finish(Outcome::Failure);
    let second = tries.next().expect("the other one");
    assert_ne!(second.endpoint().id(), id);
    second.finish(Outcome::Success);
    assert_eq!(tries.next().expect_err("two tries"), NoEndpoint::AllTried);
    let stats = cluster.stats();
    assert_eq!((stats.retries, in_flight(&stats)), (1, 0));
}

#[test]
fn a_key_stays_with_its_endpoint() {
    let settings = settings().strategy("maglev", &[]).expect("known");
    let cluster =
        Cluster::new(settings, listed(&["a", "b", "c", "d"]), |_: &Endpoint| ()).expect("unique");
    let home = |key: &str| {
        let at = cluster
            .tries_for(key.as_bytes())
            .next()
            .expect("one of four");
        at.endpoint().id().to_owned()
    };
    let homes: BTreeSet<String> = (0..40).map(|key| home(&format!("user-{key}"))).collect();
    assert_eq!(homes.len(), 4);
    assert!((0..40).all(|key| home(&format!("user-{key}")) == home(&format!("user-{key}"))));
}

#[test]
fn a_strategy_that_is_set_later_goes_by_keys_too() {
    let list = listed(&["a", "b", "c", "d"]);
    let cluster = Cluster::new(settings(), list, |_: &Endpoint| ()).expect("unique");
    let maglev = registry::build("maglev", &[]).expect("registered");
    cluster.set_strategy(maglev);
    let home = |key: &[u8]| {
        let at = cluster.tries_for(key).next().expect("one of four");
        at.endpoint().id().to_owned()
    };
    let homes: BTreeSet<String> = (0..40).map(|_| home(b"user-7")).collect();
    assert_eq!(homes.len(), 1, "{homes:?}");
}

/// What threads count is neither lost when they end nor counted twice.
#[test]
fn threads_that_come_and_go_are_counted_once() {
    let cluster = Cluster::new(settings(), listed(&["a", "b"]), |_: &Endpoint| ()).expect("unique");
    for _ in 0..3 {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        cluster
                            .tries()
                            .next()
                            .expect("one of two")
                            .finish(Outcome::Success);
                    }
                });
            }
        });
        // Publishes another version, and folds up what has ended.
        cluster.set_weight("a", 2).expect("known");
    }
    let stats = cluster.stats();
    let successes: u64 = stats
        .endpoints
        .iter()
        .map(|endpoint| endpoint.calls.successes)
        .sum();
    assert_eq!(
        (successes, stats.picked, in_flight(&stats)),
        (1200, 1200, 0)
    );
}

/// Its thread ends, and what this thread keeps of it goes with the next call to any cluster.
#[test]
fn a_cluster_that_is_dropped_lets_go_of_its_services() {
    let service = Arc::new(());
    let held = Arc::clone(&service);
    let cluster = Cluster::new(settings(), listed(&["a"]), move |_: &Endpoint| {
        Arc::clone(&held)
    })
    .expect("unique");
    cluster
        .tries()
        .next()
        .expect("one")
        .finish(Outcome::Success);
    drop(cluster);
    let other = Cluster::new(settings(), listed(&["a"]), |_: &Endpoint| ()).expect("unique");
    // Whoever looks after the first one may hold it for a moment more, and so end it after a call.
    eventually("nobody holds it", || {
        other.tries().next().expect("one").finish(Outcome::Success);
        Arc::strong_count(&service) == 1
    });
}

/// A14: a choice is an endpoint, not a place in a list, and is made when the call is: whatever comes and goes before
/// its answer is asked for, no call goes to one that was gone by then, or to another one than was chosen.
#[tokio::test]
async fn a14_no_call_goes_to_one_that_is_gone() {
    let endpoints = Endpoints::default();
    let cluster =
        Cluster::new(settings(), listed(&["0", "1", "2"]), endpoints.clone()).expect("unique");
    let mut service = cluster.balance(Plain);
    let mut rng = Rng::new(7);
    let mut present: BTreeSet<u64> = (0..3).collect();
    for call in 0..1000_u64 {
        let ready = service.ready().await.expect("ready");
        let made = present.clone();
        // Made, and not asked for while the list changes.
        let waiting = (rng.next_u64().is_multiple_of(2)).then(|| ready.call(call));
        let id = rng.next_u64() % 6;
        if present.contains(&id) && present.len() > 1 {
            cluster.remove(&id.to_string()).expect("it is there");
            present.remove(&id);
        } else {
            cluster.upsert(Endpoint::new(id.to_string(), format!("10.0.0.{id}:80")));
            present.insert(id);
        }
        let (answer, there) = match waiting {
            Some(waiting) => (waiting.await, &made),
            None => (
                service.ready().await.expect("ready").call(call).await,
                &present,
            ),
        };
        let by: u64 = answer.expect("an answer").parse().expect("an id");
        assert!(
            there.contains(&by),
            "call {call} went to {by}, which was gone"
        );
        let calls: u64 = (0..6).map(|id| endpoints.calls(&id.to_string())).sum();
        assert_eq!(calls, call + 1, "each call once");
    }
}
