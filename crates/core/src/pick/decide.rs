//! One decision, from the view to the slot: tier or zone, strategy, gate, and what is done when they
//! refuse.

use crate::endpoint::Serial;
use crate::gate::Upto;
use crate::pick::context::{NoEndpoint, PickContext};
use crate::pick::inputs::Inputs;
use crate::pick::receipt::Fallback;
use crate::pick::search::{ROUNDS, search};
use crate::rng::{mix, scale};
use crate::snapshot::{Group, Snapshot};
use crate::strategy::Cursor;
use crate::tier::zone::WHOLE;

/// How often a strategy is asked again when the endpoint it proposed refuses.
const REDRAWS: usize = 3;

/// Where a picker is in the schedule of a group.
#[derive(Debug)]
pub(super) struct GroupCursor {
    pub(super) lane: u64,
    pub(super) cursor: Cursor,
}

/// The place of the chosen endpoint, and why it was not an ordinary choice.
pub(crate) type Choice = Result<(u32, Option<Fallback>), NoEndpoint>;

/// View, tier, strategy, gate, and what to do when all of them refuse.
#[inline]
pub(super) fn decide(
    snapshot: &Snapshot,
    ctx: &PickContext,
    inputs: &mut Inputs<'_>,
    cursors: &mut [GroupCursor],
) -> Choice {
    if ctx.view > 0 {
        return decide_in_view(snapshot, ctx, inputs, cursors);
    }
    let among = Among::all(snapshot);
    decide_among(&among, ctx, inputs, cursors)
}

/// The groups that a decision is made among.
struct Among<'s> {
    groups: &'s [Group],
    /// Why there are none, if there are none.
    unavailable: NoEndpoint,
    /// How often they are searched.
    rounds: usize,
}

impl<'s> Among<'s> {
    #[inline]
    fn all(snapshot: &'s Snapshot) -> Self {
        Self {
            groups: snapshot.groups(),
            unavailable: snapshot.unavailable(),
            rounds: ROUNDS,
        }
    }
}

/// Decides among the endpoints with certain labels.
#[cold]
fn decide_in_view(
    snapshot: &Snapshot,
    ctx: &PickContext,
    inputs: &mut Inputs<'_>,
    cursors: &mut [GroupCursor],
) -> Choice {
    let view = snapshot.view(ctx.view).ok_or(NoEndpoint::UnknownView)?;
    if view.groups.is_empty() && view.or_any {
        let (index, _) = decide_among(&Among::all(snapshot), ctx, inputs, cursors)?;
        return Ok((index, Some(Fallback::Labels)));
    }
    let cursors = &mut cursors[view.groups_before..];
    let among = Among {
        groups: &view.groups,
        unavailable: view.unavailable,
        // Where others will do, one look is enough; a record could not tell two long searches apart.
        rounds: if view.or_any { 1 } else { ROUNDS },
    };
    let choice = decide_among(&among, ctx, inputs, cursors);
    if choice.is_ok() || !view.or_any || snapshot.groups().is_empty() {
        return choice;
    }
    // The schedule of all endpoints is left alone, so that the record needs one place only.
    let (index, _) = search(snapshot.groups(), 0, inputs, ROUNDS)?;
    Ok((index, Some(Fallback::Labels)))
}

/// Decides among groups, each with its cursor.
#[inline]
fn decide_among(
    among: &Among<'_>,
    ctx: &PickContext,
    inputs: &mut Inputs<'_>,
    cursors: &mut [GroupCursor],
) -> Choice {
    let groups = among.groups;
    if ctx.attempts.count() > 0 {
        inputs.exclude_tried(&ctx.attempts);
    }
    if let Some(serial) = ctx.affinity
        && let Some(stays) = stay(serial, groups, inputs, cursors)
    {
        return Ok(stays);
    }
    let drawn = match groups.len() {
        0 => return Err(among.unavailable),
        1 => 0,
        _ => draw_group(groups, inputs),
    };
    let group = &groups[drawn];
    let cursor = &mut cursors[drawn].cursor;
    inputs.note_group(group.tier, cursor);
    let proposed = group.table.choose(cursor, inputs);
    if let Some(index) = proposed
        && inputs.acquire(index, Upto::Stop)
    {
        return Ok((index, chosen_by(group, inputs)));
    }
    redraw(among, drawn, proposed, cursor, inputs)
}

/// Why an endpoint that the strategy proposed is not its ordinary choice, if it is not.
#[inline]
fn chosen_by(group: &Group, inputs: &Inputs<'_>) -> Option<Fallback> {
    if group.panic {
        return Some(Fallback::Panic);
    }
    inputs.fallback()
}

/// Asks the endpoint that the client was with before, as long as its tier takes a share of first
/// picks: a tier that stands in for another is left again when that one is back.
#[cold]
fn stay(
    serial: Serial,
    groups: &[Group],
    inputs: &mut Inputs<'_>,
    cursors: &[GroupCursor],
) -> Option<(u32, Option<Fallback>)> {
    let index = inputs.position(serial)?;
    let mut share_before = 0;
    let (group, place) = groups.iter().zip(cursors).find(|(group, _)| {
        let in_use = group.share_up_to > share_before;
        share_before = group.share_up_to;
        in_use && group.eligible.binary_search(&index).is_ok()
    })?;
    inputs.note_group(group.tier, &place.cursor);
    // As a key does, a client stays up to the cap.
    inputs
        .acquire(index, Upto::Cap)
        .then(|| (index, group.panic.then_some(Fallback::Panic)))
}

/// Asks the strategy again, a few times, and then looks for anyone.
#[cold]
fn redraw(
    among: &Among<'_>,
    drawn: usize,
    mut proposed: Option<u32>,
    cursor: &mut Cursor,
    inputs: &mut Inputs<'_>,
) -> Choice {
    if inputs.lacks_key() {
        return Err(NoEndpoint::NoKey);
    }
    let group = &among.groups[drawn];
    for _ in 0..REDRAWS {
        if proposed.is_none() {
            break;
        }
        proposed = group.table.choose(cursor, inputs);
        if let Some(index) = proposed
            && inputs.acquire(index, Upto::Stop)
        {
            return Ok((index, chosen_by(group, inputs)));
        }
    }
    search(among.groups, drawn, inputs, among.rounds)
}

/// Draws a group by the shares of the tiers and zones; by the key, where it decides.
fn draw_group(groups: &[Group], inputs: &mut Inputs<'_>) -> usize {
    const SALT: u64 = 0x7469_6572;
    let whole = u64::from(WHOLE);
    let (part, _) = match inputs.key_of_group() {
        Some(key) => scale(mix(key, SALT), whole),
        None => inputs.draw(whole),
    };
    groups
        .iter()
        .position(|group| part < u64::from(group.share_up_to))
        .unwrap_or(0)
}
