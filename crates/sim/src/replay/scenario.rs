//! A log as a scenario: its own arrivals, and what was fitted to its endpoints.

use std::collections::BTreeMap;
use std::time::Duration;

use evenkeel_config::{
    Amount, Arrival, Arrivals, Backend, Cluster, Discipline, Fault, FaultKind, Keys, Law, Load,
    Scenario, Source, Stage,
};

use super::fit::Fit;
use super::log::{Recorded, Request};
use super::what_if::Question;

/// A pause in which nothing comes and nothing is under way is no longer than this when it is run again: by then a
/// balancer has forgotten all that it will forget, and a run takes as long as there are requests, not as the log
/// spans.
const PAUSE_MAX: u64 = 600_000_000_000;

/// The log's arrivals, and what was fitted to its endpoints.
pub(super) fn scenario(log: &Recorded, question: &Question, fits: &[(String, Fit)]) -> Scenario {
    let backends = fits.iter().map(|(id, fit)| backend(log, question, id, fit));
    let faults = (0..).zip(fits).filter_map(|(at, (_, fit))| errors(at, fit));
    Scenario {
        about: String::new(),
        expected: String::new(),
        references: false,
        load: load(log, question),
        backends: backends.collect(),
        faults: faults.collect(),
        base: Cluster::new("replay"),
        variants: question.variants.clone(),
    }
}

/// When each request comes if long pauses are cut short, and how much time that leaves out, in nanoseconds.
pub(super) fn without_pauses(log: &Recorded) -> (Vec<u64>, u64) {
    let (mut left_out, mut busy_until) = (0, 0);
    let times = log.requests.iter().map(|request| {
        left_out += request
            .at
            .saturating_sub(busy_until)
            .saturating_sub(PAUSE_MAX);
        let ends = request.at + (request.took_ms.clamp(0.0, 3.6e9) * 1e6) as u64;
        busy_until = ends.max(busy_until);
        request.at - left_out
    });
    (times.collect(), left_out)
}

/// The arrivals of the log, or as many by chance as there were of which it holds a part.
fn load(log: &Recorded, question: &Question) -> Load {
    let mut keys: BTreeMap<u64, u64> = BTreeMap::new();
    let mut key_of = |request: &Request| {
        let next = keys.len() as u64;
        request.key.map(|key| *keys.entry(key).or_insert(next))
    };
    let (times, _) = without_pauses(log);
    let requests = log.requests.iter().zip(times);
    let trace: Vec<Arrival> = requests
        .map(|(request, at)| Arrival {
            at,
            key: key_of(request),
        })
        .collect();
    let span = trace.last().map_or(1, |last| last.at).max(1);
    let stage = Stage {
        rate: trace.len() as f64 * 1e9 / span as f64 / question.sample,
        lasting: Duration::MAX,
    };
    let arrivals = match question.sample < 1.0 {
        true => Arrivals::Poisson,
        false => Arrivals::Trace(trace),
    };
    let requests = (log.requests.len() as f64 / question.sample).min(5e6) as u64;
    Load {
        amount: Amount::Requests(requests),
        warmup: Duration::ZERO,
        source: Source::Open {
            arrivals,
            stages: vec![stage],
        },
        clients: 1,
        strategy: None,
        zone: None,
        keys: (!keys.is_empty()).then_some(Keys::Uniform(keys.len() as u32)),
        entry: None,
        discovery_delay: Law::Constant(Duration::ZERO),
        probes: 0,
        probe_delay: Law::Constant(Duration::ZERO),
        sample: None,
    }
}

fn backend(log: &Recorded, question: &Question, id: &str, fit: &Fit) -> Backend {
    let weight = question.weights.get(id).or(log.weights.get(id));
    Backend {
        name: "endpoint".to_owned(),
        count: 1,
        // What is fitted takes its place.
        service: Law::Constant(Duration::from_nanos(fit.service.mean() as u64)),
        concurrency: fit.slots,
        spread: None,
        discipline: Discipline::Fifo,
        queue: None,
        weight: weight.copied().unwrap_or(1),
        zone: None,
        tier: 0,
        capacity: None,
        calls: Vec::new(),
        cache: None,
        absent: false,
    }
}

fn errors(backend: u32, fit: &Fit) -> Option<Fault> {
    (fit.errors > 0.0).then(|| Fault {
        at: Duration::ZERO,
        lasting: None,
        every: None,
        backends: vec![backend],
        clients: None,
        kind: FaultKind::Errors {
            share: fit.errors,
            status: 500,
            after: Duration::from_secs_f64(fit.error_ms.clamp(0.0, 3.6e6) / 1e3),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::log::read_log;
    use super::*;

    fn line(second: f64, took_ms: f64) -> String {
        format!("{{\"time\":{second},\"endpoint\":\"a\",\"total_ms\":{took_ms},\"status\":200}}\n")
    }

    /// What is under way is no pause, nor is a short one.
    #[test]
    fn only_what_is_idle_for_long_is_left_out() {
        let text = [line(0.0, 5e6), line(4_000.0, 1.0), line(5_300.0, 1.0)].concat();
        let (times, left_out) = without_pauses(&read_log(&text).expect("in order"));
        assert_eq!(
            (&times[..], left_out),
            (&[0, 4_000_000_000_000, 5_300_000_000_000][..], 0)
        );
        let text = [line(0.0, 1_000.0), line(5_000.0, 1.0), line(5_001.0, 1.0)].concat();
        let (times, left_out) = without_pauses(&read_log(&text).expect("in order"));
        assert_eq!(&times[..], [0, 601_000_000_000, 602_000_000_000]);
        assert_eq!(left_out, 4_399_000_000_000);
    }
}
