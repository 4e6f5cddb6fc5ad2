//! What several workers do together.

use evenkeel_config::StrategyChoice;
use evenkeel_testkit::{Gateway, Upstream};

use crate::{ask, together};

/// A16: each worker has a schedule of its own, and their sum is even: of 10,000 requests, each on a connection of
/// its own, each of ten endpoints gets a tenth, give or take a twentieth of it.
#[test]
fn a16_workers_are_even_together() {
    let upstreams: Vec<Upstream> = (0..10).map(|_| Upstream::ok("ok")).collect();
    let endpoints = upstreams.iter().enumerate();
    let endpoints = endpoints.map(|(number, upstream)| upstream.endpoint(&number.to_string()));
    for strategy in ["round_robin", "least_request"] {
        let gateway = Gateway::with(endpoints.clone(), |config| {
            config.clusters[0].strategy = StrategyChoice::new(strategy, &[]).expect("known");
        });
        let before: Vec<usize> = upstreams.iter().map(Upstream::count).collect();
        together(4, |_| {
            for _ in 0..2500 {
                let closing = "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";
                assert_eq!(ask(gateway.address(), closing).status, 200);
            }
        });
        let counts = upstreams
            .iter()
            .zip(&before)
            .map(|(upstream, before)| upstream.count() - before);
        let counts: Vec<usize> = counts.collect();
        assert_eq!(counts.iter().sum::<usize>(), 10_000);
        // Least requests is even by load, not by count: where hardly anything is in flight chance decides, and an
        // endpoint whose thread the machine lets wait rightly gets less.
        let (least, most) = if strategy == "round_robin" {
            (950, 1050)
        } else {
            (700, 1300)
        };
        assert!(
            counts.iter().all(|count| (least..=most).contains(count)),
            "{strategy}: {counts:?}"
        );
    }
}
