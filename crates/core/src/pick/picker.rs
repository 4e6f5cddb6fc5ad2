//! Makes decisions: one picker for each worker.

use crate::pick::context::{NoEndpoint, PickContext};
use crate::pick::inputs::Inputs;
use crate::pick::lease::Lease;
use crate::pick::receipt::{Fallback, Receipt, Tape};
use crate::rng::{GOLDEN_GAMMA, Rng, mix};
use crate::snapshot::{Group, Snapshot};
use crate::strategy::{Cursor, Place};

/// How often a strategy is asked again when the endpoint it proposed refuses.
const REDRAWS: usize = 3;

/// How many endpoints the scan looks at once it has found one that is open.
const SCAN: usize = 64;

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
    rng: Rng,
    generation: u64,
    places: Vec<GroupPlace>,
}

/// Where this picker is in the schedule of a group.
#[derive(Debug)]
struct GroupPlace {
    tier: u8,
    cursor: Cursor,
}

impl Picker {
    /// A picker that has not decided anything yet.
    #[must_use]
    pub fn new(seed: PickerSeed) -> Self {
        Self {
            seed,
            rng: Rng::new(mix(seed.root, u64::from(seed.picker))),
            generation: 0,
            places: Vec::new(),
        }
    }

    /// Chooses an endpoint and counts the request in flight there.
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
        let inputs = Inputs::new(snapshot, ctx, &mut self.rng, None);
        let (index, fallback) = decide(snapshot, ctx, inputs, &mut self.places)?;
        Ok(lease(snapshot, index, fallback))
    }

    /// Chooses an endpoint as [`Picker::pick`] does, and writes down why.
    ///
    /// # Errors
    ///
    /// As for [`Picker::pick`]; the receipt is written all the same.
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
            let inputs = Inputs::new(snapshot, ctx, &mut self.rng, Some(&mut tape));
            decide(snapshot, ctx, inputs, &mut self.places)
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
        let mut places: Vec<GroupPlace> = snapshot
            .groups()
            .iter()
            .map(|group| GroupPlace {
                tier: group.tier,
                cursor: match recorded.cursor {
                    Some(place) if group.tier == recorded.tier => group.table.cursor(place),
                    _ => group.table.cursor(Place::START),
                },
            })
            .collect();
        let mut rng = Rng::new(0);
        derived.begin(snapshot, &ctx);
        let choice = {
            let mut tape = Tape::replaying(recorded, derived);
            let inputs = Inputs::new(snapshot, &ctx, &mut rng, Some(&mut tape));
            decide(snapshot, &ctx, inputs, &mut places)
        };
        derived.end(&choice);
    }

    /// Carries the places over to a new snapshot.
    #[inline]
    fn follow(&mut self, snapshot: &Snapshot) {
        if self.generation != snapshot.generation() {
            self.carry_over(snapshot);
        }
    }

    #[cold]
    fn carry_over(&mut self, snapshot: &Snapshot) {
        let seed = self.seed;
        let old = std::mem::take(&mut self.places);
        self.places = snapshot
            .groups()
            .iter()
            .map(|group| {
                let place = old
                    .iter()
                    .find(|place| place.tier == group.tier)
                    .and_then(|place| place.cursor.place())
                    .unwrap_or(Place::fraction(seed.phase(group.tier)));
                GroupPlace {
                    tier: group.tier,
                    cursor: group.table.cursor(place),
                }
            })
            .collect();
        self.generation = snapshot.generation();
    }
}

#[inline]
fn lease(snapshot: &Snapshot, index: u32, fallback: Option<Fallback>) -> Lease<'_> {
    let state = snapshot.candidates()[index as usize].state();
    Lease::held(state, snapshot.failure_half_life(), index, fallback)
}

/// Tier, strategy, gate, and what to do when all of them refuse.
#[inline]
fn decide(
    snapshot: &Snapshot,
    ctx: &PickContext,
    mut inputs: Inputs<'_>,
    places: &mut [GroupPlace],
) -> Result<(u32, Option<Fallback>), NoEndpoint> {
    let groups = snapshot.groups();
    let drawn = match groups.len() {
        0 => return Err(snapshot.unavailable()),
        1 => 0,
        _ => draw_group(groups, &mut inputs),
    };
    if ctx.attempts.count() > 0 {
        inputs.exclude_tried(snapshot);
    }
    let group = &groups[drawn];
    let cursor = &mut places[drawn].cursor;
    inputs.note_group(group.tier, cursor);
    for _ in 0..=REDRAWS {
        let Some(index) = group.table.choose(cursor, &mut inputs) else {
            break;
        };
        if inputs.acquire(index) {
            return Ok((index, group.panic.then_some(Fallback::Panic)));
        }
    }
    search(groups, drawn, &mut inputs)
}

/// Draws a group by the shares of the tiers.
fn draw_group(groups: &[Group], inputs: &mut Inputs<'_>) -> usize {
    let (percent, _) = inputs.draw(100);
    groups
        .iter()
        .position(|group| percent < u64::from(group.share_up_to))
        .unwrap_or(0)
}

/// Looks for any endpoint that takes the request: first in the group drawn, then in the others.
#[cold]
fn search(
    groups: &[Group],
    drawn: usize,
    inputs: &mut Inputs<'_>,
) -> Result<(u32, Option<Fallback>), NoEndpoint> {
    let order = std::iter::once(drawn).chain((0..groups.len()).filter(|at| *at != drawn));
    for at in order {
        if let Some(index) = scan(&groups[at].eligible, inputs) {
            let fallback = if at == drawn {
                Fallback::Scan
            } else {
                Fallback::Tier
            };
            return Ok((index, Some(fallback)));
        }
    }
    let untried = groups
        .iter()
        .flat_map(|group| &group.eligible)
        .any(|index| inputs.is_untried(*index));
    Err(if untried {
        NoEndpoint::AllFull
    } else {
        NoEndpoint::AllTried
    })
}

/// Takes the lightest open endpoint of those from a random place on.
fn scan(eligible: &[u32], inputs: &mut Inputs<'_>) -> Option<u32> {
    let (start, _) = inputs.draw(eligible.len() as u64);
    let (before, after) = eligible.split_at(start as usize);
    while inputs.remembers_refusals() {
        let from_start = after.iter().chain(before).copied();
        let index = lightest(from_start, inputs)?;
        if inputs.acquire(index) {
            return Some(index);
        }
    }
    // So many lost races: take what is free, whichever it is.
    after
        .iter()
        .chain(before)
        .copied()
        .find(|index| inputs.acquire(*index))
}

/// The endpoint with the least load over weight among those that have not refused.
///
/// Looks no further than [`SCAN`] once it has one.
fn lightest(order: impl Iterator<Item = u32>, inputs: &mut Inputs<'_>) -> Option<u32> {
    let mut best = None;
    for (seen, index) in order.enumerate() {
        if seen >= SCAN && best.is_some() {
            break;
        }
        if inputs.is_refused(index) {
            continue;
        }
        let (load, weight) = (inputs.load(index), inputs.weight(index));
        if load.in_flight >= inputs.cap(index) {
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
