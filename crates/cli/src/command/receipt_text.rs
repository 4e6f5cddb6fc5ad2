//! A receipt for people.

use serde_json::Value;

use crate::table::Table;

/// A receipt as a few lines and a table.
pub(crate) fn receipt_text(receipt: &Value) -> String {
    let mut text = heading(receipt);
    text.push_str(&choice(receipt));
    text.push('\n');
    text.push_str(&candidates(receipt));
    text.push_str(&others(receipt));
    text.push_str(&outcome(receipt));
    for earlier in list(receipt, "earlier") {
        let try_ = number(earlier, "attempt");
        text.push_str(&format!("before, try {try_}: {}", choice(earlier)));
        text.push_str(&outcome(earlier));
    }
    text
}

fn heading(receipt: &Value) -> String {
    let cluster = word(receipt, "cluster");
    let time = word(receipt, "time");
    match receipt.get("request_id").and_then(Value::as_str) {
        Some(id) => {
            let attempt = number(receipt, "attempt");
            format!("request {id} in cluster {cluster}, try {attempt}, at {time}\n")
        }
        None => format!("dry run in cluster {cluster}, at {time}; nothing was changed\n"),
    }
}

/// Who was chosen, and why, in a line.
pub(crate) fn choice(receipt: &Value) -> String {
    let strategy = word(receipt, "strategy");
    let Some(chosen) = receipt.get("chosen").and_then(Value::as_str) else {
        let why = in_words(word(receipt, "nobody"));
        return format!("nobody was chosen by {strategy}: {why}\n");
    };
    let mut line = format!("{chosen} was chosen by {strategy}");
    if let Some(other) = receipt.get("runner_up").and_then(Value::as_str) {
        let margin = receipt.get("margin").and_then(Value::as_f64);
        let margin = margin.unwrap_or_default();
        match margin == 0.0 {
            true => line.push_str(&format!(", level with {other}")),
            false => line.push_str(&format!(", {} ahead of {other}", rounded(margin))),
        }
    } else if receipt.get("key_hash").is_some_and(Value::is_string) {
        line.push_str(", by the key of the request");
    }
    if let Some(fallback) = receipt.get("fallback").and_then(Value::as_str) {
        line.push_str(&format!("; no ordinary choice: {}", in_words(fallback)));
    }
    line.push('\n');
    line
}

fn candidates(receipt: &Value) -> String {
    let candidates = list(receipt, "candidates");
    if candidates.is_empty() {
        return String::new();
    }
    let dry = receipt.get("dry_run").is_some();
    let mut headings = vec![
        "ENDPOINT",
        ">WEIGHT",
        ">IN FLIGHT",
        ">PENALTY",
        ">SCORE",
        "CHOICE",
    ];
    if dry {
        headings.push("COMPARED");
    }
    let mut table = Table::new(&headings);
    for candidate in candidates {
        let id = word(candidate, "id");
        let weight = decimal(candidate, "weight") * decimal(candidate, "factor");
        let mut excluded = list(receipt, "excluded").iter();
        let place = match excluded.find(|it| word(it, "id") == id) {
            _ if id == word(receipt, "chosen") => "chosen".to_owned(),
            Some(it) => format!("not: {}", in_words(word(it, "reason"))),
            None if id == word(receipt, "runner_up") => "runner-up".to_owned(),
            None => String::new(),
        };
        let mut row = vec![
            id.to_owned(),
            rounded(weight),
            number(candidate, "in_flight").to_string(),
            rounded(decimal(candidate, "penalty")),
            rounded(decimal(candidate, "score")),
            place,
        ];
        if dry {
            let compared = candidate.get("compared") == Some(&Value::Bool(true));
            row.push(if compared { "yes" } else { "no" }.to_owned());
        }
        table.row(row);
    }
    table.render()
}

/// Those that were not chosen for a reason: who was asked and refused, and who could get nothing. One that
/// was compared has the reason in its row of the table.
fn others(receipt: &Value) -> String {
    let mut text = String::new();
    let excluded = list(receipt, "excluded");
    let is_told = |id| excluded.iter().any(|other| word(other, "id") == id);
    let asides = list(receipt, "aside").iter();
    let asides = asides.filter(|aside| !is_told(word(aside, "id")));
    let has_row = |id| {
        let mut rows = list(receipt, "candidates").iter();
        rows.any(|row| word(row, "id") == id)
    };
    let refused = excluded.iter().filter(|it| !has_row(word(it, "id")));
    for other in refused.chain(asides) {
        let (id, reason) = (word(other, "id"), word(other, "reason"));
        text.push_str(&format!("not {id}: {}\n", in_words(reason)));
    }
    let left_out = number(receipt, "aside_left_out");
    if left_out > 0 {
        text.push_str(&format!(
            "nor {left_out} more, that could get nothing either\n"
        ));
    }
    text
}

fn outcome(receipt: &Value) -> String {
    let Some(outcome) = receipt.get("outcome").filter(|it| !it.is_null()) else {
        return String::new();
    };
    let took = rounded(decimal(outcome, "latency_ms"));
    let status = outcome.get("status").and_then(Value::as_u64);
    let error = outcome.get("error").and_then(Value::as_str);
    let end = match (status, error) {
        (Some(status), None) => status.to_string(),
        (Some(status), Some(error)) => format!("{status}, {error}"),
        (None, error) => error.unwrap_or("no answer").to_owned(),
    };
    let decided = number(receipt, "decision_ns");
    format!("it ended with {end} after {took} ms; the decision took {decided} ns\n")
}

/// What a word of a receipt means.
fn in_words(word: &str) -> String {
    match word {
        "full" => "it is at its capacity, or has just failed",
        "saturated" => "it is near its capacity, or has just failed",
        "not_in_service" => "it is not in service",
        "tried" => "this request has been there",
        "draining" => "it is drained, or its weight is 0",
        "disabled" => "an operator disabled it",
        "unhealthy" => "it fails its checks",
        "ejected" => "it failed requests and is out for a while",
        "spare" => "its tier or zone takes nothing as long as others can",
        "outside_subset" => "this gateway uses other endpoints of the cluster",
        "labels" => "none with the labels asked for could take it",
        "no_reports" => "nothing was known of the loads",
        "panic" => "so few endpoints are healthy that all are used",
        "scan" => "all that were proposed refused, and this was the lightest of the others",
        "tier" => "nobody in the tier drawn could take it",
        "zone" => "nobody in the zone drawn could take it",
        "all_full" => "every endpoint is at its capacity",
        "all_tried" => "every endpoint has been tried",
        "empty" => "the cluster has no endpoints",
        "none_in_service" => "every endpoint is draining, disabled or has weight 0",
        "none_healthy" => "no endpoint is healthy",
        "none_labelled" => "no endpoint in service has the labels asked for",
        "no_key" => "the request has no key to choose by",
        other => other,
    }
    .to_owned()
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    let list = value.get(name).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or_default()
}

fn decimal(value: &Value, name: &str) -> f64 {
    value.get(name).and_then(Value::as_f64).unwrap_or_default()
}

/// To three places, without zeros at the end.
fn rounded(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_receipt_reads_like_an_answer() {
        let receipt = json!({
            "time": "T", "request_id": "r-1", "cluster": "web", "strategy": "least_request", "attempt": 2,
            "candidates": [
                {"id": "a", "weight": 1, "factor": 1, "in_flight": 3, "penalty": 0, "score": 3},
                {"id": "b", "weight": 2, "factor": 0.5, "in_flight": 2, "penalty": 0.25, "score": 2.25},
            ],
            "excluded": [{"id": "c", "reason": "tried"}],
            "aside": [{"id": "d", "reason": "ejected"}, {"id": "c", "reason": "ejected"}], "aside_left_out": 2,
            "chosen": "b", "runner_up": "a", "margin": 0.75, "fallback": null, "decision_ns": 91,
            "outcome": {"status": 200, "latency_ms": 4.1, "error": null},
            "earlier": [{
                "strategy": "least_request", "attempt": 1, "chosen": "c", "decision_ns": 80,
                "outcome": {"status": null, "latency_ms": 0.2, "error": "connection_refused"},
            }],
        });
        let text = receipt_text(&receipt);
        for line in [
            "request r-1 in cluster web, try 2, at T",
            "b was chosen by least_request, 0.75 ahead of a",
            "not c: this request has been there",
            "not d: it failed requests and is out for a while",
            "nor 2 more, that could get nothing either",
            "it ended with 200 after 4.1 ms; the decision took 91 ns",
            "before, try 1: c was chosen by least_request",
            "it ended with connection_refused after 0.2 ms; the decision took 80 ns",
        ] {
            assert!(
                text.lines().any(|it| it == line),
                "{line:?} is not in\n{text}"
            );
        }
        assert!(
            text.contains("b              1          2     0.25   2.25  chosen"),
            "{text}"
        );
    }

    #[test]
    fn one_that_was_compared_and_is_full_is_told_once() {
        let receipt = json!({
            "time": "T", "cluster": "web", "strategy": "least_request", "dry_run": true, "chosen": "a",
            "candidates": [
                {"id": "a", "weight": 1, "factor": 1, "in_flight": 1, "penalty": 0, "score": 1},
                {"id": "d", "weight": 9, "factor": 1, "in_flight": 2, "penalty": 0, "score": 0.2},
            ],
            "excluded": [{"id": "d", "reason": "full"}],
        });
        let text = receipt_text(&receipt);
        assert_eq!(text.matches("it is at its capacity").count(), 1, "{text}");
        let mut lines = text.lines();
        let row = lines.find(|line| line.starts_with("d "));
        assert!(row.is_some_and(|row| row.contains("not: it is at its capacity")));
    }

    #[test]
    fn nobody_chosen_is_told_with_its_reason() {
        let receipt = json!({
            "time": "T", "cluster": "web", "strategy": "maglev", "dry_run": true, "chosen": null,
            "nobody": "none_in_service", "excluded": [{"id": "a", "reason": "draining"}],
        });
        let text = receipt_text(&receipt);
        assert!(
            text.contains("nobody was chosen by maglev: every endpoint is draining"),
            "{text}"
        );
        assert!(
            text.contains("not a: it is drained, or its weight is 0"),
            "{text}"
        );
    }
}
