//! The search for any endpoint that takes a request, once those that the strategy proposed refused.

use crate::gate::Upto;
use crate::pick::context::NoEndpoint;
use crate::pick::decide::Choice;
use crate::pick::inputs::Inputs;
use crate::pick::receipt::Fallback;
use crate::snapshot::Group;

/// How many endpoints a scan looks at once it has found one that is open.
const SCAN: usize = 64;

/// How often all groups are scanned while slots open and close under the search.
pub(crate) const ROUNDS: usize = 16;

/// Looks for any endpoint that takes the request: first in the group drawn, then in the others.
///
/// Refuses only when all slots were taken at one moment: a slot that is free all the time, but not
/// always at the same endpoint, is found in the end. With a single round it is not asked for that.
#[cold]
pub(crate) fn search(
    groups: &[Group],
    drawn: usize,
    inputs: &mut Inputs<'_>,
    rounds: usize,
) -> Choice {
    for round in 1..=rounds {
        let found = if inputs.has_levels() {
            below_stop_first(groups, drawn, inputs)
        } else {
            in_groups(groups, drawn, inputs, Upto::Cap, |_| true)
        };
        if let Some(found) = found {
            return Ok(found);
        }
        if untried(groups, inputs).next().is_none() {
            return Err(NoEndpoint::AllTried);
        }
        if round == rounds || !inputs.goes_on(|| !is_full_at_once(groups, inputs)) {
            break;
        }
        inputs.forgive_full();
    }
    Err(NoEndpoint::AllFull)
}

/// Takes the lightest endpoint below its level, in any zone of the tier drawn; then the lightest below
/// its cap there; and only then goes on to the other tiers, one after the other.
fn below_stop_first(groups: &[Group], drawn: usize, inputs: &mut Inputs<'_>) -> Option<Found> {
    let own = groups[drawn].tier;
    let first = |at: &usize| *at == 0 || groups[*at - 1].tier != groups[*at].tier;
    let tiers = (0..groups.len()).filter(first).map(|at| groups[at].tier);
    let others = tiers.filter(|tier| *tier != own);
    for tier in std::iter::once(own).chain(others) {
        for upto in [Upto::Stop, Upto::Cap] {
            let found = in_groups(groups, drawn, inputs, upto, |group| group.tier == tier);
            if found.is_some() {
                return found;
            }
            // Whoever was above its level may still be below its cap.
            inputs.forgive_full();
        }
    }
    None
}

/// The place of an endpoint whose slot was taken, and why it was this one.
type Found = (u32, Option<Fallback>);

/// Takes a slot in the first of the groups that `among` lets through and that has one, the one drawn
/// before the others.
fn in_groups(
    groups: &[Group],
    drawn: usize,
    inputs: &mut Inputs<'_>,
    upto: Upto,
    among: impl Fn(&Group) -> bool,
) -> Option<Found> {
    let order = std::iter::once(drawn).chain((0..groups.len()).filter(|at| *at != drawn));
    for at in order.filter(|at| among(&groups[*at])) {
        if let Some(index) = scan(&groups[at].eligible, inputs, upto) {
            let fallback = match &groups[at] {
                _ if at == drawn => Fallback::Scan,
                other if other.tier == groups[drawn].tier => Fallback::Zone,
                _ => Fallback::Tier,
            };
            return Some((index, Some(fallback)));
        }
    }
    None
}

fn untried(groups: &[Group], inputs: &Inputs<'_>) -> impl Iterator<Item = u32> {
    let eligible = groups.iter().flat_map(|group| &group.eligible).copied();
    eligible.filter(|index| inputs.is_untried(*index))
}

/// Whether all slots were taken at one moment: at every endpoint at the first look, and none opened
/// until the second.
fn is_full_at_once(groups: &[Group], inputs: &Inputs<'_>) -> bool {
    let ended = || {
        untried(groups, inputs).try_fold(0u32, |sum, index| {
            Some(sum.wrapping_add(inputs.ended_if_full(index)?))
        })
    };
    let first = ended();
    first.is_some() && first == ended()
}

/// Takes the lightest open endpoint of those from a random place on.
fn scan(eligible: &[u32], inputs: &mut Inputs<'_>, upto: Upto) -> Option<u32> {
    let (start, _) = inputs.draw(eligible.len() as u64);
    let (before, after) = eligible.split_at(start as usize);
    while inputs.remembers_refusals() {
        let from_start = after.iter().chain(before).copied();
        let index = lightest(from_start, inputs, upto)?;
        if inputs.acquire(index, upto) {
            return Some(index);
        }
    }
    // So many lost races: take what is free, whichever it is.
    let mut from_start = after.iter().chain(before).copied();
    from_start.find(|index| inputs.is_untried(*index) && inputs.acquire_again(*index, upto))
}

/// The endpoint with the least load over weight among those that have not refused.
///
/// Looks no further than [`SCAN`] once it has one.
fn lightest(order: impl Iterator<Item = u32>, inputs: &mut Inputs<'_>, upto: Upto) -> Option<u32> {
    let mut best = None;
    for (seen, index) in order.enumerate() {
        if seen >= SCAN && best.is_some() {
            break;
        }
        if inputs.is_refused(index) {
            continue;
        }
        let (load, weight) = (inputs.load(index), inputs.weight(index));
        if inputs.is_full(index, load, upto) {
            continue;
        }
        let lighter = best
            .is_none_or(|(_, other, other_weight)| load.is_lighter(weight, other, other_weight));
        if lighter {
            best = Some((index, load, weight));
        }
    }
    best.map(|(index, ..)| index)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::Nanos;
    use crate::endpoint::Endpoint;
    use crate::gate::{QueuePolicy, WaitingRoom};
    use crate::membership::Membership;
    use crate::pick::context::PickContext;
    use crate::pick::picker::{Picker, PickerSeed};
    use crate::pick::receipt::Receipt;
    use crate::strategy::registry;

    /// The only slot that is free is none that a schedule proposes in its few turns.
    #[test]
    fn what_only_a_search_finds_is_said_to_be_found_so() {
        for waits in [false, true] {
            let strategy = registry::build("round_robin", &[]).expect("registered");
            let mut members = Membership::new("web", strategy);
            for number in 0..20 {
                let endpoint = Endpoint::new(format!("e{number}"), "10.0.0.1:80");
                members.upsert(endpoint.with_capacity(1));
            }
            let room = WaitingRoom::new(QueuePolicy::default());
            members.set_waiting_room(waits.then(|| Arc::new(room)));
            let snapshot = members.snapshot();
            let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
            let ctx = PickContext::at(Nanos(0));
            let mut pick = || picker.pick(&snapshot, &ctx).expect("a slot");
            let mut held: Vec<_> = (0..20).map(|_| pick()).collect();
            assert!(held.iter().all(|lease| lease.fallback().is_none()));
            let free = held.remove(10).index();
            let found = pick();
            assert_eq!(
                (found.index(), found.fallback()),
                (free, Some(Fallback::Scan))
            );
        }
    }

    /// A round of a search draws once for each group, so the draws tell how many there were.
    #[test]
    fn what_is_full_all_the_time_is_searched_once() {
        let strategy = registry::build("round_robin", &[]).expect("registered");
        let mut members = Membership::new("web", strategy);
        for id in ["a", "b"] {
            members.upsert(Endpoint::new(id, "10.0.0.1:80").with_capacity(1));
        }
        let snapshot = members.snapshot();
        let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
        let ctx = PickContext::at(Nanos(0));
        let _held = [(); 2].map(|()| picker.pick(&snapshot, &ctx).expect("a slot"));
        let mut receipt = Receipt::default();
        let refused = picker.pick_traced(&snapshot, &ctx, &mut receipt).err();
        assert_eq!(refused, Some(NoEndpoint::AllFull));
        assert_eq!(receipt.draws.len(), 1, "{receipt:?}");
    }
}
