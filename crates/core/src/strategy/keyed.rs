//! What the hashing strategies share: a key has a home, and others take it over in a fixed order.
//!
//! Where keys live is laid out from membership alone. Whether their home takes them now is asked at
//! the pick: it may be unhealthy, tried, at its bound, or still warming up.

use std::fmt::Debug;
use std::sync::Arc;

use super::bounded::{Bound, TRIES};
use super::roster::{Layout, Memo, Roster};
use super::{Cursor, Inputs, Members, Place, Table};
use crate::hash::{Hasher, table_checksum, table_version};
use crate::membership::FULL_WEIGHT;
use crate::rng::{mix, scale};

/// Where keys live among the endpoints of a roster. Places are places in the roster.
pub(super) trait Homes: Debug + Send + Sync {
    /// Names how it is laid out; changes when that does.
    const RULE: &'static str;

    /// The home of a key, as if everyone were there.
    fn home(&self, key: u64) -> usize;

    /// The first place that `admits` it, in the order in which they take the key over.
    fn find(&self, key: u64, admits: impl FnMut(usize) -> bool) -> Option<usize>;

    /// How large it is, for its version.
    fn size(&self) -> u64;

    /// All that it consists of, for its checksum.
    fn entries(&self) -> impl Iterator<Item = u64>;
}

/// The homes of a roster, shared by all generations with that roster.
#[derive(Debug)]
pub(super) struct HomesOf<H> {
    roster: Roster,
    /// The hashes of the ids.
    identities: Box<[u64]>,
    homes: H,
    checksum: u64,
}

impl<H> Layout for HomesOf<H> {
    fn roster(&self) -> &Roster {
        &self.roster
    }
}

impl<H: Homes> HomesOf<H> {
    fn new(roster: Roster, hasher: Hasher, build: impl FnOnce(&Roster) -> H) -> Self {
        let homes = build(&roster);
        let version = table_version(H::RULE, hasher, homes.size());
        let ids = roster.ids.iter().map(AsRef::as_ref);
        let checksum = table_checksum(&version, ids, homes.entries());
        let identity = |id: &Arc<str>| hasher.hash(id.as_bytes());
        Self {
            identities: roster.ids.iter().map(identity).collect(),
            roster,
            homes,
            checksum,
        }
    }
}

/// Chooses by key among the endpoints of a group.
#[derive(Debug)]
pub(super) struct KeyedTable<H> {
    layout: Arc<HomesOf<H>>,
    /// In the order of the roster.
    doors: Box<[Door]>,
    bound: Option<Bound>,
    /// Those that may be chosen at all.
    open: usize,
}

/// Whom an endpoint of the roster lets in.
#[derive(Clone, Copy, Debug)]
struct Door {
    /// The place in the snapshot.
    index: u32,
    /// Of 256 keys that live here, how many are let in: all, or none when the endpoint may not be
    /// chosen, or a part while it warms up.
    admits: u16,
}

impl<H: Homes + 'static> KeyedTable<H> {
    /// Boxes a table for `members`, with the layout of an earlier generation if the roster is the same.
    pub(super) fn boxed(
        members: &Members<'_>,
        memo: &Memo<HomesOf<H>>,
        hasher: Hasher,
        build: impl FnOnce(&Roster) -> H,
    ) -> Box<dyn Table> {
        let layout = memo.get(Roster::of(members), |roster| {
            HomesOf::new(roster, hasher, build)
        });
        let doors = doors(members);
        Box::new(Self {
            layout,
            open: members.eligible().len(),
            bound: members
                .bounded_load()
                .map(|load| Bound::new(load, members, doors.iter().map(|door| door.admits > 0))),
            doors,
        })
    }
}

/// How far open the door of each endpoint in service is.
///
/// The warmest lets everyone in: if all warm up alike, nobody is spared by moving keys about.
fn doors(members: &Members<'_>) -> Box<[Door]> {
    let eligible = members.eligible();
    let warmest = eligible.iter().map(|index| members.factor(*index)).max();
    let warmest = u32::from(warmest.unwrap_or(FULL_WEIGHT)).clamp(1, u32::from(FULL_WEIGHT));
    let door = |index: &u32| {
        let factor = u32::from(members.factor(*index)).max(1);
        let admits = (factor * u32::from(FULL_WEIGHT)).div_ceil(warmest);
        Door {
            index: *index,
            admits: match eligible.binary_search(index) {
                Ok(_) => admits.min(u32::from(FULL_WEIGHT)) as u16,
                Err(_) => 0,
            },
        }
    };
    members.in_service().iter().map(door).collect()
}

impl<H: Homes> Table for KeyedTable<H> {
    fn cursor(&self, _place: Place) -> Cursor {
        Cursor::None
    }

    #[inline]
    fn choose(&self, _cursor: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
        let key = inputs.key_or_draw()?;
        if let Some(bound) = &self.bound {
            return self.choose_bounded(bound, key, inputs);
        }
        let place = self.place(key, |index| inputs.is_refused(index))?;
        Some(self.doors[place].index)
    }

    fn home(&self, key: u64) -> Option<u32> {
        Some(self.doors[self.layout.homes.home(key)].index)
    }

    fn taker(&self, key: u64) -> Option<u32> {
        let place = self.place(key, |_| false)?;
        Some(self.doors[place].index)
    }

    fn checksum(&self) -> Option<u64> {
        Some(self.layout.checksum)
    }
}

impl<H: Homes> KeyedTable<H> {
    /// The place that takes a key.
    #[inline]
    fn place(&self, key: u64, refuses: impl Fn(u32) -> bool) -> Option<usize> {
        let home = self.layout.homes.home(key);
        let door = self.doors[home];
        if door.admits == FULL_WEIGHT && !refuses(door.index) {
            return Some(home);
        }
        self.place_elsewhere(key, refuses)
    }

    #[cold]
    fn place_elsewhere(&self, key: u64, refuses: impl Fn(u32) -> bool) -> Option<usize> {
        let mut ajar = None;
        let admitted = self.layout.homes.find(key, |place| {
            let door = self.doors[place];
            if door.admits == 0 || refuses(door.index) {
                return false;
            }
            let admitted = door.admits == FULL_WEIGHT || self.is_let_in(key, place);
            if !admitted {
                ajar.get_or_insert(place);
            }
            admitted
        });
        // Better an endpoint that warms up than none.
        admitted.or(ajar)
    }

    /// Whether an endpoint that warms up takes this key of its own already: it gains its keys in a
    /// fixed order, so each of them moves once.
    fn is_let_in(&self, key: u64, place: usize) -> bool {
        let rank = mix(key, self.layout.identities[place]) >> 56;
        rank < u64::from(self.doors[place].admits)
    }

    /// The first of the key's candidates with fewer requests in flight than its bound; else the
    /// lightest of those seen.
    fn choose_bounded(&self, bound: &Bound, key: u64, inputs: &mut Inputs<'_>) -> Option<u32> {
        let total = inputs.total_in_flight();
        let mut seen = [usize::MAX; TRIES];
        let mut count = 0;
        let mut lightest = None;
        for attempt in 0..TRIES as u64 {
            let place = self.place(nth_key(key, attempt), |index| inputs.is_refused(index))?;
            if seen[..count].contains(&place) {
                continue;
            }
            seen[count] = place;
            count += 1;
            let index = self.doors[place].index;
            let load = inputs.load(index);
            if load.in_flight < bound.cap(place, total) {
                return Some(index);
            }
            let weight = inputs.weight(index);
            let wins = lightest
                .is_none_or(|(_, other, its_weight)| load.is_lighter(weight, other, its_weight));
            if wins {
                lightest = Some((index, load, weight));
            }
            if count == self.open {
                break;
            }
        }
        lightest.map(|(index, ..)| index)
    }
}

/// Another key that follows from this one; the key itself for 0.
#[inline]
pub(super) fn nth_key(key: u64, n: u64) -> u64 {
    if n == 0 { key } else { mix(key, n) }
}

/// Asks every place, from one on that follows from the key.
pub(super) fn scan(count: usize, key: u64, mut admits: impl FnMut(usize) -> bool) -> Option<usize> {
    const SALT: u64 = 0x7363_616E;
    let start = scale(mix(key, SALT), count as u64).0 as usize;
    (start..count).chain(0..start).find(|place| admits(*place))
}
