//! What share of the requests a log holds. Requests are chosen by the hash of their ids, so the ids in a
//! log tell how they were chosen.

use evenkeel_core::hash::{Algorithm, Hasher};
use serde_json::Value;

/// Fewer requests tell too little.
const ENOUGH: usize = 50;

/// The share of the hashes that is looked at from below. Those above may be of requests that asked for their receipt
/// themselves.
const LOWER: f64 = 0.95;

/// How far from the truth an estimate may be, in its standard deviations.
const DEVIATIONS: f64 = 4.0;

/// The hashes of the requests that a log had no reason of its own to keep: no failures, no retries.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    hashes: Vec<u64>,
}

impl Taken {
    /// Takes note of a line.
    pub(super) fn note(&mut self, line: &Value) {
        let outcome = line.get("outcome").unwrap_or(line);
        let is_kept_anyway = line["attempt"].as_u64().is_some_and(|attempt| attempt > 1)
            || line["fallback"].is_string()
            || outcome["error"].is_string()
            || outcome["status"]
                .as_u64()
                .is_none_or(|status| status >= 500);
        if let (false, Some(id)) = (is_kept_anyway, line["request_id"].as_str()) {
            // As a gateway chooses them.
            let hash = Hasher::new(Algorithm::Xxh3, 0).hash(id.as_bytes());
            self.hashes.push(hash);
        }
    }

    /// What is to be said of the share of requests that is believed to be in the log. O(n log n).
    pub(super) fn warning(&self, is_decisions: bool, sample: f64) -> Option<String> {
        let Some((share, off)) = self.share() else {
            let is_unknown = is_decisions && sample >= 1.0;
            return is_unknown.then(|| {
                "too few requests to see how many of them it holds: say --sample SHARE if log.decision.sample was not 1"
                    .to_owned()
            });
        };
        if (share - sample).abs() <= off * sample {
            return None;
        }
        Some(format!(
            "by the ids of its requests it holds {} of them, not {sample}: say --sample with what log.decision.sample or log.access.sample was",
            if share > 1.0 - off {
                "all".to_owned()
            } else {
                format!("about {}", rounded(share))
            },
        ))
    }

    /// The share that was taken, and how far the truth may be from it, as a part of it.
    fn share(&self) -> Option<(f64, f64)> {
        let mut hashes = self.hashes.clone();
        hashes.sort_unstable();
        // Requests may have an id in common.
        hashes.dedup();
        if hashes.len() < ENOUGH {
            return None;
        }
        let n = hashes.len() as f64;
        let at = ((n * LOWER).ceil() as usize).clamp(1, hashes.len());
        let share = hashes[at - 1] as f64 / 2_f64.powi(64) / LOWER;
        // Of an order statistic of evenly spread numbers, as a part of itself.
        let deviation = ((1.0 - LOWER) / LOWER / n).sqrt();
        Some((share.min(1.0), DEVIATIONS * deviation))
    }
}

/// With two digits that say something.
fn rounded(share: f64) -> f64 {
    let scale = 10_f64.powf(1.0 - share.log10().floor());
    (share * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A log as a gateway with that sample writes it.
    fn log(share: f64) -> Taken {
        let mut taken = Taken::default();
        for number in 0..200_000 {
            let id = format!("r-{number}");
            let hash = Hasher::new(Algorithm::Xxh3, 0).hash(id.as_bytes());
            let status = if number % 50 == 0 { 503 } else { 200 };
            // Failures are always there, and some ask for their receipt.
            if hash as f64 / 2_f64.powi(64) < share || status == 503 || number % 10_000 == 1 {
                let outcome = json!({"status": status, "error": null});
                taken.note(
                    &json!({"request_id": id, "attempt": 1, "fallback": null, "outcome": outcome}),
                );
            }
        }
        taken
    }

    #[test]
    fn the_share_is_seen_by_the_ids() {
        for share in [0.01, 0.1, 0.5, 1.0] {
            let taken = log(share);
            assert_eq!(taken.warning(true, share), None);
            let said = taken.warning(true, if share == 1.0 { 0.1 } else { 1.0 });
            let word = if share == 1.0 {
                "all of them, not 0.1"
            } else {
                "not 1:"
            };
            let said = said.expect("something is wrong");
            assert!(said.contains(word), "{said}");
        }
        let said = log(0.1).warning(true, 1.0).expect("it is said");
        assert!(
            said.contains("holds about 0.1 of them") || said.contains("about 0.099"),
            "{said}"
        );
    }

    #[test]
    fn what_the_ids_do_not_tell_is_asked_for() {
        let none = Taken::default();
        assert!(
            none.warning(true, 1.0)
                .expect("it is said")
                .contains("--sample")
        );
        assert_eq!(none.warning(true, 0.5), None);
        assert_eq!(
            none.warning(false, 1.0),
            None,
            "of others' logs nothing is claimed"
        );
        let mut one = Taken::default();
        for _ in 0..1000 {
            one.note(&json!({"request_id": "the same", "status": 200}));
        }
        assert_eq!(one.warning(false, 1.0), None);
    }
}
