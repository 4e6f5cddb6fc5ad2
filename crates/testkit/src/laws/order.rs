//! The order of the input list.

use evenkeel_core::{Endpoint, Membership};

use super::cluster::{Run, endpoint};
use super::{Law, Subject, Verdict, ensure, nobody};

/// The order in which endpoints are listed changes nothing.
pub const ORDER_DOES_NOT_MATTER: Law = Law {
    name: "order_does_not_matter",
    says: "the same endpoints in another order give the same choices",
    exempt: nobody,
    holds: order_does_not_matter,
};

fn order_does_not_matter(subject: &Subject) -> Verdict {
    for size in [7, 60] {
        let list: Vec<Endpoint> = (0..size)
            .map(|at| endpoint(at, 1 + at as u16 % 5))
            .collect();
        let expected = choices(subject, list.clone())?;
        let mut reversed = list.clone();
        reversed.reverse();
        let mut turned = list;
        turned.rotate_left(size / 3);
        turned.swap(0, size / 2);
        for order in [reversed, turned] {
            let got = choices(subject, order)?;
            ensure!(
                got == expected,
                "in another order {got:?} instead of {expected:?}"
            );
        }
    }
    Ok(())
}

fn choices(subject: &Subject, list: Vec<Endpoint>) -> Result<Vec<usize>, String> {
    let mut members = Membership::new("laws", subject.strategy());
    members.replace(list).map_err(|error| error.to_string())?;
    let snapshot = members.snapshot();
    let mut run = Run::new(36, 1);
    (0..200).map(|_| run.pick(&snapshot)).collect()
}
