//! What happens when all endpoints are full.

use std::sync::Arc;
use std::time::Duration;

use evenkeel_client::core::NoEndpoint;
use evenkeel_client::{Cluster, Plain, Settings};
use tokio::sync::Semaphore;
use tower::ServiceExt;

use crate::endpoints::{Endpoints, Manner, in_flight, listed};

fn full(settings: Settings) -> (Cluster<Endpoints>, Arc<Semaphore>, Endpoints) {
    let (endpoints, gate) = (Endpoints::default(), Arc::new(Semaphore::new(0)));
    endpoints.set("a", Manner::Waits(Arc::clone(&gate)));
    let cluster = Cluster::new(settings.capacity(1), listed(&["a"]), endpoints.clone());
    (cluster.expect("unique"), gate, endpoints)
}

async fn until(holds: impl Fn() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never holds");
}

#[tokio::test]
async fn without_a_queue_a_call_too_much_is_refused_at_once() {
    let (cluster, gate, endpoints) = full(Settings::new("web"));
    let first = tokio::spawn(cluster.balance(Plain).oneshot(1));
    until(|| endpoints.calls("a") == 1).await;
    let error = cluster.balance(Plain).oneshot(2).await.expect_err("full");
    assert!(error.is_overload());
    assert_eq!(error.no_endpoint(), Some(NoEndpoint::AllFull));
    gate.add_permits(1);
    assert_eq!(first.await.expect("no panic").expect("an answer"), "a");
    assert_eq!(in_flight(&cluster.stats()), 0);
}

#[tokio::test]
async fn a_call_that_waits_is_bound_when_a_slot_opens() {
    let (cluster, gate, endpoints) = full(Settings::new("web").queue(10, Duration::from_secs(20)));
    let calls: Vec<_> = (0..4)
        .map(|call| tokio::spawn(cluster.balance(Plain).oneshot(call)))
        .collect();
    until(|| cluster.stats().waiting == 3 && endpoints.calls("a") == 1).await;
    assert_eq!(in_flight(&cluster.stats()), 1, "never more than its cap");
    gate.add_permits(4);
    for call in calls {
        assert_eq!(call.await.expect("no panic").expect("an answer"), "a");
    }
    let stats = cluster.stats();
    assert_eq!((stats.queued, stats.waiting, in_flight(&stats)), (3, 0, 0));
}

#[tokio::test]
async fn a_queue_that_is_full_or_too_slow_turns_calls_away() {
    let (cluster, gate, endpoints) =
        full(Settings::new("web").queue(1, Duration::from_millis(200)));
    let first = tokio::spawn(cluster.balance(Plain).oneshot(1));
    until(|| endpoints.calls("a") == 1).await;
    let second = tokio::spawn(cluster.balance(Plain).oneshot(2));
    until(|| cluster.stats().waiting == 1).await;
    let error = cluster
        .balance(Plain)
        .oneshot(3)
        .await
        .expect_err("the queue is full");
    assert!(error.is_overload(), "{error}");
    let error = second.await.expect("no panic").expect_err("too slow");
    assert!(error.is_overload(), "{error}");
    assert_eq!(cluster.stats().shed, 2);
    gate.add_permits(1);
    assert!(first.await.expect("no panic").is_ok());
}

#[tokio::test]
async fn a_call_that_is_dropped_while_it_waits_leaves_its_place() {
    let (cluster, gate, _) = full(Settings::new("web").queue(10, Duration::from_secs(20)));
    let first = tokio::spawn(cluster.balance(Plain).oneshot(1));
    until(|| in_flight(&cluster.stats()) == 1).await;
    let second = tokio::spawn(cluster.balance(Plain).oneshot(2));
    until(|| cluster.stats().waiting == 1).await;
    second.abort();
    until(|| cluster.stats().waiting == 0).await;
    gate.add_permits(1);
    assert!(first.await.expect("no panic").is_ok());
    assert_eq!(in_flight(&cluster.stats()), 0);
}
