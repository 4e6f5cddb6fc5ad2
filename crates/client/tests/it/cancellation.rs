//! Callers that change their minds, and code that panics.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_client::{Cluster, Plain, Settings};
use tokio::sync::Semaphore;
use tower::ServiceExt;

use crate::endpoints::{Endpoints, Manner, in_flight, listed};

#[tokio::test]
async fn a_call_that_is_dropped_frees_its_endpoint_and_blames_nobody() {
    let endpoints = Endpoints::default();
    endpoints.set("a", Manner::Waits(Arc::new(Semaphore::new(0))));
    let cluster =
        Cluster::new(Settings::new("web"), listed(&["a"]), endpoints.clone()).expect("unique");
    for _ in 0..20 {
        let call = cluster.balance(Plain).oneshot(1);
        let late = tokio::time::timeout(Duration::from_millis(1), call).await;
        assert!(late.is_err());
    }
    let stats = cluster.stats();
    let calls = &stats.endpoints[0].calls;
    assert_eq!(in_flight(&stats), 0);
    assert_eq!(
        (calls.cancelled, calls.failures, calls.successes),
        (20, 0, 0)
    );
    assert_eq!(stats.endpoints[0].health.as_str(), "healthy");
}

#[tokio::test]
async fn a_panic_in_a_service_frees_its_endpoint() {
    let endpoints = Endpoints::default();
    endpoints.set("a", Manner::Panics);
    let cluster =
        Cluster::new(Settings::new("web"), listed(&["a"]), endpoints.clone()).expect("unique");
    let service = cluster.balance(Plain);
    let panicked = tokio::spawn(AssertUnwindSafe(service.clone().oneshot(1)).0).await;
    assert!(panicked.expect_err("a panic").is_panic());
    assert_eq!(in_flight(&cluster.stats()), 0);
    endpoints.set("a", Manner::Answers);
    assert_eq!(service.oneshot(1).await.expect("an answer"), "a");
}
