//! Makes decisions: one picker for each worker.

use crate::pick::context::{NoEndpoint, PickContext};
use crate::pick::inputs::Inputs;
use crate::pick::lease::Lease;
use crate::pick::receipt::{Fallback, Receipt, Tape};
use crate::pick::scratch::Scratch;
use crate::pick::search::search;
use crate::rng::{GOLDEN_GAMMA, Rng, mix};
use crate::snapshot::{Group, Snapshot};
use crate::strategy::{Cursor, Place};

/// How often a strategy is asked again when the endpoint it proposed refuses.
const REDRAWS: usize = 3;

/// Where a picker's random stream and schedules start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PickerSeed {
    /// The same for all pickers of a process, another one in each process.
    pub root: u64,
    /// Numbers the pickers of a process, from 0.
    pub picker: u32,
}

impl PickerSeed {
    /// Where in a cycle this picker starts, as a fraction of 2^64.
    ///
    /// Steps of the golden ratio spread any number of pickers evenly over the cycle, so a fleet does
    /// not start in step (`algorithms.md` 1.1).
    fn phase(self, tier: u8) -> u64 {
        let start = mix(self.root, 0x70_6861_7365 ^ u64::from(tier));
        start.wrapping_add(u64::from(self.picker).wrapping_mul(GOLDEN_GAMMA))
    }
}

/// Makes decisions for one worker.
///
/// Owns a random stream and a place in each schedule; shares nothing with other pickers but the
/// endpoints' own counts. A pick neither allocates nor locks as long as the snapshot stays the same;
/// the first one on a new snapshot carries the places over.
#[derive(Debug)]
pub struct Picker {
    seed: PickerSeed,
    scratch: Scratch,
    /// The serial of the snapshot that the cursors belong to.
    snapshot: u64,
    cursors: Vec<GroupCursor>,
    /// Where each tier's schedule was when it was last left, for tiers that come and go.
    places: Vec<(u8, Place)>,
}

/// Where this picker is in the schedule of a group.
#[derive(Debug)]
struct GroupCursor {
    tier: u8,
    cursor: Cursor,
}

impl Picker {
    /// A picker that has not decided anything yet.
    #[must_use]
    pub fn new(seed: PickerSeed) -> Self {
        Self {
            seed,
            scratch: Scratch::new(Rng::new(mix(seed.root, u64::from(seed.picker)))),
            snapshot: 0,
            cursors: Vec::new(),
            places: Vec::new(),
        }
    }

    /// A picker whose schedules all start at `place`, not where its seed says: for tests, and for
    /// simulations of balancers that start in step.
    #[must_use]
    pub fn starting_at(seed: PickerSeed, place: Place) -> Self {
        Self {
            places: (0..=u8::MAX).map(|tier| (tier, place)).collect(),
            ..Self::new(seed)
        }
    }

    /// Chooses an endpoint and counts the request in flight there.
    ///
    /// O(1) beside what the strategy costs; no allocation.
    ///
    /// # Errors
    ///
    /// When no endpoint can take the request; the error says why.
    #[inline]
    pub fn pick<'s>(
        &mut self,
        snapshot: &'s Snapshot,
        ctx: &PickContext,
    ) -> Result<Lease<'s>, NoEndpoint> {
        self.follow(snapshot);
        let mut inputs = Inputs::new(snapshot, ctx, &mut self.scratch, None);
        let (index, fallback) = decide(snapshot, ctx, &mut inputs, &mut self.cursors)?;
        Ok(lease(snapshot, index, fallback))
    }

    /// Chooses an endpoint as [`Picker::pick`] does, and writes down why.
    ///
    /// `receipt` is overwritten; its memory is used again.
    ///
    /// # Errors
    ///
    /// When no endpoint can take the request; the receipt then has no choice.
    pub fn pick_traced<'s>(
        &mut self,
        snapshot: &'s Snapshot,
        ctx: &PickContext,
        receipt: &mut Receipt,
    ) -> Result<Lease<'s>, NoEndpoint> {
        self.follow(snapshot);
        receipt.begin(snapshot, ctx);
        let choice = {
            let mut tape = Tape::recording(receipt);
            let mut inputs = Inputs::new(snapshot, ctx, &mut self.scratch, Some(&mut tape));
            decide(snapshot, ctx, &mut inputs, &mut self.cursors)
        };
        receipt.end(&choice);
        choice.map(|(index, fallback)| lease(snapshot, index, fallback))
    }

    /// Decides again on recorded inputs, and writes what comes of it. Takes no slot.
    pub(crate) fn replay(snapshot: &Snapshot, recorded: &Receipt, derived: &mut Receipt) {
        let mut ctx = PickContext {
            key: recorded.key,
            ..PickContext::default()
        };
        ctx.attempts.resume(recorded.attempt);
        let cursor = |group: &Group| GroupCursor {
            tier: group.tier,
            cursor: group.table.cursor(match recorded.cursor {
                Some(place) if group.tier == recorded.tier => place,
                _ => Place::START,
            }),
        };
        let mut cursors: Vec<GroupCursor> = snapshot.groups().iter().map(cursor).collect();
        let mut scratch = Scratch::new(Rng::new(0));
        derived.begin(snapshot, &ctx);
        let choice = {
            let mut tape = Tape::replaying(recorded, derived);
            let mut inputs = Inputs::new(snapshot, &ctx, &mut scratch, Some(&mut tape));
            decide(snapshot, &ctx, &mut inputs, &mut cursors)
        };
        derived.end(&choice);
    }

    /// Carries the places over to a new snapshot.
    #[inline]
    fn follow(&mut self, snapshot: &Snapshot) {
        if self.snapshot != snapshot.serial {
            self.carry_over(snapshot);
        }
    }

    #[cold]
    fn carry_over(&mut self, snapshot: &Snapshot) {
        for left in std::mem::take(&mut self.cursors) {
            let Some(place) = left.cursor.place() else {
                continue;
            };
            match self.places.iter_mut().find(|(tier, _)| *tier == left.tier) {
                Some((_, known)) => *known = place,
                None => self.places.push((left.tier, place)),
            }
        }
        let groups = snapshot.groups().iter();
        self.cursors = groups
            .map(|group| GroupCursor {
                tier: group.tier,
                cursor: group.table.cursor(self.place(group.tier)),
            })
            .collect();
        self.snapshot = snapshot.serial;
    }

    fn place(&self, tier: u8) -> Place {
        let known = self.places.iter().find(|(known, _)| *known == tier);
        known.map_or_else(
            || Place::fraction(self.seed.phase(tier)),
            |(_, place)| *place,
        )
    }
}

#[inline]
fn lease(snapshot: &Snapshot, index: u32, fallback: Option<Fallback>) -> Lease<'_> {
    let state = snapshot.candidates()[index as usize].state();
    Lease::held(state, snapshot.failure_half_life(), index, fallback)
}

/// The place of the chosen endpoint, and why it was not an ordinary choice.
pub(crate) type Choice = Result<(u32, Option<Fallback>), NoEndpoint>;

/// Tier, strategy, gate, and what to do when all of them refuse.
#[inline]
fn decide(
    snapshot: &Snapshot,
    ctx: &PickContext,
    inputs: &mut Inputs<'_>,
    cursors: &mut [GroupCursor],
) -> Choice {
    let groups = snapshot.groups();
    let drawn = match groups.len() {
        0 => return Err(snapshot.unavailable()),
        1 => 0,
        _ => draw_group(groups, inputs),
    };
    if ctx.attempts.count() > 0 {
        inputs.exclude_tried(&ctx.attempts);
    }
    let group = &groups[drawn];
    let cursor = &mut cursors[drawn].cursor;
    inputs.note_group(group.tier, cursor);
    let proposed = group.table.choose(cursor, inputs);
    if let Some(index) = proposed
        && inputs.acquire(index)
    {
        return Ok((index, group.panic.then_some(Fallback::Panic)));
    }
    redraw(groups, drawn, proposed, cursor, inputs)
}

/// Asks the strategy again, a few times, and then looks for anyone.
#[cold]
fn redraw(
    groups: &[Group],
    drawn: usize,
    mut proposed: Option<u32>,
    cursor: &mut Cursor,
    inputs: &mut Inputs<'_>,
) -> Choice {
    let group = &groups[drawn];
    for _ in 0..REDRAWS {
        if proposed.is_none() {
            break;
        }
        proposed = group.table.choose(cursor, inputs);
        if let Some(index) = proposed
            && inputs.acquire(index)
        {
            return Ok((index, group.panic.then_some(Fallback::Panic)));
        }
    }
    search(groups, drawn, inputs)
}

/// Draws a group by the shares of the tiers.
fn draw_group(groups: &[Group], inputs: &mut Inputs<'_>) -> usize {
    let (percent, _) = inputs.draw(100);
    groups
        .iter()
        .position(|group| percent < u64::from(group.share_up_to))
        .unwrap_or(0)
}
