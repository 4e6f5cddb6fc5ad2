//! The endpoints that a cluster has from elsewhere than its configuration: what their source said last,
//! what is held of it, and how it does.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use evenkeel_config::Discovery;
use evenkeel_core::{Ascending, Endpoint, Nanos};
use evenkeel_discovery::{Fault, Guard, Listing, Loss, SourceError, Verdict, gone};

use super::record::Cluster;

/// How many entries that were skipped are told of, at most.
const FAULTS_MAX: usize = 20;

/// After how long the same mistake is worth another line.
const SAY_AGAIN: Nanos = Nanos::from_secs(60);

/// What a cluster knows of its source.
#[derive(Debug)]
pub(super) struct Discovered {
    pub(super) from: Discovery,
    guard: Guard,
    /// Where the host names of the held list lead.
    held_names: BTreeMap<Arc<str>, SocketAddr>,
    /// When the source last said what is in force; before that, since when it is asked.
    confirmed: Nanos,
    /// The present list is one from disk, that no source has confirmed.
    is_stored: bool,
    /// The good list is on disk, or nobody has tried to bring it there since it became good.
    is_kept: bool,
    trouble: Option<Trouble>,
    /// What was last told of it: one that comes and goes is told of once a minute.
    told: Option<Told>,
    faults: Vec<Fault>,
    /// How often the whole list was another one than its changes had led to.
    disagreements: u64,
}

#[derive(Debug)]
struct Trouble {
    error: SourceError,
    is_told: bool,
}

#[derive(Debug)]
struct Told {
    error: SourceError,
    at: Nanos,
}

/// How a cluster's source does.
#[derive(Clone, Debug)]
pub struct DiscoveryReport {
    /// Its kind, as in the configuration.
    pub kind: &'static str,
    /// What it is and where.
    pub source: String,
    /// How many endpoints come from it.
    pub endpoints: usize,
    /// How long ago it last said what is in force, or since when it is asked.
    pub age: Nanos,
    /// Whether the list in force is one from disk, that it has not confirmed.
    pub is_stored: bool,
    /// Why it gives no list at the moment.
    pub error: Option<String>,
    /// How much a list loses that is held, and how many endpoints that has.
    pub held: Option<(Loss, usize)>,
    /// Entries that were skipped, at most 20 of them.
    pub faults: Vec<String>,
    /// How often the whole list, when it was read, was another one than the changes had led to that the source told of.
    pub disagreements: u64,
}

/// What a list of a source came to.
#[derive(Debug)]
pub(crate) enum Offered {
    /// It is in force; who came and who went.
    Taken {
        came: Vec<Arc<str>>,
        went: Vec<Arc<str>>,
        /// Anything differs at all.
        is_new: bool,
        /// The source was in trouble before.
        is_back: bool,
    },
    /// It loses too much, and is taken if it is said again so much later.
    Held {
        loss: Loss,
        is_new: bool,
        after: Nanos,
    },
    /// The cluster asks another source by now.
    Stale,
}

impl Discovered {
    pub(super) fn new(from: Discovery, now: Nanos) -> Self {
        Self {
            guard: Guard::new(from.max_drop, from.refresh),
            from,
            held_names: BTreeMap::new(),
            confirmed: now,
            is_stored: false,
            is_kept: true,
            trouble: None,
            told: None,
            faults: Vec::new(),
            disagreements: 0,
        }
    }

    /// What is known under another configuration: everything, as long as the source is the same.
    pub(super) fn follow(
        known: Option<Self>,
        wanted: Option<&Discovery>,
        now: Nanos,
    ) -> Option<Self> {
        let wanted = wanted?;
        match known {
            Some(mut known) if known.from.source == wanted.source => {
                known.guard.set_limits(wanted.max_drop, wanted.refresh);
                known.from.clone_from(wanted);
                Some(known)
            }
            _ => Some(Self::new(wanted.clone(), now)),
        }
    }

    fn report(&self, now: Nanos) -> DiscoveryReport {
        DiscoveryReport {
            kind: self.from.source.kind(),
            source: self.from.source.to_string(),
            endpoints: self.guard.good().len(),
            age: Nanos(now.since(self.confirmed).0),
            is_stored: self.is_stored,
            error: self
                .trouble
                .as_ref()
                .map(|trouble| trouble.error.to_string()),
            held: self.guard.held(),
            faults: self.faults.iter().map(Fault::to_string).collect(),
            disagreements: self.disagreements,
        }
    }
}

impl Cluster {
    /// How its source does; none when all its endpoints are configured.
    #[must_use]
    pub fn discovery(&self) -> Option<DiscoveryReport> {
        let discovered = self.discovered();
        Some(discovered.as_ref()?.report(self.site.clock.now()))
    }

    /// Where its endpoints come from beside the configuration.
    pub(crate) fn discovers(&self) -> Option<Discovery> {
        Some(self.discovered().as_ref()?.from.clone())
    }

    /// The list in force from that source.
    pub(crate) fn good_list(&self) -> Vec<Endpoint> {
        let discovered = self.discovered();
        let good = discovered
            .as_ref()
            .map(|discovered| discovered.guard.good());
        good.unwrap_or_default().to_vec()
    }

    /// The good list, once, if it has yet to be kept.
    pub(crate) fn list_to_keep(&self) -> Option<Vec<Endpoint>> {
        let mut discovered = self.discovered();
        let discovered = discovered.as_mut()?;
        let was_kept = std::mem::replace(&mut discovered.is_kept, true);
        (!was_kept).then(|| discovered.guard.good().to_vec())
    }

    /// Whether the good list has yet to be kept.
    pub(crate) fn has_list_to_keep(&self) -> bool {
        let discovered = self.discovered();
        discovered.as_ref().is_some_and(|known| !known.is_kept)
    }

    /// Serves a list from disk until the source is heard.
    pub(crate) fn serve_stored(&self, list: Vec<Endpoint>) {
        if let Some(discovered) = &mut *self.discovered() {
            discovered.guard.set_good(list.clone());
            discovered.is_stored = true;
            self.relist(list, &BTreeMap::new());
        }
    }

    /// Takes in what a source says, and says what came of it, with the entries that were skipped if they
    /// are others than before. `names` says where host names that are new lead.
    pub(crate) fn offer(
        &self,
        from: &Discovery,
        mut listing: Listing,
        names: BTreeMap<Arc<str>, SocketAddr>,
        now: Nanos,
    ) -> (Offered, Vec<Fault>) {
        let mut discovered = self.discovered();
        let Some(discovered) = discovered.as_mut().filter(|known| known.from == *from) else {
            return (Offered::Stale, Vec::new());
        };
        discovered.guard.keep_last_good(&mut listing);
        let faults = self.faults(&listing);
        let new_faults = match discovered.faults == faults {
            true => Vec::new(),
            false => faults.clone(),
        };
        discovered.faults = faults;
        let trouble = discovered.trouble.take();
        let is_back = trouble.is_some_and(|trouble| trouble.is_told);
        let offered = match discovered.guard.offer(listing.endpoints, now) {
            Verdict::Held {
                loss,
                is_new,
                after,
            } => {
                discovered.held_names = names;
                Offered::Held {
                    loss,
                    is_new,
                    after,
                }
            }
            Verdict::Taken => {
                discovered.confirmed = now;
                discovered.is_stored = false;
                self.taken(discovered, &names, is_back)
            }
        };
        (offered, new_faults)
    }

    /// Notes that the whole list was another one than its changes had led to.
    pub(crate) fn note_disagreement(&self) {
        if let Some(discovered) = &mut *self.discovered() {
            discovered.disagreements += 1;
        }
    }

    /// Puts the list in force that is held; none when none is.
    pub(crate) fn accept(&self) -> Option<Offered> {
        let mut discovered = self.discovered();
        let discovered = discovered.as_mut()?;
        if !discovered.guard.accept() {
            return None;
        }
        discovered.confirmed = self.site.clock.now();
        discovered.is_stored = false;
        let names = std::mem::take(&mut discovered.held_names);
        Some(self.taken(discovered, &names, false))
    }

    /// Notes that its source gives no list, and says whether that is worth a line: whether it is new, or was
    /// last told a minute ago.
    pub(crate) fn lost(&self, from: &Discovery, error: &SourceError, now: Nanos) -> Lost {
        let mut discovered = self.discovered();
        let Some(discovered) = discovered.as_mut().filter(|known| known.from == *from) else {
            return Lost::Known;
        };
        let told = discovered.told.as_ref();
        let is_fresh = told.is_some_and(|told| told.error == *error && now < told.at + SAY_AGAIN);
        let before = discovered.trouble.as_ref();
        let (is_same, was_told) = before.map_or((false, false), |trouble| {
            (trouble.error == *error, trouble.is_told)
        });
        if !is_fresh {
            let error = error.clone();
            discovered.told = Some(Told { error, at: now });
        }
        discovered.trouble = Some(Trouble {
            error: error.clone(),
            is_told: was_told || !is_fresh,
        });
        match (is_fresh, is_same) {
            (true, _) => Lost::Known,
            (false, true) => Lost::Still,
            (false, false) => Lost::New,
        }
    }

    fn taken(
        &self,
        discovered: &mut Discovered,
        names: &BTreeMap<Arc<str>, SocketAddr>,
        is_back: bool,
    ) -> Offered {
        let good = discovered.guard.good();
        // Of another source perhaps, of which nothing else is known any more.
        let before = self.listed();
        let is_new = before != good;
        let (came, went) = (gone(good, &before), gone(&before, good));
        if is_new {
            discovered.is_kept = false;
            self.relist(good.to_vec(), names);
        }
        Offered::Taken {
            came,
            went,
            is_new,
            is_back,
        }
    }

    /// Those of a list that are others than in the list that is in force, or new.
    pub(crate) fn unlike_listed<'l>(&self, list: &'l [Endpoint]) -> Vec<&'l Endpoint> {
        let state = self.state();
        let known = state.discovered.iter();
        let mut known = Ascending::new(known.map(|known| (known.id(), known)));
        let unlike = list.iter();
        let unlike = unlike.filter(|one| known.take(one.id()) != Some(one));
        unlike.collect()
    }

    /// The entries that were skipped, and those that are configured under their id already.
    fn faults(&self, listing: &Listing) -> Vec<Fault> {
        let configured = self.configured_ids();
        let twice = listing.endpoints.iter();
        let twice = twice.filter(|endpoint| configured.contains(endpoint.id()));
        let why = "the configuration has an endpoint of this id, which counts";
        let twice = twice.map(|endpoint| Fault::new(endpoint.id(), why));
        let skipped = listing.faults.iter().cloned();
        skipped.chain(twice).take(FAULTS_MAX).collect()
    }
}

/// Whether it is worth a line that a source gives no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It did before, or for another reason.
    New,
    /// It has not for another minute.
    Still,
    /// It was said.
    Known,
}
