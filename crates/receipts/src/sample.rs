//! Which requests are written down, by the hash of their ids: so that all who see a request write it down, or none
//! does.

use evenkeel_core::hash::{Algorithm, Hasher};

/// A share of all requests, by the hash of their id.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Hashes below are taken.
    below: u64,
    all: bool,
}

impl Sample {
    /// A sample of this share, from 0 to 1.
    #[must_use]
    pub fn new(share: f64) -> Self {
        Self {
            // 2^64; more saturates.
            below: (share * 18_446_744_073_709_551_616.0) as u64,
            all: share >= 1.0,
        }
    }

    /// Whether a request of that id is in it.
    #[must_use]
    pub fn takes(self, request_id: &str) -> bool {
        self.all || Hasher::new(Algorithm::Xxh3, 0).hash(request_id.as_bytes()) < self.below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_ids_is_taken() {
        let taken = |share| {
            let sample = Sample::new(share);
            let ids = (0..10_000).map(|number: u32| number.to_string());
            ids.filter(|id| sample.takes(id)).count()
        };
        assert_eq!((taken(0.0), taken(1.0)), (0, 10_000));
        assert!((2_700..3_300).contains(&taken(0.3)), "{}", taken(0.3));
    }
}
