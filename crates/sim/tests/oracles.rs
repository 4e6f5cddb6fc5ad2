//! What queueing theory says, and what the simulator finds, at the tolerances of the texts.
//!
//! One balancer, Poisson arrivals, servers of mean 1 ms with one slot each unless a test says otherwise, so
//! that times in milliseconds are times in units of a service.

use evenkeel_config::{Environment, parse_scenario};
use evenkeel_sim::{Options, Tally, compare};

/// The times in the texts hold in equilibrium: the beginning is left out.
const WARMUP: &str = "1s";

struct Model {
    servers: u32,
    load: f64,
    service: &'static str,
    discipline: &'static str,
    slots: f64,
    strategies: &'static str,
    requests: u64,
}

impl Model {
    fn fifo(servers: u32, load: f64, strategies: &'static str) -> Self {
        Self {
            servers,
            load,
            service: "exponential(1ms)",
            discipline: "fifo",
            slots: 1.0,
            strategies,
            requests: 1_200_000,
        }
    }

    fn run(&self, seed: u64) -> Vec<Tally> {
        let rate = self.load * self.slots * f64::from(self.servers) * 1000.0;
        let text = format!(
            "references = false\n[load]\nrequests = {}\nrate = {rate}\nwarmup = \"{WARMUP}\"\n\
             [[backend]]\ncount = {}\nservice = \"{}\"\ndiscipline = \"{}\"\nconcurrency = {}\n\
             [cluster]\nstrategies = {}\nretry = false\noutlier = false\n",
            self.requests, self.servers, self.service, self.discipline, self.slots, self.strategies,
        );
        let (scenario, report) = parse_scenario("oracle", &text, &Environment::empty());
        let scenario = scenario.unwrap_or_else(|| panic!("{report}"));
        let comparison = compare(&scenario, &Options { seed, threads: 2 }, &|_| {});
        let broken: Vec<String> = comparison.violations().collect();
        assert_eq!(broken, Vec::<String>::new());
        for tally in &comparison.results {
            // PASTA: arrivals find what is there on average over time.
            near("seen on arrival", tally.seen, tally.mean_present, 0.02);
            for endpoint in &tally.endpoints {
                let busy = endpoint.utilization.expect("slots have a number");
                if tally.endpoints.len() <= 10 {
                    near(&endpoint.id, busy, self.load, 0.03);
                }
            }
        }
        comparison.results
    }

    /// The mean time in the system under one strategy.
    fn mean(&self) -> f64 {
        mean(&self.run(11)[0])
    }
}

fn mean(tally: &Tally) -> f64 {
    tally.counts.latency.mean() / 1e6
}

#[track_caller]
fn near(what: &str, got: f64, wanted: f64, tolerance: f64) {
    let off = got / wanted - 1.0;
    assert!(
        off.abs() <= tolerance,
        "{what}: {got}, wanted {wanted}, {:.1} % off",
        off * 100.0
    );
}

const RANDOM: &str = "[\"random\"]";
const TURNS: &str = "[\"round_robin\"]";
const TWO: &str = "[{ name = \"least_request\", scan = 0 }]";
const ALL: &str = "[{ name = \"least_request\", scan = 64 }]";

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
    near("mean", Model::fifo(1, 0.95, RANDOM).mean(), 20.0, 0.05);
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

/// Erlang's C, and the mean time in the system.
fn erlang(servers: u32, load: f64) -> f64 {
    let k = f64::from(servers);
    let a = k * load;
    let blocked = (1..=servers).fold(1.0, |b, i| a * b / (f64::from(i) + a * b));
    let waits = blocked / (1.0 - load * (1.0 - blocked));
    1.0 + waits / (k * (1.0 - load))
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

/// 10.3 and 10.4: a split by chance leaves n single servers; one by turns makes arrivals at each more even.
#[test]
fn splits_that_look_at_nothing() {
    near("random", Model::fifo(6, 0.8, RANDOM).mean(), 5.0, 0.02);
    for (servers, load, wanted) in [
        (2, 0.5, 1.6180),
        (2, 0.9, 7.5883),
        (6, 0.5, 1.3722),
        (6, 0.8, 3.0756),
        (6, 0.9, 5.9815),
        (10, 0.5, 1.3246),
        (10, 0.8, 2.9223),
        (10, 0.9, 5.6603),
        (100, 0.5, 1.2619),
        (100, 0.8, 2.7157),
    ] {
        near(
            "by turns",
            Model::fifo(servers, load, TURNS).mean(),
            wanted,
            0.02,
        );
    }
}

/// 10.5 and 10.6: the power of two choices at n = 100, and in the limit.
#[test]
fn two_choices() {
    for (load, wanted) in [(0.7, 1.62), (0.9, 2.65), (0.95, 3.47)] {
        let tolerance = if load >= 0.95 { 0.05 } else { 0.02 };
        near(
            "n = 100",
            Model::fifo(100, load, TWO).mean(),
            wanted,
            tolerance,
        );
    }
    for (load, limit) in [(0.5, 1.2657), (0.7, 1.6145), (0.8, 1.9474)] {
        near(
            "the limit",
            Model::fifo(1000, load, TWO).mean(),
            limit,
            0.02,
        );
    }
    for (load, wanted) in [(0.5, 1.301), (0.8, 2.171), (0.9, 3.324)] {
        near("n = 6", Model::fifo(6, load, TWO).mean(), wanted, 0.02);
    }
}

/// 10.6: the shortest of all queues.
#[test]
fn the_shortest_queue() {
    for (servers, load, wanted) in [
        (2, 0.5, 1.428),
        (2, 0.8, 2.973),
        (2, 0.9, 5.421),
        (6, 0.5, 1.078),
        (6, 0.8, 1.624),
        (6, 0.9, 2.524),
    ] {
        let model = Model {
            requests: if load >= 0.9 { 3_000_000 } else { 1_200_000 },
            ..Model::fifo(servers, load, ALL)
        };
        near("mean", model.mean(), wanted, 0.02);
    }
}

/// 10.6: the order of means, which holds whatever the load.
#[test]
fn knowing_more_is_never_worse() {
    let strategies = "[\"random\", \"round_robin\", { name = \"least_request\", label = \"two\", scan = 0 }, { name = \"least_request\", label = \"all\", scan = 64 }]";
    for load in [0.3, 0.6, 0.9] {
        let model = Model {
            requests: 1_000_000,
            ..Model::fifo(6, load, strategies)
        };
        let tallies = model.run(3);
        let [random, turns, two, all] = &tallies[..] else {
            panic!("four results");
        };
        let bound = erlang(6, load) * 0.99;
        assert!(bound <= mean(all) && mean(all) <= mean(two), "{load}");
        assert!(
            mean(two) <= mean(random) && mean(turns) <= mean(random),
            "{load}"
        );
    }
}

/// 10.8: shared servers do not care about the law of the work; servers in order do.
#[test]
fn the_law_of_the_work() {
    for service in [
        "constant(1ms)",
        "exponential(1ms)",
        "bimodal(0.5ms, 20.5ms, 0.025)",
    ] {
        let shared = Model {
            service,
            discipline: "ps",
            requests: 1_500_000,
            ..Model::fifo(1, 0.8, RANDOM)
        };
        near(service, shared.mean(), 5.0, 0.03);
    }
    // W = 1 + load (1 + cv^2) / (2 (1 - load)).
    let even = Model {
        service: "constant(1ms)",
        ..Model::fifo(1, 0.9, RANDOM)
    };
    near("constant", even.mean(), 5.5, 0.02);
    let uneven = Model {
        service: "bimodal(0.5ms, 20.5ms, 0.025)",
        ..Model::fifo(1, 0.5, RANDOM)
    };
    // Mean 1, second moment 10.75.
    near(
        "bimodal",
        uneven.mean(),
        1.0 + 0.5 * 10.75 / (2.0 * 0.5),
        0.03,
    );
}

/// 10.7: n balls into n bins, which nobody takes out.
#[test]
fn balls_into_bins() {
    for (strategies, wanted) in [(RANDOM, 6.65), (TWO, 3.05)] {
        let mut sum = 0.0;
        const RUNS: u64 = 8;
        for seed in 0..RUNS {
            let text = format!(
                "references = false\n[load]\nrequests = 10_000\nrate = 10_000_000\nsample = \"10m\"\n[[backend]]\ncount = 10_000\nservice = \"1h\"\n[cluster]\nstrategies = {strategies}\nretry = false\ntimeout = {{ response = \"2h\" }}\n"
            );
            let (scenario, report) = parse_scenario("bins", &text, &Environment::empty());
            let scenario = scenario.unwrap_or_else(|| panic!("{report}"));
            let tally = compare(&scenario, &Options { seed, threads: 1 }, &|_| {})
                .results
                .remove(0);
            let most = tally
                .endpoints
                .iter()
                .map(|endpoint| endpoint.max_in_flight)
                .max();
            sum += f64::from(most.expect("endpoints"));
        }
        near(strategies, sum / RUNS as f64, wanted, 0.08);
    }
}

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
