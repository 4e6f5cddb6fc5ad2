//! The keys that a backend keeps: the least recently used make room, by the clock algorithm.

/// Keys that are kept, and which of them were asked for since the hand last passed.
#[derive(Debug)]
pub(super) struct KeyCache {
    /// The place of each key, from 1; 0: not kept.
    places: Vec<u32>,
    kept: Vec<(u32, bool)>,
    size: usize,
    hand: usize,
}

impl KeyCache {
    /// Room for `size` of the keys below `keys`.
    pub(super) fn new(size: u32, keys: u64) -> Self {
        Self {
            places: vec![0; keys as usize],
            kept: Vec::new(),
            size: size as usize,
            hand: 0,
        }
    }

    /// Whether the key was kept; from now on it is.
    pub(super) fn take(&mut self, key: u64) -> bool {
        let Some(place) = self.places.get_mut(key as usize) else {
            return false;
        };
        if *place > 0 {
            self.kept[*place as usize - 1].1 = true;
            return true;
        }
        if self.kept.len() < self.size {
            self.kept.push((key as u32, false));
            *place = self.kept.len() as u32;
            return false;
        }
        while self.kept[self.hand].1 {
            self.kept[self.hand].1 = false;
            self.hand = (self.hand + 1) % self.size;
        }
        let old = std::mem::replace(&mut self.kept[self.hand], (key as u32, false));
        self.places[old.0 as usize] = 0;
        self.places[key as usize] = self.hand as u32 + 1;
        self.hand = (self.hand + 1) % self.size;
        false
    }

    /// Whether the key is kept; nothing changes.
    pub(super) fn keeps(&self, key: u64) -> bool {
        self.places
            .get(key as usize)
            .is_some_and(|place| *place > 0)
    }

    /// Forgets everything: the process began anew.
    pub(super) fn clear(&mut self) {
        self.places.fill(0);
        self.kept.clear();
        self.hand = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::KeyCache;

    #[test]
    fn what_is_asked_for_stays() {
        let mut cache = KeyCache::new(2, 10);
        assert!(!cache.take(1) && !cache.keeps(2) && !cache.take(2));
        assert!(cache.keeps(2) && !cache.keeps(10));
        assert!(cache.take(1));
        assert!(!cache.take(3));
        assert!(cache.take(1), "asked for again, so it stayed");
        assert!(!cache.take(2), "made room");
        cache.clear();
        assert!(!cache.take(1));
    }
}
