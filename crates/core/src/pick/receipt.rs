//! The full explanation of one decision, and its derivation.

use crate::clock::Nanos;
use crate::gate::Upto;
use crate::load::{Cost, Load};
use crate::pick::context::{NoEndpoint, PickContext};
use crate::pick::picker::Picker;
use crate::snapshot::Snapshot;
use crate::strategy::{Place, Report};

/// Why an endpoint that was proposed did not take the request.
///
/// # Examples
///
/// ```
/// use evenkeel_core::Refusal;
///
/// assert_eq!(Refusal::named("full"), Some(Refusal::Full));
/// assert_eq!(Refusal::Tried.as_str(), "tried");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It is at its cap.
    Full,
    /// It is not in service: draining, disabled, unhealthy or without weight.
    NotInService,
    /// It is above the level at which it is left alone while others are less busy.
    Saturated,
    /// This request has been there.
    Tried,
}

impl Refusal {
    /// The word for it in receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::NotInService => "not_in_service",
            Self::Saturated => "saturated",
            Self::Tried => "tried",
        }
    }

    /// The refusal of that word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        let all = [Self::Full, Self::NotInService, Self::Saturated, Self::Tried];
        all.into_iter().find(|refusal| refusal.as_str() == word)
    }

    /// Why a slot up to there is refused, where there are levels below the cap.
    pub(crate) fn of(upto: Upto) -> Self {
        match upto {
            Upto::Cap => Self::Full,
            Upto::Stop => Self::Saturated,
        }
    }
}

/// Why the strategy's own proposal was not what was chosen, or chosen among the usual endpoints.
///
/// # Examples
///
/// ```
/// use evenkeel_core::Fallback;
///
/// assert_eq!(Fallback::named("scan"), Some(Fallback::Scan));
/// assert_eq!(Fallback::Zone.as_str(), "zone");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fallback {
    /// None with the labels asked for could take it; any other did.
    Labels,
    /// Nothing was known of the endpoints' loads.
    NoReports,
    /// Too few endpoints of the tier are healthy, so all of them were used.
    Panic,
    /// All were full, and it waited for a slot: this one opened first.
    Queue,
    /// All that the strategy proposed refused; the lightest of the others took it.
    Scan,
    /// Nobody in the tier drawn could take it; another tier did.
    Tier,
    /// Nobody in the zone drawn could take it; another zone did.
    Zone,
}

impl Fallback {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Labels,
        Self::NoReports,
        Self::Panic,
        Self::Queue,
        Self::Scan,
        Self::Tier,
        Self::Zone,
    ];

    /// The word for it in receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Labels => "labels",
            Self::NoReports => "no_reports",
            Self::Panic => "panic",
            Self::Queue => "queue",
            Self::Scan => "scan",
            Self::Tier => "tier",
            Self::Zone => "zone",
        }
    }

    /// The fallback of that word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == word)
    }
}

/// An endpoint that was compared. `index` is its place in the snapshot of the receipt's generation.
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
/// use evenkeel_core::{Nanos, PickContext, Receipt};
///
/// let mut receipt = Receipt::default();
/// let lease = picker.pick_traced(&snapshot, &PickContext::at(Nanos(0)), &mut receipt)?;
/// let winner = receipt.winner().expect("one was chosen");
/// assert_eq!((winner.index as usize, winner.load.in_flight), (lease.index(), 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The place of the endpoint in the snapshot.
    pub index: u32,
    /// Its effective weight in 1/256.
    pub weight: u32,
    /// The load that was read; zero for a schedule.
    pub load: Load,
    /// The latency that was read, where it was.
    pub latency: Option<Nanos>,
    /// What was compared; smaller wins.
    pub score: Score,
}

/// What a strategy compares; smaller wins.
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
/// use evenkeel_core::{Nanos, PickContext, Receipt, Score};
///
/// let mut receipt = Receipt::default();
/// let lease = picker.pick_traced(&snapshot, &PickContext::at(Nanos(0)), &mut receipt)?;
/// let winner = receipt.winner().expect("one was chosen");
/// assert!(matches!(winner.score, Score::LoadOverWeight(0, 256)));
/// assert_eq!(winner.score.as_f64(), 0.0);
/// # drop(lease);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// The latency of an endpoint that is not among the busiest, and the pressure on it, which decides
    /// between equal ones.
    Cold(u64, u64),
    /// Latency times load over the weight, as the two parts of a fraction.
    Cost(u64, u32),
    /// The time on the schedule at which the endpoint is due.
    Deadline(u64),
    /// The pressure on an endpoint that is among the busiest, and its latency, which plays no part then;
    /// worse than any that is not.
    Hot(u64, u64),
    /// The load over the weight, as the two parts of a fraction.
    LoadOverWeight(u64, u32),
}

/// Above all latencies.
const HOT: f64 = 1e15;

impl Score {
    /// The score as a number, for display: loads in requests for each unit of weight.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Cold(latency, _) => latency as f64,
            Self::Cost(cost, weight) => cost as f64 / f64::from(weight.max(1)),
            Self::Deadline(deadline) => deadline as f64,
            Self::Hot(pressure, _) => HOT + pressure as f64,
            Self::LoadOverWeight(load, weight) => load as f64 / f64::from(weight.max(1)),
        }
    }
}

impl Compared {
    pub(crate) fn by_load(index: u32, weight: u32, load: Load) -> Self {
        let score = Score::LoadOverWeight(load.total(), weight);
        Self {
            index,
            weight,
            load,
            latency: None,
            score,
        }
    }

    pub(crate) fn by_cost(index: u32, load: Load, latency: Nanos, cost: Cost) -> Self {
        Self {
            index,
            weight: cost.weight,
            load,
            latency: Some(latency),
            score: Score::Cost(cost.value, cost.weight),
        }
    }

    pub(crate) fn by_report(report: &Report, pressure: u64, is_hot: bool) -> Self {
        // Not known is as fast as any.
        let latency = report.latency.unwrap_or_default().0;
        Self {
            index: report.index,
            weight: report.weight,
            load: report.load,
            latency: report.latency,
            score: if is_hot {
                Score::Hot(pressure, latency)
            } else {
                Score::Cold(latency, pressure)
            },
        }
    }

    pub(crate) fn by_deadline(index: u32, weight: u32, deadline: u64) -> Self {
        Self {
            index,
            weight,
            load: Load::default(),
            latency: None,
            score: Score::Deadline(deadline),
        }
    }
}

/// An endpoint that was proposed and refused. What cannot be repeated, as a lost race for the last
/// slot, is an input of the decision.
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
/// use evenkeel_core::{Exclusion, Nanos, PickContext, Receipt, Refusal};
///
/// let (mut receipt, mut ctx) = (Receipt::default(), PickContext::at(Nanos(0)));
/// ctx.attempts.push(snapshot.candidates()[0].serial());
/// let lease = picker.pick_traced(&snapshot, &ctx, &mut receipt)?;
/// assert_eq!(receipt.excluded, [Exclusion { index: 0, refusal: Refusal::Tried }]);
/// assert_eq!(lease.index(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exclusion {
    /// The place of the endpoint in the snapshot.
    pub index: u32,
    /// Why it refused.
    pub refusal: Refusal,
}

/// All that went into one decision and what came of it.
///
/// With the snapshot of its generation it is enough to make the same decision again:
/// [`Receipt::derive`] does.
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
/// use evenkeel_core::{Nanos, PickContext, Receipt};
///
/// let mut receipt = Receipt::default();
/// let lease = picker.pick_traced(&snapshot, &PickContext::at(Nanos(0)), &mut receipt)?;
/// assert_eq!(receipt.chosen, Some(lease.index() as u32));
/// receipt.derive(&snapshot)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The generation of the snapshot that was used.
    pub generation: u64,
    /// The view of the cluster that was asked for; 0 is all of it.
    pub view: u16,
    /// The tier that was drawn.
    pub tier: u8,
    /// Which try of the request this was, from 0.
    pub attempt: u8,
    /// The hash of the request's key.
    pub key: Option<u64>,
    /// All requests in flight in the cluster, if a bound on their share was looked at.
    pub total: Option<u64>,
    /// The place of the endpoint that the request's client was with before.
    pub affinity: Option<u32>,
    /// The place in the schedule before the decision.
    pub cursor: Option<Place>,
    /// The random bits that were drawn, in order.
    pub draws: Vec<u64>,
    /// The endpoints that were compared, in order.
    pub candidates: Vec<Compared>,
    /// The endpoints that refused, in order.
    pub excluded: Vec<Exclusion>,
    /// The endpoint that was chosen.
    pub chosen: Option<u32>,
    /// Why it was not an ordinary choice, if it was not.
    pub fallback: Option<Fallback>,
    /// Why nobody was chosen, if nobody was.
    pub nobody: Option<NoEndpoint>,
}

/// A receipt that does not lead to the choice that it names.
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
/// use evenkeel_core::{DerivationError, Nanos, PickContext, Receipt};
///
/// let mut receipt = Receipt::default();
/// drop(picker.pick_traced(&snapshot, &PickContext::at(Nanos(0)), &mut receipt)?);
/// members.upsert(Endpoint::new("c", "10.0.0.3:80"));
/// let derived = receipt.derive(&members.snapshot());
/// assert!(matches!(derived, Err(DerivationError::Generation { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DerivationError {
    /// The receipt belongs to another snapshot.
    #[error("the receipt is of generation {receipt}, the snapshot of generation {snapshot}")]
    Generation {
        /// The receipt's generation.
        receipt: u64,
        /// The snapshot's generation.
        snapshot: u64,
    },
    /// Deciding again asked for other inputs, or ended elsewhere.
    #[error("deciding again leads to another receipt")]
    Differs {
        /// What the derivation wrote.
        derived: Box<Receipt>,
    },
}

impl Receipt {
    /// Makes the decision again from what is written here, and compares every field.
    ///
    /// Reads no shared state: loads, draws and lost races come from the receipt. Everything else
    /// follows from the snapshot, so a weight, an index, a deadline, the reason of a refusal or the
    /// choice cannot be changed unnoticed. Of what is an input (draws, the place in the schedule,
    /// loads, which endpoints had been tried) only a change that alters the outcome, or that does not
    /// fit what was read, can be found. O(n): cursors are worked out anew.
    ///
    /// # Errors
    ///
    /// When the snapshot is of another generation, or the derivation ends in another receipt.
    pub fn derive(&self, snapshot: &Snapshot) -> Result<(), DerivationError> {
        if self.generation != snapshot.generation() {
            return Err(DerivationError::Generation {
                receipt: self.generation,
                snapshot: snapshot.generation(),
            });
        }
        let derived = self.rederived(snapshot);
        if derived == *self {
            return Ok(());
        }
        Err(DerivationError::Differs {
            derived: Box::new(derived),
        })
    }

    /// What making the decision again from what is written here leads to. Scores are not looked at, beyond
    /// whether they are of a report. O(n).
    ///
    /// The snapshot must be the one of the receipt's generation.
    #[must_use]
    pub fn rederived(&self, snapshot: &Snapshot) -> Self {
        let mut derived = Self::default();
        Picker::replay(snapshot, self, &mut derived);
        derived
    }

    /// The chosen endpoint among those compared; the last one, if it was compared more than once.
    #[must_use]
    pub fn winner(&self) -> Option<&Compared> {
        let mut compared = self.candidates.iter().rev();
        compared.find(|compared| Some(compared.index) == self.chosen)
    }

    /// The chosen endpoint's closest rival among those compared.
    #[must_use]
    pub fn runner_up(&self) -> Option<&Compared> {
        self.candidates
            .iter()
            .filter(|compared| Some(compared.index) != self.chosen)
            .min_by(|a, b| a.score.as_f64().total_cmp(&b.score.as_f64()))
    }

    pub(crate) fn begin(&mut self, snapshot: &Snapshot, ctx: &PickContext) {
        self.generation = snapshot.generation();
        self.attempt = ctx.attempts.count();
        self.key = ctx.key;
        self.view = ctx.view;
        self.total = None;
        self.affinity = ctx.affinity.and_then(|serial| snapshot.position(serial));
        self.tier = 0;
        self.cursor = None;
        self.chosen = None;
        self.fallback = None;
        self.nobody = None;
        self.draws.clear();
        self.candidates.clear();
        self.excluded.clear();
    }

    /// Writes down a decision that was made by whoever ended a request first.
    pub(crate) fn bind(&mut self, snapshot: &Snapshot, ctx: &PickContext, index: u32) {
        self.begin(snapshot, ctx);
        let tried = ctx.attempts.iter();
        for index in tried.filter_map(|serial| snapshot.position(serial)) {
            let refusal = Refusal::Tried;
            self.excluded.push(Exclusion { index, refusal });
        }
        self.end(&Ok((index, Some(Fallback::Queue))));
    }

    /// What follows of such a decision from its record: whose slot it was is an input, and has to be one
    /// that the request may have.
    pub(crate) fn bind_again(&mut self, snapshot: &Snapshot, recorded: &Self) {
        let tried = recorded.excluded.iter();
        let tried = tried.filter(|exclusion| exclusion.refusal == Refusal::Tried);
        self.excluded.extend(tried);
        let chosen = recorded.chosen.filter(|index| {
            let was_tried = self.excluded.iter().any(|tried| tried.index == *index);
            !was_tried && snapshot.admits(recorded.view, *index)
        });
        let chosen = chosen.map(|index| (index, Some(Fallback::Queue)));
        self.end(&chosen.ok_or(NoEndpoint::AllFull));
    }

    pub(crate) fn end(&mut self, choice: &Result<(u32, Option<Fallback>), NoEndpoint>) {
        match choice {
            Ok((index, fallback)) => (self.chosen, self.fallback) = (Some(*index), *fallback),
            Err(reason) => self.nobody = Some(*reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_its_fraction() {
        let scores = [Score::LoadOverWeight(512, 256), Score::Cost(600, 2)];
        assert_eq!(scores.map(Score::as_f64), [2.0, 300.0]);
        let hot = Score::Hot(0, 1).as_f64();
        assert!(hot > Score::Cold(30_000_000_000, 1).as_f64(), "worse");
    }
}
