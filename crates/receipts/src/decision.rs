//! A decision as a line.

use evenkeel_core::{Compared, Receipt, Score, Snapshot};

use crate::json::{
    put_bits, put_check, put_list, put_number, put_or_null, put_string, put_unsigned,
};

/// How a request ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// From the decision to the end, in microseconds.
    pub latency_us: u64,
    /// What went wrong, in a word.
    pub error: Option<&'a str>,
}

/// A decision with what is known of its request.
#[derive(Clone, Copy, Debug)]
pub struct DecisionLine<'a> {
    /// When it was made, RFC 3339.
    pub time: &'a str,
    /// Which request it was for; none for a dry run.
    pub request_id: Option<&'a str>,
    /// What it was made on.
    pub snapshot: &'a Snapshot,
    /// Why it came out so.
    pub receipt: &'a Receipt,
    /// How long it took.
    pub decision_ns: Option<u64>,
    /// What came of it; none for a dry run.
    pub outcome: Option<Outcome<'a>>,
}

impl DecisionLine<'_> {
    /// Appends the line, without its line feed.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.write_fields(out);
        put_check(out, start);
    }

    /// Appends the line with more fields behind its own, which `write` appends, each with a comma
    /// before it. It has no checksum then.
    pub fn write_with(&self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        self.write_fields(out);
        write(out);
        out.push(b'}');
    }

    fn write_fields(&self, out: &mut Vec<u8>) {
        let (receipt, snapshot) = (self.receipt, self.snapshot);
        out.extend_from_slice(b"{\"v\":1,\"kind\":\"decision\",\"time\":");
        put_string(out, self.time);
        out.extend_from_slice(b",\"request_id\":");
        put_or_null(out, self.request_id, put_string);
        out.extend_from_slice(b",\"cluster\":");
        put_string(out, snapshot.cluster());
        out.extend_from_slice(b",\"strategy\":");
        put_string(out, snapshot.strategy().descriptor().name);
        out.extend_from_slice(b",\"generation\":");
        put_unsigned(out, receipt.generation);
        out.extend_from_slice(b",\"attempt\":");
        put_unsigned(out, u64::from(receipt.attempt) + 1);
        self.write_inputs(out);
        out.extend_from_slice(b",\"candidates\":");
        put_list(out, &receipt.candidates, |out, compared| {
            put_candidate(out, snapshot, compared);
        });
        out.extend_from_slice(b",\"excluded\":");
        put_list(out, &receipt.excluded, |out, exclusion| {
            out.extend_from_slice(b"{\"id\":");
            put_id(out, snapshot, exclusion.index);
            out.extend_from_slice(b",\"reason\":");
            put_string(out, exclusion.refusal.as_str());
            out.push(b'}');
        });
        self.write_choice(out);
        out.extend_from_slice(b",\"decision_ns\":");
        put_or_null(out, self.decision_ns, put_unsigned);
        out.extend_from_slice(b",\"outcome\":");
        put_or_null(out, self.outcome, put_outcome);
    }

    fn write_inputs(&self, out: &mut Vec<u8>) {
        let receipt = self.receipt;
        out.extend_from_slice(b",\"tier\":");
        put_unsigned(out, u64::from(receipt.tier));
        out.extend_from_slice(b",\"view\":");
        put_unsigned(out, u64::from(receipt.view));
        out.extend_from_slice(b",\"key_hash\":");
        put_or_null(out, receipt.key, put_bits);
        out.extend_from_slice(b",\"affinity\":");
        put_or_null(out, receipt.affinity, |out, index| {
            put_id(out, self.snapshot, index);
        });
        out.extend_from_slice(b",\"total_in_flight\":");
        put_or_null(out, receipt.total, put_unsigned);
        out.extend_from_slice(b",\"cursor\":");
        put_or_null(out, receipt.cursor, |out, place| {
            out.extend_from_slice(b"{\"at\":");
            put_unsigned(out, place.at);
            out.extend_from_slice(b",\"of\":");
            put_unsigned(out, place.of);
            out.extend_from_slice(b",\"rest\":");
            put_bits(out, place.rest);
            out.push(b'}');
        });
        out.extend_from_slice(b",\"draws\":");
        put_list(out, &receipt.draws, |out, bits| put_bits(out, *bits));
    }

    fn write_choice(&self, out: &mut Vec<u8>) {
        let (receipt, snapshot) = (self.receipt, self.snapshot);
        out.extend_from_slice(b",\"chosen\":");
        put_or_null(out, receipt.chosen, |out, index| {
            put_id(out, snapshot, index)
        });
        let runner_up = receipt.runner_up();
        out.extend_from_slice(b",\"runner_up\":");
        put_or_null(out, runner_up, |out, other| {
            put_id(out, snapshot, other.index)
        });
        let margin = runner_up.zip(receipt.winner());
        out.extend_from_slice(b",\"margin\":");
        put_or_null(out, margin, |out, (other, winner)| {
            put_number(out, other.score.as_f64() - winner.score.as_f64());
        });
        out.extend_from_slice(b",\"fallback\":");
        put_or_null(out, receipt.fallback, |out, why| {
            put_string(out, why.as_str())
        });
        out.extend_from_slice(b",\"nobody\":");
        put_or_null(out, receipt.nobody, |out, why| {
            put_string(out, why.as_str())
        });
    }
}

/// Appends the id of an endpoint; null for a place that the snapshot has not.
fn put_id(out: &mut Vec<u8>, snapshot: &Snapshot, index: u32) {
    let endpoint = snapshot.endpoints().get(index as usize);
    put_or_null(out, endpoint, |out, endpoint| {
        put_string(out, endpoint.id())
    });
}

fn put_candidate(out: &mut Vec<u8>, snapshot: &Snapshot, compared: &Compared) {
    let index = compared.index as usize;
    out.extend_from_slice(b"{\"id\":");
    put_id(out, snapshot, compared.index);
    out.extend_from_slice(b",\"weight\":");
    let endpoint = snapshot.endpoints().get(index);
    put_or_null(out, endpoint, |out, endpoint| {
        put_unsigned(out, u64::from(endpoint.weight()));
    });
    out.extend_from_slice(b",\"factor\":");
    put_or_null(out, endpoint, |out, _| {
        put_number(out, f64::from(snapshot.factor(index)) / 256.0);
    });
    out.extend_from_slice(b",\"in_flight\":");
    put_unsigned(out, u64::from(compared.load.in_flight));
    out.extend_from_slice(b",\"penalty\":");
    put_number(out, f64::from(compared.load.penalty) / 256.0);
    if let Some(latency) = compared.latency {
        out.extend_from_slice(b",\"latency_ns\":");
        put_unsigned(out, latency.0);
    }
    out.extend_from_slice(b",\"score\":");
    match compared.score {
        Score::Deadline(deadline) => put_unsigned(out, deadline),
        score => put_number(out, score.as_f64()),
    }
    if let Score::Cold(..) | Score::Hot(..) = compared.score {
        out.extend_from_slice(b",\"hot\":");
        let is_hot = matches!(compared.score, Score::Hot(..));
        out.extend_from_slice(if is_hot { b"true" } else { b"false" });
    }
    out.push(b'}');
}

fn put_outcome(out: &mut Vec<u8>, outcome: Outcome<'_>) {
    out.extend_from_slice(b"{\"status\":");
    put_or_null(out, outcome.status, |out, status| {
        put_unsigned(out, u64::from(status))
    });
    out.extend_from_slice(b",\"latency_ms\":");
    put_number(out, outcome.latency_us as f64 / 1000.0);
    out.extend_from_slice(b",\"error\":");
    put_or_null(out, outcome.error, put_string);
    out.push(b'}');
}
