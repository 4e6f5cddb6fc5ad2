//! What a decision log says, made again.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use evenkeel_receipts::{StrategyCount, Verifier};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::output::Format;
use crate::table::Table;
use crate::{Outcome, output};

/// How many lines that do not hold are told one by one.
const TOLD_MAX: usize = 10;

/// A line that does not hold.
struct Wrong {
    line: usize,
    why: String,
}

/// Derives each decision from its receipt, and says how many differ.
pub(super) fn verify(path: &Path, format: Format) -> Outcome {
    let unreadable = |error: std::io::Error| {
        let path = path.display();
        Failure::runtime(format!("the decision log {path} cannot be read: {error}"))
    };
    let mut lines = BufReader::new(File::open(path).map_err(unreadable)?);
    let (mut verifier, mut wrong) = (Verifier::new(), Vec::new());
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        if lines.read_until(b'\n', &mut bytes).map_err(unreadable)? == 0 {
            break;
        }
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end();
        if line.is_empty() {
            continue;
        }
        if let Err(difference) = verifier.line(line)
            && wrong.len() < TOLD_MAX
        {
            let why = difference.to_string();
            wrong.push(Wrong { line: number, why });
        }
    }
    match format {
        Format::Json => output::print_json(&as_json(&verifier, &wrong))?,
        Format::Text => output::print(&as_text(&verifier, &wrong))?,
    }
    judge(path, &verifier)
}

fn judge(path: &Path, verifier: &Verifier) -> Outcome {
    let (count, [_, broken]) = (verifier.count(), verifier.snapshots());
    if count.decisions == 0 && broken == 0 {
        let path = path.display();
        return Err(Failure::runtime(format!("there is no decision in {path}")));
    }
    if count.differ + broken == 0 {
        return Ok(());
    }
    let StrategyCount { decisions, differ } = count;
    let mut words = format!("{differ} of {decisions} decisions differ");
    if broken > 0 {
        words.push_str(&format!(", and {broken} snapshot lines do not hold"));
    }
    Err(Failure::assertion(words))
}

fn as_json(verifier: &Verifier, wrong: &[Wrong]) -> Value {
    let count = verifier.count();
    let [snapshots, broken] = verifier.snapshots();
    let strategies = verifier.strategies().iter();
    let strategies = strategies.map(|(strategy, count)| {
        json!({ "strategy": strategy, "decisions": count.decisions, "differ": count.differ })
    });
    let wrong = wrong.iter();
    let wrong = wrong.map(|wrong| json!({ "line": wrong.line, "reason": wrong.why }));
    json!({
        "decisions": count.decisions,
        "differ": count.differ,
        "snapshots": snapshots,
        "snapshots_differ": broken,
        "strategies": strategies.collect::<Vec<_>>(),
        "differences": wrong.collect::<Vec<_>>(),
    })
}

fn as_text(verifier: &Verifier, wrong: &[Wrong]) -> String {
    let mut table = Table::new(&["STRATEGY", ">DECISIONS", ">DIFFER"]);
    let all = ("all".to_owned(), verifier.count());
    let strategies = verifier.strategies().iter();
    let strategies = strategies.map(|(name, count)| (name.clone(), *count));
    for (name, count) in strategies.chain([all]) {
        table.row([name, count.decisions.to_string(), count.differ.to_string()]);
    }
    let mut text = table.render();
    for Wrong { line, why } in wrong {
        text.push_str(&format!("line {line}: {why}\n"));
    }
    text
}
