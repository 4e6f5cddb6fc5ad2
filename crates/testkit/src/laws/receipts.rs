//! Explanations.

use evenkeel_core::{Picker, PickerSeed, Receipt};

use super::cluster::{Run, cluster};
use super::{Law, Subject, Verdict, ensure, nobody};

/// What a traced pick writes down leads to its choice.
pub const RECEIPTS_LEAD_TO_THEIR_CHOICE: Law = Law {
    name: "receipts_lead_to_their_choice",
    says: "a traced pick chooses what an untraced one would, and its receipt leads to the choice again \
           on the same snapshot, whatever the loads are by then",
    exempt: nobody,
    holds: receipts_lead_to_their_choice,
};

fn receipts_lead_to_their_choice(subject: &Subject) -> Verdict {
    for weights in [
        vec![5, 1, 1],
        vec![65_535, 30_000, 7, 1_001],
        (0..40).map(|at| 1 + at % 5).collect(),
    ] {
        let seed = PickerSeed { root: 8, picker: 2 };
        let mut traced = Run::with(Picker::new(seed), 8);
        let mut plain = Run::with(Picker::new(seed), 8);
        let (left, right) = (cluster(subject, &weights), cluster(subject, &weights));
        let [left, right] = [left, right].map(|mut members| members.snapshot());
        let mut receipt = Receipt::default();
        let (mut held, mut receipts) = (Vec::new(), Vec::new());
        for _ in 0..200 {
            let ctx = traced.next_context();
            let lease = traced.picker().pick_traced(&left, &ctx, &mut receipt);
            let lease = lease.map_err(|error| error.to_string())?;
            let other = plain.hold(&right)?;
            ensure!(
                lease.index() == other.index(),
                "traced {} is chosen, untraced {}",
                lease.index(),
                other.index()
            );
            held.push((lease, other));
            receipts.push(receipt.clone());
        }
        for receipt in receipts {
            receipt
                .derive(&left)
                .map_err(|error| format!("{error}: {receipt:?}"))?;
        }
    }
    Ok(())
}
