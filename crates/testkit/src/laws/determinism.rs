//! Repetition.

use super::cluster::{Run, cluster};
use super::{Law, Subject, Verdict, ensure, nobody};

/// The same seed gives the same choices.
pub const SAME_SEED_SAME_CHOICES: Law = Law {
    name: "same_seed_same_choices",
    says: "two pickers of the same seed choose the same on two clusters built alike; another seed \
           chooses otherwise",
    exempt: nobody,
    holds: same_seed_same_choices,
};

fn same_seed_same_choices(subject: &Subject) -> Verdict {
    let (first, second) = (sequence(subject)?, sequence(subject)?);
    ensure!(first == second, "{first}\nand then\n{second}");
    let other = choices(subject, 6, 3)?;
    ensure!(
        other != choices(subject, 6, 2)?,
        "all seeds choose {other:?}"
    );
    Ok(())
}

/// The choices of a fixed seed on small and large clusters, a line each: to be committed, so that a
/// release or a platform that chooses otherwise is noticed.
///
/// # Errors
///
/// When a pick fails.
pub fn sequence(subject: &Subject) -> Result<String, String> {
    let mut text = String::new();
    for size in [3, 6, 20, 300] {
        let choices = choices(subject, size, 2)?;
        let numbers: Vec<String> = choices.iter().map(usize::to_string).collect();
        text += &format!("{size}: {}\n", numbers.join(" "));
    }
    Ok(text)
}

/// Each third request is held to the end, so that loads matter.
fn choices(subject: &Subject, size: usize, root: u64) -> Result<Vec<usize>, String> {
    let weights: Vec<u16> = (0..size).map(|at| 1 + at as u16 * 7 % 10).collect();
    let snapshot = cluster(subject, &weights).snapshot();
    let mut run = Run::new(root, 0);
    let mut held = Vec::new();
    let mut choices = Vec::new();
    for pick in 0..60 {
        let lease = run.hold(&snapshot)?;
        choices.push(lease.index());
        if pick % 3 == 0 {
            held.push(lease);
        }
    }
    Ok(choices)
}
