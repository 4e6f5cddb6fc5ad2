//! What queueing theory says, and what the simulator finds, at the tolerances of the texts.
//!
//! One balancer, Poisson arrivals, servers of mean 1 ms with one slot each unless a test says otherwise, so
//! that times in milliseconds are times in units of a service.

mod bins;
mod choices;
mod model;
mod policies;
mod splits;

use evenkeel_config::{Environment, parse_scenario};
use evenkeel_sim::{Options, Tally, compare};
use model::{Model, RANDOM, erlang, mean, near};

/// 10.1: one server. W = 1 / (1 - load); the time in the system is exponential; P(N >= k) = load^k.
#[test]
fn one_server() {
    for (load, wanted) in [(0.5, 2.0), (0.7, 3.333), (0.8, 5.0), (0.9, 10.0)] {
        let model = Model {
            requests: 4_000_000,
            ..Model::fifo(1, load, RANDOM)
        };
        let tally = model.run(11).remove(0);
        near("mean", mean(&tally), wanted, 0.02);
        let p99 = tally.counts.latency.quantile(0.99).0 as f64 / 1e6;
        near("p99", p99, 4.605 * wanted, 0.03);
    }
    let busy = Model {
        requests: 4_000_000,
        ..Model::fifo(1, 0.95, RANDOM)
    };
    near("mean", busy.mean(), 20.0, 0.05);
}

/// 10.1: the share of time with k or more in the system is the load to the power of k.
#[test]
fn one_server_has_so_many_so_often() {
    let text = "references = false\n[load]\nrequests = 4_000_000\nrate = 800\nwarmup = \"1s\"\nsample = \"4ms\"\n[[backend]]\nservice = \"exponential(1ms)\"\nconcurrency = 1\n[cluster]\nstrategies = [\"random\"]\nretry = false\noutlier = false\n";
    let (scenario, report) = parse_scenario("one", text, &Environment::empty());
    let scenario = scenario.unwrap_or_else(|| panic!("{report}"));
    let results = compare(
        &scenario,
        &Options {
            seed: 11,
            threads: 1,
        },
        &|_| {},
    )
    .results;
    let lengths = &results[0].lengths;
    let all: u64 = lengths.iter().sum();
    for k in [1, 2, 4, 8] {
        let at_least: u64 = lengths.iter().skip(k).sum();
        let share = at_least as f64 / all as f64;
        near("P(N >= k)", share, 0.8_f64.powi(k as i32), 0.02);
    }
}

/// 10.2: k servers with one queue.
#[test]
fn several_servers_with_one_queue() {
    near("the formula", erlang(6, 0.9), 2.233_543, 1e-6);
    for (slots, load) in [
        (2_u32, 0.5),
        (2, 0.9),
        (6, 0.5),
        (6, 0.8),
        (6, 0.9),
        (6, 0.95),
        (10, 0.9),
        (100, 0.9),
        (100, 0.95),
        (1000, 0.95),
    ] {
        let tolerance = if load >= 0.95 { 0.05 } else { 0.02 };
        let model = Model {
            slots: f64::from(slots),
            requests: 2_000_000,
            ..Model::fifo(1, load, RANDOM)
        };
        near("mean", model.mean(), erlang(slots, load), tolerance);
    }
}

/// A balancer that knows everything is one queue for all, whatever it looks like.
#[test]
fn the_clairvoyant_is_one_queue() {
    let text = "[load]\nrequests = 1_000_000\nrate = 5400\nwarmup = \"4s\"\n[[backend]]\ncount = 6\nservice = \"exponential(1ms)\"\nconcurrency = 1\n[cluster]\nstrategies = [\"random\"]\n";
    let (scenario, _) = parse_scenario("oracle", text, &Environment::empty());
    let comparison = compare(
        &scenario.expect("no mistakes"),
        &Options {
            seed: 5,
            threads: 2,
        },
        &|_| {},
    );
    near(
        "mean",
        mean(&comparison.references[0]),
        erlang(6, 0.9),
        0.03,
    );
}

/// 10.8: shared servers do not care about the law of the work.
#[test]
fn shared_servers_do_not_care_about_the_law() {
    for service in ["constant(1ms)", "exponential(1ms)", CV2_10] {
        let shared = Model {
            service,
            discipline: "ps",
            requests: 4_000_000,
            ..Model::fifo(1, 0.9, RANDOM)
        };
        near(service, shared.mean(), 10.0, 0.03);
    }
}

/// 10.8: servers in order do. W = 1 + load (1 + cv^2) / (2 (1 - load)).
#[test]
fn servers_in_order_do() {
    for (service, requests, wanted, tolerance) in [
        ("constant(1ms)", 4_000_000, 5.5, 0.02),
        (CV2_4, 12_000_000, 23.5, 0.02),
        (CV2_10, 12_000_000, 50.5, 0.03),
    ] {
        let model = Model {
            service,
            requests,
            ..Model::fifo(1, 0.9, RANDOM)
        };
        near(service, model.mean(), wanted, tolerance);
    }
}

/// Mean 1, variance 4 and 10.
const CV2_4: &str = "bimodal(0.5ms, 9ms, 0.0588235294117647)";
const CV2_10: &str = "bimodal(0.5ms, 21ms, 0.0243902439024390)";

/// 10.9: with c threads and one server sixty times as slow, turns stall the others.
#[test]
fn threads_run_out() {
    let text = "references = false\n[load]\nduration = \"60s\"\nusers = 50\nwarmup = \"10s\"\n[[backend]]\nservice = \"600ms\"\nconcurrency = 1\n[[backend]]\ncount = 5\nservice = \"10ms\"\nconcurrency = 1\n[cluster]\nstrategies = [\"round_robin\", \"least_request\"]\nretry = false\noutlier = false\ntimeout = { response = \"10m\" }\n";
    let (scenario, report) = parse_scenario("threads", text, &Environment::empty());
    let scenario = scenario.unwrap_or_else(|| panic!("{report}"));
    let results = compare(
        &scenario,
        &Options {
            seed: 2,
            threads: 2,
        },
        &|_| {},
    )
    .results;
    // Six for each answer of the slow one: 10 a second. Otherwise five servers of 100 a second.
    near("by turns", results[0].throughput(), 10.0, 0.15);
    near("by load", results[1].throughput(), 500.0, 0.05);
}

/// 10.2, by the cluster's own queue: endpoints that take one request each, and a request that is bound only when one
/// of them is free, are k servers with one queue.
#[test]
fn late_binding_is_one_queue() {
    for (servers, load) in [(2, 0.9), (6, 0.5), (6, 0.9)] {
        let rate = load * f64::from(servers) * 1000.0;
        let text = format!(
            "references = false\n[load]\nrequests = 1_000_000\nrate = {rate}\nwarmup = \"2s\"\n\
             [[backend]]\ncount = {servers}\nservice = \"exponential(1ms)\"\nconcurrency = 1\n\
             [cluster]\nstrategies = [\"random\"]\nretry = false\noutlier = false\ntimeout = {{ response = \"10m\" }}\n\
             capacity = {{ peak = 1, queue = {{ size = 100_000, timeout = \"10m\" }} }}\n"
        );
        let (scenario, report) = parse_scenario("queue", &text, &Environment::empty());
        let scenario = scenario.unwrap_or_else(|| panic!("{report}"));
        let comparison = compare(
            &scenario,
            &Options {
                seed: 4,
                threads: 1,
            },
            &|_| {},
        );
        let broken: Vec<String> = comparison.violations().collect();
        assert_eq!(broken, Vec::<String>::new());
        let tally = &comparison.results[0];
        assert_eq!(tally.counts.shed, 0);
        near("mean", mean(tally), erlang(servers, load), 0.02);
        // Erlang's C is the share that waits at all.
        let waits = tally.waits as f64 / tally.counts.requests as f64;
        let formula = (erlang(servers, load) - 1.0) * f64::from(servers) * (1.0 - load);
        near("those that wait", waits, formula, 0.02);
    }
}

/// A request that is sent to two after a while takes what the quicker of them takes: with answers of 10 ms, or of 1 s
/// for one in a hundred, that is 30 ms for all but one in ten thousand.
#[test]
fn hedging_takes_the_quicker_of_two() {
    let text = "references = false\n[load]\nrequests = 400_000\nrate = 1000\n[[backend]]\ncount = 6\nservice = \"bimodal(10ms, 1s, 0.01)\"\n[cluster]\nstrategies = [\"least_request\", { name = \"least_request\", label = \"hedged\", retry = { hedge_after = \"20ms\" } }]\noutlier = false\n";
    let (scenario, report) = parse_scenario("hedge", text, &Environment::empty());
    let scenario = scenario.unwrap_or_else(|| panic!("{report}"));
    let comparison = compare(
        &scenario,
        &Options {
            seed: 4,
            threads: 2,
        },
        &|_| {},
    );
    let broken: Vec<String> = comparison.violations().collect();
    assert_eq!(broken, Vec::<String>::new());
    let [plain, hedged] = &comparison.results[..] else {
        panic!("two results");
    };
    near("one", mean(plain), 0.99 * 10.0 + 0.01 * 1000.0, 0.05);
    let second = 0.99 * 30.0 + 0.01 * 1000.0;
    near(
        "the quicker",
        mean(hedged),
        0.99 * 10.0 + 0.01 * second,
        0.01,
    );
    let p999 = hedged.counts.latency.quantile(0.999).0 as f64 / 1e6;
    near("p99.9", p999, 30.0, 0.01);
    near("retries", hedged.retries as f64, 4000.0, 0.05);
    assert_eq!((plain.retries, hedged.over_budget), (0, 0));
}

/// 10.10: the time until a backend that stands still is out is uniform in [(fall - 1) fast + timeout, interval +
/// (fall - 1) fast + timeout], give or take the tenth by which checks are moved.
#[test]
fn a_backend_that_hangs_is_found_in_time() {
    const BACKENDS: u32 = 60;
    let mut text = format!(
        "references = false\n[load]\nduration = \"520s\"\nrate = 5\n[[backend]]\ncount = {BACKENDS}\nservice = \"1ms\"\n[cluster]\nstrategies = [\"round_robin\"]\nretry = false\noutlier = false\nhealth = {{ interval = \"1s\", fast_interval = \"500ms\", timeout = \"200ms\", fall = 3, hold_down = \"0s\" }}\ntimeout = {{ response = \"5s\" }}\n"
    );
    for backend in 0..BACKENDS {
        // Nothing that is a part of the interval, so that all phases are met.
        let at = 5000 + backend * 8137;
        text += &format!("[[fault]]\nat = \"{at}ms\"\nbackend = {backend}\npause = \"6s\"\n");
    }
    let (scenario, report) = parse_scenario("hung", &text, &Environment::empty());
    let scenario = scenario.unwrap_or_else(|| panic!("{report}"));
    let mut times = Vec::new();
    for seed in 0..4 {
        let tally = compare(&scenario, &Options { seed, threads: 1 }, &|_| {})
            .results
            .remove(0);
        times.extend(
            (0..BACKENDS).map(|backend| detection(&tally, &format!("backend-{backend:02}"))),
        );
    }
    times.sort_by(f64::total_cmp);
    let (first, last) = (times[0], times[times.len() - 1]);
    assert!(first >= 2.0 * 0.45 + 0.2, "{first}");
    assert!(last <= 1.1 + 2.0 * 0.55 + 0.2, "{last}");
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    near("mean", mean, 0.5 + 1.0 + 0.2, 0.02);
    // Kolmogorov and Smirnov against the uniform law: 1.63 / sqrt(n) is passed by one sample in a hundred.
    let n = times.len() as f64;
    let off = times.iter().enumerate().map(|(at, time)| {
        let law = (time - 1.2).clamp(0.0, 1.0);
        (law - at as f64 / n)
            .abs()
            .max((law - (at + 1) as f64 / n).abs())
    });
    let most = off.fold(0.0, f64::max);
    assert!(most < 1.63 / n.sqrt(), "{most}");
}

/// How long it took until a backend that stood still was out, in seconds.
fn detection(tally: &Tally, id: &str) -> f64 {
    let find = |begin: &str| {
        let what = format!("{id}{begin}");
        let found = tally
            .happenings
            .iter()
            .find(|one| one.what.starts_with(&what));
        found.unwrap_or_else(|| panic!("no {what:?}")).at.0 as f64 / 1e9
    };
    find(" is unhealthy") - find(": stands still")
}

/// The figures of the Prequal paper: below the allocation latency is that of the work alone, at 1.27 times it p99 by
/// turns is at least ten times that of Prequal, which has no error up to 1.74 times.
#[test]
fn prequal_is_as_published() {
    let built_in = evenkeel_sim::BuiltIn::find("prequal-ramp").expect("it is built in");
    let mut scenario = built_in.scenario();
    scenario.references = false;
    scenario
        .variants
        .retain(|variant| variant.label != "least_request");
    let evenkeel_config::Source::Open { stages, .. } = &mut scenario.load.source else {
        panic!("its requests come from the world");
    };
    // What times out at 1.27 has begun to pile up before.
    let times = |stage: &evenkeel_config::Stage| (stage.rate / 74.7).round() as u32;
    stages.retain(|stage| [75, 114, 127, 174].contains(&times(stage)));
    assert_eq!(stages.len(), 4);
    scenario.load.amount =
        evenkeel_config::Amount::Lasting(stages.iter().map(|one| one.lasting).sum());
    let results = compare(
        &scenario,
        &Options {
            seed: 1,
            threads: 2,
        },
        &|_| {},
    )
    .results;
    let [turns, prequal] = &results[..] else {
        panic!("two results");
    };
    let ms = |tally: &Tally, stage: usize, share| {
        tally.stages[stage].counts.latency.quantile(share).0 as f64 / 1e6
    };
    for tally in [turns, prequal] {
        for (share, wanted) in [(0.5, 80.0), (0.9, 182.0), (0.99, 266.0), (0.999, 327.0)] {
            near(&tally.label, ms(tally, 0, share), wanted, 0.03);
        }
    }
    let (slow, fast) = (ms(turns, 2, 0.99), ms(prequal, 2, 0.99));
    assert!(slow >= 10.0 * fast, "{slow} {fast}");
    assert_eq!(prequal.counts.failed, 0);
    assert!(turns.counts.failed > 0);
}
