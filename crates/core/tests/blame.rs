//! Cases of others about whom to blame, and when to stop.

mod sick;

use evenkeel_core::health::{
    ActivePolicy, ClusterHealth, Happening, Health, HealthPolicy, Observed, OutlierPolicy,
    ProbeResult,
};
use evenkeel_core::strategy::registry;
use evenkeel_core::{
    Endpoint, Fallback, Membership, Nanos, NoEndpoint, PanicThreshold, PickContext, Picker,
    PickerSeed, Standing,
};
use sick::{cluster, id};

fn ejected(health: &ClusterHealth, count: usize) -> usize {
    let is_out = |number: &usize| {
        let verdict = health.verdict(&id(*number));
        verdict.is_some_and(|verdict| verdict.health == Health::Ejected)
    };
    (0..count).filter(is_out).count()
}

/// Case C10: the share is counted with the one that is about to go. All of three fail, one after another,
/// and the most that were ever out at once is what the cap allows, or less.
#[test]
fn c10_the_next_ejection_is_part_of_the_share() {
    for (count, max_ejected, most) in [
        (3, 0.67, 2),
        (3, 0.5, 1),
        (3, 0.34, 1),
        (3, 0.0, 0),
        (1, 0.67, 0),
        (1, 1.0, 0),
        (6, 0.5, 3),
        (6, 0.49, 2),
    ] {
        let policy = OutlierPolicy {
            max_ejected,
            ..OutlierPolicy::default()
        };
        assert!(
            count == 1 || policy.ejected_max(count) == most,
            "{count} {max_ejected}"
        );
        for first in 0..count {
            let mut health = cluster(
                HealthPolicy {
                    outlier: Some(policy),
                    ..HealthPolicy::default()
                },
                count,
            );
            let mut runs = vec![0; count];
            let mut out = 0;
            for turn in 0..count {
                // Those before it have long been failing.
                runs[(first + turn) % count] = 5;
                let ids: Vec<String> = (0..count).map(id).collect();
                let told = ids.iter().map(String::as_str).zip(runs.iter().copied());
                let _ = health.runs(told, Nanos::from_secs(1 + turn as u64));
                out = out.max(ejected(&health, count));
            }
            assert!(out <= most, "{out} of {count} with {max_ejected}");
            // The first one is out at once, so it is the cap that stopped the others.
            assert_eq!(out > 0, most > 0, "{count} with {max_ejected}");
        }
    }
}

/// All endpoints of a cluster fail their checks; what decisions come to then.
fn all_unhealthy(threshold: PanicThreshold) -> Membership {
    let strategy = registry::build("round_robin", &[]).expect("registered");
    let mut members = Membership::new("web", strategy);
    members.set_panic(threshold);
    for number in 0..4 {
        members.upsert(Endpoint::new(id(number), format!("127.0.0.1:{number}")));
    }
    let active = ActivePolicy {
        fall: 1,
        ..ActivePolicy::default()
    };
    let mut health = cluster(
        HealthPolicy {
            active: Some(active),
            ..HealthPolicy::default()
        },
        4,
    );
    let failed = ProbeResult {
        passed: false,
        seen: "connection refused".to_owned(),
    };
    for number in 0..4 {
        let happenings = health.probed(&id(number), &failed, Nanos::from_secs(1));
        assert!(
            matches!(happenings[..], [Happening::Endpoint(_)]),
            "{happenings:?}"
        );
    }
    assert!(health.apply(&mut members, Nanos::from_secs(1)));
    members
}

/// Case C11: with all of them out it is a choice that is made on purpose. Below the threshold all are used,
/// evenly, and the snapshot and every choice say so.
#[test]
fn c11_below_the_threshold_all_are_used_and_it_is_said() {
    let snapshot = all_unhealthy(PanicThreshold::new(0.5).expect("a share")).snapshot();
    assert!(
        snapshot
            .groups()
            .iter()
            .all(evenkeel_core::Group::is_in_panic)
    );
    let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
    let mut counts = [0; 4];
    for _ in 0..400 {
        let lease = picker.pick(&snapshot, &PickContext::at(Nanos::from_secs(2)));
        let lease = lease.expect("all of them are used");
        assert_eq!(lease.fallback(), Some(Fallback::Panic));
        counts[lease.index()] += 1;
    }
    assert_eq!(counts, [100; 4]);
}

/// Case C11: without a threshold nothing is sent to those that are known to be ill, and the reason is told.
#[test]
fn c11_without_a_threshold_requests_fail_with_a_reason() {
    let snapshot = all_unhealthy(PanicThreshold::OFF).snapshot();
    let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
    let refused = picker.pick(&snapshot, &PickContext::at(Nanos::from_secs(2)));
    let reason = refused.expect_err("nobody is healthy");
    assert_eq!(reason, NoEndpoint::NoneHealthy);
    assert!(reason.to_string().contains("healthy"), "{reason}");
}

/// Case C15: the only endpoint is never ejected, however often it fails; so it is asked again at once.
#[test]
fn c15_the_only_endpoint_stays() {
    let policy = OutlierPolicy {
        max_ejected: 1.0,
        failure_rate: 0.1,
        min_requests: 1,
        latency_factor: Some(1.1),
        ..OutlierPolicy::default()
    };
    let mut health = cluster(
        HealthPolicy {
            outlier: Some(policy),
            ..HealthPolicy::default()
        },
        1,
    );
    for failures in 1..=10 {
        let told = health.runs([("e0", failures)].into_iter(), Nanos::from_secs(1));
        let changes = told.iter().any(|it| matches!(it, Happening::Endpoint(_)));
        assert!(!changes, "{told:?}");
    }
    let failing = Observed {
        failures: 1_000,
        ..Observed::default()
    };
    let told = health.interval([("e0", failing)].into_iter(), Nanos::from_secs(11));
    assert!(
        !told.iter().any(|it| matches!(it, Happening::Endpoint(_))),
        "{told:?}"
    );
    assert_eq!(ejected(&health, 1), 0);
}

/// What is held of each endpoint is how it stands in the next snapshot, and that is said once.
#[test]
fn an_endpoint_stands_as_its_health_is() {
    let strategy = registry::build("round_robin", &[]).expect("registered");
    let mut members = Membership::new("web", strategy);
    for number in 0..3 {
        members.upsert(Endpoint::new(id(number), format!("127.0.0.1:{number}")));
    }
    let active = ActivePolicy {
        fall: 1,
        rise: 1,
        hold_down: Nanos(0),
        ..ActivePolicy::default()
    };
    let policy = HealthPolicy {
        active: Some(active),
        ..HealthPolicy::default()
    };
    let groups = members.snapshot();
    assert!(groups.groups().iter().all(|group| !group.is_in_panic()));
    let mut health = cluster(policy, 3);
    let at_first = health.verdict(&id(0)).expect("listed");
    assert_eq!((at_first.health, &*at_first.reason), (Health::Healthy, ""));
    let now = Nanos::from_secs(1);
    let probe = |health: &mut ClusterHealth, number, passed| {
        let seen = String::new();
        let _ = health.probed(&id(number), &ProbeResult { passed, seen }, now);
    };
    probe(&mut health, 0, true);
    probe(&mut health, 1, false);
    for _ in 0..4 {
        probe(&mut health, 2, true);
        probe(&mut health, 2, false);
    }
    assert!(health.apply(&mut members, now));
    assert!(
        !health.apply(&mut members, now),
        "nothing is other than it was"
    );
    let snapshot = members.snapshot();
    let standings = [0, 1, 2].map(|at| snapshot.standing(at));
    assert_eq!(
        standings,
        [Standing::Ready, Standing::Unhealthy, Standing::Damped]
    );
    // The damped one is let go without another check, and somebody has to look then.
    let until = health.verdict(&id(2)).expect("listed").until;
    assert!(until.is_some_and(|until| until > now));
    assert_eq!(health.next_tick(now), until);
}

/// The endpoints that an interval ejects, when so many of a hundred requests failed at each.
fn interval(health: &mut ClusterHealth, failures: &[u64]) -> Vec<Happening> {
    let ids: Vec<String> = (0..failures.len()).map(id).collect();
    let observed = failures.iter().map(|failures| Observed {
        successes: 100 - failures,
        failures: *failures,
        ..Observed::default()
    });
    let observed = ids.iter().map(String::as_str).zip(observed);
    health.interval(observed, Nanos::from_secs(10))
}

/// By shares of failures as by failures in a row: when more than half fail, with those that are out
/// already, it is not they who are to blame.
#[test]
fn when_most_fail_nobody_is_ejected_until_they_do_not() {
    let policy = OutlierPolicy {
        max_ejected: 1.0,
        ..OutlierPolicy::default()
    };
    let policy = HealthPolicy {
        outlier: Some(policy),
        ..HealthPolicy::default()
    };
    let mut health = cluster(policy, 4);
    let brake = |happenings: &[Happening]| match happenings {
        [Happening::SharedCause { begins, .. }] => Some(*begins),
        _ => None,
    };
    let most = interval(&mut health, &[60, 60, 60, 0]);
    assert_eq!(brake(&most), Some(true), "{most:?}");
    assert!(health.has_shared_cause());
    assert!(
        interval(&mut health, &[60, 60, 60, 0]).is_empty(),
        "it is said once"
    );
    assert_eq!(ejected(&health, 4), 0);
    let over = interval(&mut health, &[0, 0, 0, 0]);
    assert_eq!(brake(&over), Some(false), "{over:?}");
    assert!(!health.has_shared_cause());
    // Half of them is not most.
    let half = interval(&mut health, &[60, 60, 0, 0]);
    assert_eq!((half.len(), ejected(&health, 4)), (2, 2), "{half:?}");
    // One more would be.
    let third = interval(&mut health, &[60, 60, 60, 0]);
    assert_eq!(brake(&third), Some(true), "{third:?}");
    assert_eq!(ejected(&health, 4), 2);
}

/// By shares of failures as by failures in a row, no more are out than may be.
#[test]
fn an_interval_ejects_no_more_than_may_be_out() {
    let policy = HealthPolicy {
        outlier: Some(OutlierPolicy::default()),
        ..HealthPolicy::default()
    };
    let mut health = cluster(policy, 20);
    let mut failures = [0; 20];
    failures[..5].fill(60);
    for _ in 0..3 {
        let _ = interval(&mut health, &failures);
        assert_eq!(ejected(&health, 20), 2, "a tenth");
    }
}

/// Requests that were under way when it was ejected fail too, and make it no longer.
#[test]
fn who_is_out_is_not_ejected_once_more() {
    let policy = HealthPolicy {
        outlier: Some(OutlierPolicy::default()),
        ..HealthPolicy::default()
    };
    let mut health = cluster(policy, 20);
    let (first, now) = (id(0), Nanos::from_secs(2));
    let happened = health.runs([(&*first, 5)].into_iter(), Nanos::from_secs(1));
    assert_eq!((happened.len(), ejected(&health, 20)), (1, 1));
    let until = health.next_tick(now);
    assert!(health.runs([(&*first, 9)].into_iter(), now).is_empty());
    assert_eq!(health.next_tick(now), until);
}
