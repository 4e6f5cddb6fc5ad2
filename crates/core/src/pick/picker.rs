//! Makes decisions: one picker for each worker.

use crate::clock::Nanos;
use crate::endpoint::Serial;
use crate::gate::Slot;
use crate::load::Load;
use crate::pick::context::{NoEndpoint, PickContext};
use crate::pick::decide::{GroupCursor, decide};
use crate::pick::inputs::Inputs;
use crate::pick::lease::Lease;
use crate::pick::receipt::{Fallback, Receipt};
use crate::pick::scratch::Scratch;
use crate::pick::tape::Tape;
use crate::rng::{GOLDEN_GAMMA, Rng, mix};
use crate::snapshot::{Group, Snapshot};
use crate::strategy::{Cursor, OwnCursor, Place, Report};

/// Where a picker's random stream and schedules start.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Picker, PickerSeed};
///
/// // The workers of a process: one root, and a number for each.
/// let pickers = [0, 1].map(|picker| Picker::new(PickerSeed { root: 7, picker }));
/// # let _ = pickers;
/// ```
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
    /// Picker k starts at frac(offset + k * 0.618...): steps of the golden ratio spread any number of
    /// points evenly over a cycle (Knuth, TAOCP vol. 3, 6.4, theorem S), so a fleet does not start
    /// in step.
    fn phase(self, lane: u64) -> u64 {
        let start = mix(self.root, 0x70_6861_7365 ^ lane);
        start.wrapping_add(u64::from(self.picker).wrapping_mul(GOLDEN_GAMMA))
    }
}

/// Makes decisions for one worker.
///
/// Owns a random stream and a place in each schedule; shares nothing with other pickers but the
/// endpoints' own counts. A pick neither allocates nor locks as long as the snapshot stays the same;
/// the first one on a new snapshot carries the places over.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// # let mut picker = evenkeel_core::Picker::new(evenkeel_core::PickerSeed { root: 7, picker: 0 });
/// use evenkeel_core::{Nanos, Outcome, PickContext};
///
/// let lease = picker.pick(&snapshot, &PickContext::at(Nanos(0)))?;
/// lease.finish(Outcome::Success, Nanos::from_millis(3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Picker {
    seed: PickerSeed,
    scratch: Scratch,
    /// The serial of the snapshot that the cursors belong to.
    snapshot: u64,
    /// Those of the first view first.
    cursors: Vec<GroupCursor>,
    /// Where each group's schedule was when it was last left, for groups that come and go.
    places: Vec<(u64, Place)>,
    /// Where schedules start, if not where the seed says.
    start: Option<Place>,
}

/// What an endpoint says of its load.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, strategy::registry};
/// # let mut members = Membership::new("web", registry::build("least_request", &[])?);
/// # members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// # members.upsert(Endpoint::new("b", "10.0.0.2:80"));
/// # let snapshot = members.snapshot();
/// # let mut picker = evenkeel_core::Picker::new(evenkeel_core::PickerSeed { root: 7, picker: 0 });
/// use evenkeel_core::{LoadReport, Nanos};
///
/// members.set_strategy(registry::build("prequal", &[])?);
/// let snapshot = members.snapshot();
/// let said = LoadReport { in_flight: 3, latency: Some(Nanos::from_millis(2)) };
/// picker.report(&snapshot, snapshot.candidates()[0].serial(), said, Nanos(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadReport {
    /// Its requests in flight, of all callers.
    pub in_flight: u32,
    /// How long it takes to answer at present, if it can tell.
    pub latency: Option<Nanos>,
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
            start: None,
        }
    }

    /// A picker whose schedules all start at `place`, not where its seed says: for tests, and for
    /// simulations of balancers that start in step.
    #[must_use]
    pub fn starting_at(seed: PickerSeed, place: Place) -> Self {
        Self {
            start: Some(place),
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
        Ok(lease(snapshot, ctx.now, index, fallback, self.seed))
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
        choice.map(|(index, fallback)| lease(snapshot, ctx.now, index, fallback, self.seed))
    }

    /// Makes a slot that was waited for the lease of a request, if that may have it on this snapshot; and
    /// writes it down, where a receipt is wanted. Places in schedules stay: the strategy was not asked.
    ///
    /// # Errors
    ///
    /// With the slot, when the endpoint may not be used any more.
    pub fn bind<'s>(
        &mut self,
        snapshot: &'s Snapshot,
        ctx: &PickContext,
        slot: Slot,
        receipt: Option<&mut Receipt>,
    ) -> Result<Lease<'s>, Slot> {
        let untried = slot
            .serial()
            .filter(|serial| !ctx.attempts.contains(*serial));
        let index = untried.and_then(|serial| snapshot.position(serial));
        let Some(index) = index.filter(|index| snapshot.admits(ctx.view, *index)) else {
            return Err(slot);
        };
        if let Some(receipt) = receipt {
            receipt.bind(snapshot, ctx, index);
        }
        slot.become_lease();
        let fallback = Some(Fallback::Queue);
        Ok(lease(snapshot, ctx.now, index, fallback, self.seed))
    }

    /// Chooses as [`Picker::pick_traced`] does, but takes no slot, so that nobody else's decision is
    /// changed by it; this picker's own next ones are. Returns the place of the endpoint.
    ///
    /// # Errors
    ///
    /// When no endpoint could take the request.
    pub fn try_out(
        &mut self,
        snapshot: &Snapshot,
        ctx: &PickContext,
        receipt: &mut Receipt,
    ) -> Result<u32, NoEndpoint> {
        self.follow(snapshot);
        receipt.begin(snapshot, ctx);
        let choice = {
            let mut tape = Tape::trying(receipt);
            let mut inputs = Inputs::new(snapshot, ctx, &mut self.scratch, Some(&mut tape));
            decide(snapshot, ctx, &mut inputs, &mut self.cursors)
        };
        receipt.end(&choice);
        choice.map(|(index, _)| index)
    }

    /// Hears from an endpoint what its load is, for strategies that go by that. One that is not in the
    /// snapshot is ignored. O(log n), no allocation.
    pub fn report(&mut self, snapshot: &Snapshot, serial: Serial, said: LoadReport, now: Nanos) {
        self.follow(snapshot);
        let Some(index) = snapshot.position(serial) else {
            return;
        };
        let candidate = &snapshot.candidates()[index as usize];
        let load = Load {
            in_flight: said.in_flight,
            penalty: candidate.load(now, snapshot.failure_half_life()).penalty,
        };
        let report = Report {
            serial,
            index,
            weight: candidate.weight(),
            latency: said.latency.map(|latency| load.held_against(latency)),
            load,
            at: now,
            own_word: true,
        };
        for (group, place) in snapshot.all_groups().zip(&mut self.cursors) {
            if let Cursor::Own(cursor) = &mut place.cursor
                && group.eligible.binary_search(&index).is_ok()
            {
                cursor.report(&report);
            }
        }
    }

    /// Decides again on recorded inputs, and writes what comes of it. Takes no slot.
    pub(crate) fn replay(snapshot: &Snapshot, recorded: &Receipt, derived: &mut Receipt) {
        let affinity = recorded.affinity.and_then(|index| {
            let candidate = snapshot.candidates().get(index as usize)?;
            Some(candidate.serial())
        });
        let mut ctx = PickContext {
            key: recorded.key,
            view: recorded.view,
            affinity,
            ..PickContext::default()
        };
        ctx.attempts.resume(recorded.attempt);
        if recorded.fallback == Some(Fallback::Queue) {
            derived.begin(snapshot, &ctx);
            derived.bind_again(snapshot, recorded);
            return;
        }
        let cursor = |group: &Group| GroupCursor {
            lane: group.lane,
            cursor: group.table.cursor(match recorded.cursor {
                Some(place) if group.tier == recorded.tier => place,
                _ => Place::START,
            }),
        };
        let mut cursors: Vec<GroupCursor> = snapshot.all_groups().map(cursor).collect();
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
        let mut left = std::mem::take(&mut self.cursors);
        for GroupCursor { lane, cursor } in &left {
            let Some(place) = cursor.place() else {
                continue;
            };
            match self.places.iter_mut().find(|(known, _)| known == lane) {
                Some((_, known)) => *known = place,
                None => self.places.push((*lane, place)),
            }
        }
        let cursor = |group: &Group| {
            let mut cursor = group.table.cursor(self.place(group.lane));
            let old = left.iter_mut().find(|old| old.lane == group.lane);
            if let (Cursor::Own(cursor), Some(Cursor::Own(old))) =
                (&mut cursor, old.map(|old| &mut old.cursor))
            {
                hand_over(&mut **old, &mut **cursor, group, snapshot);
            }
            GroupCursor {
                lane: group.lane,
                cursor,
            }
        };
        self.cursors = snapshot.all_groups().map(cursor).collect();
        self.snapshot = snapshot.serial;
    }

    fn place(&self, lane: u64) -> Place {
        let known = self.places.iter().find(|(known, _)| *known == lane);
        let start = || {
            let by_seed = || Place::fraction(self.seed.phase(lane));
            self.start.unwrap_or_else(by_seed)
        };
        known.map_or_else(start, |(_, place)| *place)
    }
}

/// Lets a new cursor take over what an old one of the same group remembers.
fn hand_over(
    old: &mut dyn OwnCursor,
    cursor: &mut dyn OwnCursor,
    group: &Group,
    snapshot: &Snapshot,
) {
    cursor.take_over(old, &|serial| {
        let index = snapshot.position(serial)?;
        group.eligible.binary_search(&index).ok()?;
        Some((index, snapshot.candidates()[index as usize].weight()))
    });
}

#[inline]
fn lease(
    snapshot: &Snapshot,
    now: Nanos,
    index: u32,
    fallback: Option<Fallback>,
    seed: PickerSeed,
) -> Lease<'_> {
    let state = snapshot.candidates()[index as usize].state();
    Lease::held(state, &snapshot.terms, now, index, fallback, seed.picker)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pick::receipt::Compared;
    use crate::strategy::registry;
    use crate::{Endpoint, Membership};

    #[test]
    fn a_schedule_goes_on_over_any_number_of_snapshots() {
        let strategy = registry::build("round_robin", &[]).expect("registered");
        let mut members = Membership::new("web", strategy);
        for id in ["a", "b", "c", "d", "e"] {
            members.upsert(Endpoint::new(id, "10.0.0.1:80"));
        }
        let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
        let mut next = || {
            let snapshot = members.snapshot();
            let lease = picker.pick(&snapshot, &PickContext::at(Nanos(0)));
            lease.expect("all are open").index()
        };
        let first = next();
        for turn in 1..12 {
            assert_eq!(next(), (first + turn) % 5, "{turn}");
        }
    }

    #[test]
    fn a_receipt_knows_who_won_and_the_closest_rival() {
        let strategy = registry::build("least_request", &[]).expect("registered");
        let mut members = Membership::new("web", strategy);
        for id in ["a", "b", "c"] {
            members.upsert(Endpoint::new(id, "10.0.0.1:80"));
        }
        let snapshot = members.snapshot();
        let mut picker = Picker::new(PickerSeed { root: 1, picker: 0 });
        let at = PickContext::at(Nanos(0));
        let mut held = Vec::new();
        for busy in [1, 2, 2] {
            let mut ctx = at.clone();
            ctx.affinity = Some(snapshot.candidates()[busy].serial());
            held.push(picker.pick(&snapshot, &ctx).expect("it is open"));
        }
        let mut receipt = Receipt::default();
        let lease = picker.pick_traced(&snapshot, &at, &mut receipt);
        assert_eq!(lease.expect("they are open").index(), 0);
        let index = |compared: Option<&Compared>| compared.map(|compared| compared.index);
        let both = (index(receipt.winner()), index(receipt.runner_up()));
        assert_eq!(both, (Some(0), Some(1)));
    }
}
