//! A decision that nothing comes of: what would be chosen now, beside all that could be.

use evenkeel_core::{Compared, Nanos, PickContext, Picker, PickerSeed, Receipt, Snapshot};
use evenkeel_receipts::DecisionLine;
use serde_json::{Map, Value, json};

use crate::clock::time_of_day;
use crate::cluster::{Cluster, View};
use evenkeel_receipts::rfc3339;

impl Cluster {
    /// What would be decided at `now` for a request with this key, as a receipt with every endpoint:
    /// those that may be chosen with their scores, the others with their reasons. Nothing is changed.
    ///
    /// Where chance or a place in a schedule decides, it is that of a picker of its own, by `seed`.
    pub(crate) fn dry_run(&self, key: Option<&str>, seed: u64, now: Nanos) -> Value {
        let view = self.published().load();
        let snapshot = &view.snapshot;
        let mut ctx = PickContext::at(now);
        ctx.key = key.and_then(|key| view.keys.as_ref()?.hash_text(key));
        let mut receipt = Receipt::default();
        let seed = PickerSeed {
            root: seed,
            picker: u32::MAX,
        };
        // The receipt says what came of it.
        let _ = Picker::new(seed).try_out(snapshot, &ctx, &mut receipt);
        told(&view, &mut receipt, now)
    }
}

fn told(view: &View, receipt: &mut Receipt, now: Nanos) -> Value {
    let snapshot = &view.snapshot;
    let compared: Vec<u32> = receipt.candidates.iter().map(|it| it.index).collect();
    let mut all = snapshot.compare_all(now);
    let is_new = |other: &Compared| !compared.contains(&other.index);
    all.retain(is_new);
    let reasons: Vec<Value> = asides(snapshot, receipt);
    let mut line = written(snapshot, receipt);
    // Runner-up and margin are those of the decision, so the others are added to what is written.
    receipt.candidates = all;
    let mut others = written(snapshot, receipt);
    let mut candidates = Vec::new();
    for (part, was_compared) in [(&mut line, true), (&mut others, false)] {
        for mut candidate in list(part, "candidates") {
            candidate["compared"] = Value::Bool(was_compared);
            candidates.push(candidate);
        }
    }
    let mut excluded = list(&mut line, "excluded");
    excluded.extend(reasons);
    line.insert("candidates".into(), candidates.into());
    line.insert("excluded".into(), excluded.into());
    line.insert("dry_run".into(), Value::Bool(true));
    // It was the line's, and this is another one.
    line.remove("check");
    line.into()
}

/// The endpoints that get nothing, and why, but for those that the decision itself excluded.
fn asides(snapshot: &Snapshot, receipt: &Receipt) -> Vec<Value> {
    let endpoints = snapshot.endpoints().iter().enumerate();
    let known = |index: usize| {
        let excluded = &receipt.excluded;
        excluded.iter().any(|other| other.index as usize == index)
    };
    let reason = |(index, endpoint): (usize, &std::sync::Arc<evenkeel_core::Endpoint>)| {
        let aside = snapshot.aside(index).filter(|_| !known(index))?;
        Some(json!({ "id": endpoint.id(), "reason": aside.as_str() }))
    };
    endpoints.filter_map(reason).collect()
}

fn written(snapshot: &Snapshot, receipt: &Receipt) -> Map<String, Value> {
    let mut text = Vec::new();
    let line = DecisionLine {
        time: &rfc3339(time_of_day()),
        request_id: None,
        snapshot,
        receipt,
        decision_ns: None,
        outcome: None,
    };
    line.write(&mut text);
    // It was written as JSON.
    serde_json::from_slice(&text).unwrap_or_default()
}

fn list(line: &mut Map<String, Value>, name: &str) -> Vec<Value> {
    match line.remove(name) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}
