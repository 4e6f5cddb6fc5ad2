//! Who may be chosen.

use evenkeel_core::{Admin, NoEndpoint, Receipt, Refusal};

use super::cluster::{Run, cluster, id};
use super::{Law, Subject, Verdict, ensure, nobody};

/// Only endpoints in service are proposed, let alone chosen.
pub const ONLY_ELIGIBLE_ENDPOINTS: Law = Law {
    name: "only_eligible_endpoints",
    says: "endpoints that drain, are disabled, failed their checks or have weight 0 are neither \
           chosen nor proposed",
    exempt: nobody,
    holds: only_eligible_endpoints,
};

/// With all weights zero nothing is in service.
pub const ALL_ZERO_WEIGHTS_ARE_NONE_IN_SERVICE: Law = Law {
    name: "all_zero_weights_are_none_in_service",
    says: "with all weights 0 a pick fails and says so; a weight brings it back (case A06)",
    exempt: nobody,
    holds: all_zero_weights_are_none_in_service,
};

fn only_eligible_endpoints(subject: &Subject) -> Verdict {
    // 20 endpoints and 60: the forms for few and for many.
    for size in [20, 60] {
        let mut members = cluster(subject, &vec![3; size]);
        let mut open = vec![true; size];
        for at in 0..size / 2 {
            open[at * 2] = false;
            let id = id(at * 2);
            match at % 4 {
                0 => members.set_admin(&id, Admin::Draining),
                1 => members.set_admin(&id, Admin::Disabled),
                2 => members.set_weight(&id, 0),
                _ => members.set_healthy(&id, false),
            }
            .map_err(|error| error.to_string())?;
        }
        let snapshot = members.snapshot();
        let mut run = Run::new(4, 0);
        let mut receipt = Receipt::default();
        for _ in 0..2_000 {
            let ctx = run.next_context();
            let lease = run.picker().pick_traced(&snapshot, &ctx, &mut receipt);
            let index = lease.map_err(|error| error.to_string())?.index();
            ensure!(
                open[index],
                "endpoint {index} was chosen, which is not in service"
            );
            let proposed = receipt.excluded.iter();
            let mut closed = proposed.filter(|other| other.refusal == Refusal::NotInService);
            let closed = closed.next();
            ensure!(closed.is_none(), "{closed:?} was proposed");
        }
    }
    Ok(())
}

fn all_zero_weights_are_none_in_service(subject: &Subject) -> Verdict {
    let mut members = cluster(subject, &[0, 0, 0]);
    let mut run = Run::new(6, 0);
    let snapshot = members.snapshot();
    let ctx = run.next_context();
    let refused = run.picker().pick(&snapshot, &ctx).err();
    ensure!(
        refused == Some(NoEndpoint::NoneInService),
        "{refused:?} with all weights 0"
    );
    members
        .set_weight(&id(1), 1)
        .map_err(|error| error.to_string())?;
    let index = run.pick(&members.snapshot())?;
    ensure!(
        index == 1,
        "endpoint {index} was chosen, 1 has the only weight"
    );
    Ok(())
}
