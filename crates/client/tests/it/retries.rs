//! What is tried again, and beside.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_client::core::{FailurePoint, Nanos, RetryPolicy, RetryRules};
use evenkeel_client::{BoxError, CallLease, Cluster, Judgement, Plain, Rules, Settings};
use tokio::sync::Semaphore;
use tower::ServiceExt;

use crate::endpoints::{Endpoints, Manner, in_flight, listed};

/// Every call may be repeated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeats;

impl Rules<u64, String, BoxError> for Repeats {
    type Answer = String;
    type Kept = u64;

    fn is_idempotent(&self, _: &u64) -> bool {
        true
    }

    fn keep(&self, call: &u64) -> Option<u64> {
        Some(*call)
    }

    fn again(&self, kept: &u64) -> Option<u64> {
        Some(*kept)
    }

    fn judge(&self, ended: Result<&String, &BoxError>, _: &RetryRules) -> Judgement {
        match ended {
            Ok(_) => Judgement::SUCCESS,
            Err(_) => Judgement::failure(FailurePoint::Silent, "failed"),
        }
    }

    fn answer(&self, answer: String, _: CallLease) -> String {
        answer
    }
}

fn settings() -> Settings {
    Settings::new("web")
        .outlier(None)
        .strategy("round_robin", &[])
        .expect("known")
}

#[tokio::test]
async fn what_was_never_sent_goes_to_another_endpoint_whatever_it_is() {
    let endpoints = Endpoints::default();
    endpoints.set("a", Manner::Refuses);
    let cluster = Cluster::new(settings(), listed(&["a", "b"]), endpoints.clone()).expect("unique");
    for call in 0..20 {
        assert_eq!(
            cluster
                .balance(Plain)
                .oneshot(call)
                .await
                .expect("an answer"),
            "b"
        );
    }
    assert_eq!((endpoints.calls("a"), endpoints.calls("b")), (0, 20));
    assert!(cluster.stats().retries >= 10);
}

#[tokio::test]
async fn what_may_have_been_acted_upon_is_repeated_only_if_that_does_no_harm() {
    let endpoints = Endpoints::default();
    endpoints.set("a", Manner::Fails);
    let cluster = Cluster::new(settings(), listed(&["a", "b"]), endpoints.clone()).expect("unique");
    let mut failed = 0;
    for call in 0..10 {
        failed += u32::from(cluster.balance(Plain).oneshot(call).await.is_err());
    }
    assert_eq!(failed, 5, "nobody knows what a plain call does");
    for call in 0..10 {
        assert_eq!(
            cluster
                .balance(Repeats)
                .oneshot(call)
                .await
                .expect("an answer"),
            "b"
        );
    }
    assert_eq!(in_flight(&cluster.stats()), 0);
}

#[tokio::test]
async fn retries_end_with_their_budget() {
    let endpoints = Endpoints::default();
    endpoints.set("a", Manner::Fails);
    endpoints.set("b", Manner::Fails);
    let budget = RetryPolicy {
        ratio: 0.1,
        per_second: 0,
        window: Nanos::from_secs(60),
    };
    let cluster = Cluster::new(
        settings().retry_budget(budget),
        listed(&["a", "b"]),
        endpoints.clone(),
    )
    .expect("unique");
    for call in 0..100 {
        let error = cluster
            .balance(Repeats)
            .oneshot(call)
            .await
            .expect_err("both fail");
        assert!(error.is_endpoint());
    }
    let stats = cluster.stats();
    assert!((9..=10).contains(&stats.retries), "{}", stats.retries);
    assert_eq!(
        endpoints.calls("a") + endpoints.calls("b"),
        100 + stats.retries
    );
    assert_eq!(stats.over_budget, 100 - stats.retries);
}

#[tokio::test]
async fn a_slow_endpoint_is_hedged_and_blamed_for_nothing() {
    let (endpoints, gate) = (Endpoints::default(), Arc::new(Semaphore::new(0)));
    endpoints.set("a", Manner::Waits(gate));
    let retry = RetryRules {
        hedge_after: Some(Nanos::from_millis(10)),
        ..RetryRules::default()
    };
    let cluster = Cluster::new(
        settings().retry(retry),
        listed(&["a", "b"]),
        endpoints.clone(),
    )
    .expect("unique");
    for call in 0..6 {
        assert_eq!(
            cluster
                .balance(Repeats)
                .oneshot(call)
                .await
                .expect("an answer"),
            "b"
        );
    }
    let stats = cluster.stats();
    assert_eq!((stats.hedges, in_flight(&stats)), (endpoints.calls("a"), 0));
    assert_eq!(stats.endpoints[0].calls.failures, 0);
    assert_eq!(stats.endpoints[0].calls.cancelled, stats.hedges);
    assert!(stats.hedges >= 2);
}

#[tokio::test]
async fn a_try_that_takes_too_long_fails_and_goes_elsewhere_if_that_is_allowed() {
    let (endpoints, gate) = (Endpoints::default(), Arc::new(Semaphore::new(0)));
    endpoints.set("a", Manner::Waits(gate));
    let retry = RetryRules {
        per_try_timeout: Some(Nanos::from_millis(20)),
        timeout: true,
        ..RetryRules::default()
    };
    let cluster = Cluster::new(
        settings().retry(retry.clone()),
        listed(&["a", "b"]),
        endpoints.clone(),
    )
    .expect("unique");
    for call in 0..4 {
        assert_eq!(
            cluster
                .balance(Repeats)
                .oneshot(call)
                .await
                .expect("an answer"),
            "b"
        );
    }
    assert_eq!(
        cluster.stats().endpoints[0].calls.failures,
        endpoints.calls("a")
    );
    let once = RetryRules {
        timeout: false,
        ..retry
    };
    let cluster =
        Cluster::new(settings().retry(once), listed(&["a"]), endpoints.clone()).expect("unique");
    let error = cluster
        .balance(Repeats)
        .oneshot(1)
        .await
        .expect_err("too slow");
    assert!(error.is_timeout(), "{error}");
    assert_eq!(in_flight(&cluster.stats()), 0);
}

/// As [`Repeats`], and counts what it is asked.
#[derive(Clone, Debug, Default)]
struct Counts(Arc<AtomicU64>);

impl Rules<u64, String, BoxError> for Counts {
    type Answer = String;
    type Kept = u64;

    fn is_idempotent(&self, _: &u64) -> bool {
        true
    }

    fn keep(&self, call: &u64) -> Option<u64> {
        Some(*call)
    }

    fn again(&self, kept: &u64) -> Option<u64> {
        Some(*kept)
    }

    fn judge(&self, ended: Result<&String, &BoxError>, retry: &RetryRules) -> Judgement {
        self.0.fetch_add(1, Ordering::Relaxed);
        Repeats.judge(ended, retry)
    }

    fn answer(&self, answer: String, _: CallLease) -> String {
        answer
    }
}

/// The first try takes the short way, unless there are timers; all others the long one.
#[tokio::test]
async fn rules_are_asked_once_for_each_try() {
    let timed = RetryRules {
        per_try_timeout: Some(Nanos::from_secs(60)),
        ..RetryRules::default()
    };
    for retry in [RetryRules::default(), timed] {
        let (endpoints, rules) = (Endpoints::default(), Counts::default());
        endpoints.set("a", Manner::Fails);
        endpoints.set("b", Manner::Fails);
        let settings = settings().retry(retry);
        let cluster = Cluster::new(settings, listed(&["a", "b"]), endpoints.clone());
        let answer = cluster.expect("unique").balance(rules.clone()).oneshot(1);
        answer.await.expect_err("both fail");
        let tries = endpoints.calls("a") + endpoints.calls("b");
        assert_eq!((tries, rules.0.load(Ordering::Relaxed)), (2, 2));
    }
}
