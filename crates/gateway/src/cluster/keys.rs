//! Where keys live, for people: which endpoint is the home of how many, and who takes them now.

use std::sync::Arc;

use super::Cluster;

/// How many keys are looked up. Where shares come of chance they are right to a percent of a half.
const KEYS: u64 = 8_192;

/// Every so many of them is one that is drawn.
const DRAWN: u64 = 8;

/// Where the keys of a cluster live.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyMap {
    /// The strategy that lays them out.
    pub strategy: &'static str,
    /// The endpoints, in the order of their ids.
    pub endpoints: Vec<KeyShare>,
    /// For keys that lie evenly around the circle of all hashes, in order: whose home it is, and who takes them,
    /// as places among the endpoints. Empty where there is no such order.
    pub places: Vec<(u32, u32)>,
}

/// The keys of an endpoint, as shares of one.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyShare {
    /// Which one.
    pub id: Arc<str>,
    /// Its configured weight.
    pub weight: u16,
    /// The keys that live there while everybody is well.
    pub home: f64,
    /// The keys that it takes as things stand, bounds on its load aside.
    pub now: f64,
}

impl Cluster {
    /// Where keys live: in the tier that comes first. None under a strategy that does not choose by key, and
    /// without endpoints. 8,192 times two look-ups of the strategy: below a millisecond under most, but
    /// `rendezvous` looks at every endpoint each time, which with ten thousand of them takes tenths of a second.
    #[must_use]
    pub fn key_map(&self) -> Option<KeyMap> {
        let view = self.published().load();
        let snapshot = &view.snapshot;
        let table = snapshot.groups().first()?.table();
        let strategy = snapshot.strategy().descriptor();
        let mut counts = vec![[0_u32; 2]; snapshot.endpoints().len()];
        let mut places = Vec::new();
        for number in 0..KEYS {
            let key = number * (u64::MAX / KEYS);
            let home = table.home(key)?;
            let taker = table.taker(key).unwrap_or(home);
            counts[home as usize][0] += 1;
            counts[taker as usize][1] += 1;
            if strategy.traits.neighbours && number % DRAWN == 0 {
                places.push((home, taker));
            }
        }
        let share = |count: u32| f64::from(count) / KEYS as f64;
        let endpoints = snapshot.endpoints().iter().zip(counts);
        let endpoints = endpoints.map(|(endpoint, [home, now])| KeyShare {
            id: endpoint.shared_id(),
            weight: endpoint.weight(),
            home: share(home),
            now: share(now),
        });
        Some(KeyMap {
            strategy: strategy.name,
            endpoints: endpoints.collect(),
            places,
        })
    }
}
