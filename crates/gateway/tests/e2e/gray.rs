//! Endpoints that are slow or fail fast, end to end: what is sent to them while clients wait in turn.

use std::time::Duration;

use evenkeel_config::StrategyChoice;
use evenkeel_testkit::{Answer, Gateway, RawClient, Upstream};

use crate::{GET, together};

const CLIENTS: usize = 24;
const SICK: usize = 2;
const WELL: Duration = Duration::from_millis(10);

/// The share of the sick one of six endpoints, once each client has made `before` requests.
fn share_of_sick(strategy: &str, ejects: bool, sick: fn() -> Answer, before: usize) -> f64 {
    let upstreams: Vec<Upstream> = (0..6)
        .map(|at| match at {
            SICK => Upstream::answering(move |_| sick()),
            _ => Upstream::answering(|_| Answer::ok("well").after(WELL)),
        })
        .collect();
    let endpoints = (0..).zip(&upstreams);
    let endpoints = endpoints.map(|(at, upstream)| upstream.endpoint(&format!("e{at}")));
    let gateway = Gateway::with(endpoints, |config| {
        let choice = StrategyChoice::new(strategy, &[]);
        config.clusters[0].strategy = choice.expect("known");
        if !ejects {
            config.clusters[0].outlier = None;
        }
    });
    let run = |requests: usize| {
        together(CLIENTS, |_| {
            let mut client = RawClient::connect(gateway.address());
            for _ in 0..requests {
                client.send(GET);
                client.response();
            }
        });
        upstreams[SICK].count()
    };
    let warm = run(before);
    let all = 40;
    let share = (run(all) - warm) as f64 / (CLIENTS * all) as f64;
    println!("{strategy}, ejection {ejects}: {share:.4} of the requests");
    share
}

/// Case A20: an error at once looks idle and fast. With ejection, which is on by default, next to nothing
/// goes there; without it little.
#[test]
fn a20_a_black_hole_attracts_little() {
    let fails = || Answer::status(500, "no").after(Duration::from_millis(1));
    for strategy in ["least_request", "peak_ewma", "prequal"] {
        let share = share_of_sick(strategy, true, fails, 30);
        assert!(share < 0.05, "{strategy}: {share:.3} with ejection");
        let share = share_of_sick(strategy, false, fails, 30);
        assert!(share < 0.15, "{strategy}: {share:.3} without");
    }
}

/// Sixty times slower than the others: requests pile up there, and no more are sent.
#[test]
fn a_gray_endpoint_gets_little() {
    let slow = || Answer::ok("slow").after(60 * WELL);
    for (strategy, most) in [("least_request", 0.10), ("peak_ewma", 0.04)] {
        let share = share_of_sick(strategy, true, slow, 10);
        assert!(share < most, "{strategy}: {share:.3}");
    }
}
