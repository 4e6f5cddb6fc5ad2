//! Calls that go on when nobody has their cluster any more.

use std::sync::Arc;
use std::time::Duration;

use evenkeel_client::core::{RetryPolicy, RetryRules};
use evenkeel_client::{Cluster, Error, Settings};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tower::ServiceExt;

use crate::endpoints::{Endpoints, Manner, eventually, listed};
use crate::retries::Repeats;

type Answer = JoinHandle<Result<String, Error>>;

/// A cluster with a queue, of an endpoint that will fail and one that will answer, both full; and the calls at them.
async fn full() -> (
    Cluster<Endpoints>,
    Endpoints,
    [Arc<Semaphore>; 2],
    [Answer; 2],
) {
    let endpoints = Endpoints::default();
    let gates = [(); 2].map(|()| Arc::new(Semaphore::new(0)));
    endpoints.set("a", Manner::FailsLate(Arc::clone(&gates[0])));
    endpoints.set("b", Manner::Waits(Arc::clone(&gates[1])));
    let settings = Settings::new("web")
        .outlier(None)
        .capacity(1)
        .queue(10, Duration::from_secs(60));
    let cluster = Cluster::new(settings, listed(&["a", "b"]), endpoints.clone());
    let cluster = cluster.expect("unique");
    let mut calls = Vec::new();
    for call in 0..2 {
        let before = endpoints.calls("a");
        calls.push(tokio::spawn(cluster.balance(Repeats).oneshot(call)));
        while endpoints.calls("a") + endpoints.calls("b") <= call {
            tokio::task::yield_now().await;
        }
        if endpoints.calls("a") > before {
            calls.rotate_right(call as usize);
        }
    }
    // The one at the endpoint that will fail comes first.
    let calls = calls.try_into().expect("two");
    (cluster, endpoints, gates, calls)
}

/// Waits until a cluster of so many endpoints has ended: whoever looks after it may hold it for a moment more.
fn ended(endpoints: &Endpoints, count: u64) {
    eventually("it has ended", || endpoints.retired() == count);
}

async fn soon(answer: Answer) -> Result<String, Error> {
    let answer = tokio::time::timeout(Duration::from_secs(20), answer).await;
    answer
        .expect("it does not wait for long")
        .expect("no panic")
}

/// Nobody looks after those who wait for a cluster that has ended: what came of the call is its answer.
#[tokio::test]
async fn a_retry_does_not_wait_for_a_cluster_that_has_ended() {
    let (cluster, endpoints, [fails, answers], [first, second]) = full().await;
    drop(cluster);
    ended(&endpoints, 2);
    fails.add_permits(1);
    let error = soon(first).await.expect_err("nobody else is free");
    assert!(!error.is_overload(), "{error}");
    answers.add_permits(1);
    assert_eq!(soon(second).await.expect("an answer"), "b");
}

/// A retry that waits has its cluster looked after, whoever else gives it up.
#[tokio::test]
async fn a_cluster_does_not_end_while_a_retry_waits() {
    let (cluster, endpoints, [fails, answers], [first, second]) = full().await;
    endpoints.set("a", Manner::Answers);
    cluster.remove("a").expect("it is there");
    assert_eq!(endpoints.retired(), 1);
    fails.add_permits(1);
    while cluster.stats().waiting == 0 {
        tokio::task::yield_now().await;
    }
    drop(cluster);
    assert_eq!(endpoints.retired(), 1, "it has not ended");
    answers.add_permits(2);
    assert_eq!(soon(second).await.expect("an answer"), "b");
    assert_eq!(soon(first).await.expect("an answer"), "b");
    while endpoints.retired() == 1 {
        tokio::task::yield_now().await;
    }
}

/// What a try costs does not go by how many endpoints there are.
#[tokio::test]
async fn tries_that_outlive_their_cluster_clone_the_service_that_they_use() {
    let (endpoints, gate) = (Endpoints::default(), Arc::new(Semaphore::new(0)));
    let ids: Vec<String> = (0..50).map(|at| format!("e{at:02}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for id in &ids {
        endpoints.set(id, Manner::FailsLate(Arc::clone(&gate)));
    }
    let retry = RetryRules {
        attempts: 5,
        ..RetryRules::default()
    };
    let settings = Settings::new("web").outlier(None).retry(retry);
    let settings = settings.retry_budget(RetryPolicy {
        per_second: 100,
        ..RetryPolicy::default()
    });
    let cluster = Cluster::new(settings, listed(&ids), endpoints.clone());
    let call = tokio::spawn(cluster.expect("unique").balance(Repeats).oneshot(1));
    let calls = || ids.iter().map(|id| endpoints.calls(id)).sum::<u64>();
    while calls() == 0 {
        tokio::task::yield_now().await;
    }
    ended(&endpoints, 50);
    let before = endpoints.cloned();
    gate.add_permits(10);
    soon(call).await.expect_err("all fail");
    assert_eq!((calls(), endpoints.cloned() - before), (5, 4));
}
