//! Hashes whose output is part of the interface: of keys, and of the endpoints that they go to.
//!
//! Two processes send a key to the same endpoint only if they compute the same bits, so nothing here
//! may follow a platform, a toolchain or a release. XXH3 has been frozen since xxHash 0.8.0 and XXH64
//! never changed; both are held to reference vectors. XXH64 is what Envoy and gRPC use.

use xxhash_rust::xxh3::xxh3_64_with_seed;
use xxhash_rust::xxh64::xxh64;

/// Which function hashes.
///
/// # Examples
///
/// ```
/// use evenkeel_core::hash::Algorithm;
///
/// assert_eq!(Algorithm::named("xxh64"), Some(Algorithm::Xxh64));
/// assert_eq!(Algorithm::default().as_str(), "xxh3");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// The 64-bit form of XXH3.
    #[default]
    Xxh3,
    /// XXH64, as other proxies have it.
    Xxh64,
}

impl Algorithm {
    /// The names in configuration.
    pub const NAMES: &'static [&'static str] = &["xxh3", "xxh64"];

    /// The name in configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Xxh3 => "xxh3",
            Self::Xxh64 => "xxh64",
        }
    }

    /// The function of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "xxh3" => Some(Self::Xxh3),
            "xxh64" => Some(Self::Xxh64),
            _ => None,
        }
    }
}

/// Hashes bytes with a seed.
///
/// A public function lets a client choose keys that all meet one endpoint. A seed that the fleet
/// shares and keeps to itself takes that from it.
///
/// # Examples
///
/// ```
/// use evenkeel_core::hash::{Algorithm, Hasher};
///
/// let hasher = Hasher::new(Algorithm::Xxh64, 0);
/// assert_eq!(hasher.hash(b"abc"), 0x44BC_2CF5_AD77_0999);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hasher {
    algorithm: Algorithm,
    seed: u64,
}

impl Hasher {
    /// A hasher of that function and seed.
    #[must_use]
    pub const fn new(algorithm: Algorithm, seed: u64) -> Self {
        Self { algorithm, seed }
    }

    /// The function.
    #[must_use]
    pub const fn algorithm(self) -> Algorithm {
        self.algorithm
    }

    /// The seed.
    #[must_use]
    pub const fn seed(self) -> u64 {
        self.seed
    }

    /// The same function with another seed that follows from this one.
    #[must_use]
    pub const fn nth(self, n: u64) -> Self {
        Self {
            seed: self.seed.wrapping_add(n),
            ..self
        }
    }

    /// The hash of `bytes`. O(bytes), some nanoseconds for a key of usual length.
    #[inline]
    #[must_use]
    pub fn hash(self, bytes: &[u8]) -> u64 {
        match self.algorithm {
            Algorithm::Xxh3 => xxh3_64_with_seed(bytes, self.seed),
            Algorithm::Xxh64 => xxh64(bytes, self.seed),
        }
    }

    /// The hash of a key in several parts, in order; the same as [`Hasher::hash`] for one part.
    ///
    /// As gRPC combines them: the hash so far, rotated left by one, xor the next.
    #[must_use]
    pub fn combine<'a>(self, parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
        parts
            .into_iter()
            .fold(0, |hash: u64, part| hash.rotate_left(1) ^ self.hash(part))
    }
}

/// Names all that decides where keys go, beside the list of endpoints: two processes agree on every
/// key if and only if their versions and lists do. A seed, which may be secret, shows as a digest.
///
/// `rule` names how the table is laid out, and changes when that does.
pub(crate) fn table_version(rule: &str, hasher: Hasher, size: u64) -> String {
    let algorithm = hasher.algorithm().as_str();
    let digest = xxh3_64_with_seed(b"seed", hasher.seed()) as u16;
    format!("{rule}/{algorithm}-{digest:04x}/{size}")
}

/// How many bytes of a table are hashed at once.
const PORTION: usize = 4_096;

/// A 64-bit checksum of a table: of its version and all of its entries.
pub(crate) fn table_checksum<'a>(
    version: &str,
    endpoints: impl IntoIterator<Item = &'a str>,
    entries: impl IntoIterator<Item = u64>,
) -> u64 {
    let mut state = xxhash_rust::xxh3::Xxh3::new();
    state.update(version.as_bytes());
    for id in endpoints {
        // Lengths keep "a", "bc" apart from "ab", "c".
        state.update(&(id.len() as u64).to_le_bytes());
        state.update(id.as_bytes());
    }
    // In portions: a table has a million entries, and each update costs more than its bytes.
    let mut portion = Vec::with_capacity(PORTION);
    for entry in entries {
        portion.extend_from_slice(&entry.to_le_bytes());
        if portion.len() == PORTION {
            state.update(&portion);
            portion.clear();
        }
    }
    state.update(&portion);
    state.digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn hasher(algorithm: Algorithm) -> Hasher {
        Hasher::new(algorithm, 0)
    }

    /// Published vectors of both functions.
    #[test]
    fn reference_vectors() {
        let xxh3 = hasher(Algorithm::Xxh3);
        assert_eq!(xxh3.hash(b""), 0x2D06_8005_38D3_94C2);
        assert_eq!(xxh3.hash(b"a"), 0xE6C6_32B6_1E96_4E1F);
        assert_eq!(xxh3.hash(b"abc"), 0x78AF_5F94_892F_3950);
        let xxh64 = hasher(Algorithm::Xxh64);
        assert_eq!(xxh64.hash(b""), 0xEF46_DB37_51D8_E999);
        assert_eq!(xxh64.hash(b"a"), 0xD24E_C4F1_A98C_6E5B);
        assert_eq!(xxh64.hash(b"abc"), 0x44BC_2CF5_AD77_0999);
    }

    #[test]
    fn a_seed_changes_everything() {
        for algorithm in [Algorithm::Xxh3, Algorithm::Xxh64] {
            let (plain, seeded) = (hasher(algorithm), Hasher::new(algorithm, 1));
            assert_ne!(plain.hash(b"user-1"), seeded.hash(b"user-1"));
            assert_eq!(plain.nth(1), seeded);
            assert_eq!(Algorithm::named(algorithm.as_str()), Some(algorithm));
        }
        assert_eq!(Algorithm::named("md5"), None);
    }

    #[test]
    fn parts_combine_in_order() {
        let hasher = hasher(Algorithm::Xxh3);
        let (a, b) = (hasher.hash(b"a"), hasher.hash(b"b"));
        assert_eq!(hasher.combine([&b"a"[..]]), a);
        assert_eq!(hasher.combine([&b"a"[..], b"b"]), a.rotate_left(1) ^ b);
        assert_ne!(
            hasher.combine([&b"a"[..], b"b"]),
            hasher.combine([&b"b"[..], b"a"])
        );
    }

    #[test]
    fn a_version_tells_tables_apart_and_keeps_the_seed() {
        let version = |seed| table_version("maglev-1", Hasher::new(Algorithm::Xxh3, seed), 65_537);
        assert!(version(0).starts_with("maglev-1/xxh3-"));
        assert!(version(0).ends_with("/65537"));
        assert_ne!(version(0), version(0xDEAD_BEEF));
        assert!(!version(0xDEAD_BEEF).contains("beef"));
    }

    #[test]
    fn a_checksum_sees_every_entry_and_every_boundary() {
        let sum = |ids: &[&'static str], entries: &[u64]| {
            table_checksum("v", ids.iter().copied(), entries.iter().copied())
        };
        assert_eq!(sum(&["a", "bc"], &[1, 2]), sum(&["a", "bc"], &[1, 2]));
        assert_ne!(sum(&["a", "bc"], &[1, 2]), sum(&["ab", "c"], &[1, 2]));
        assert_ne!(sum(&["a", "bc"], &[1, 2]), sum(&["a", "bc"], &[2, 1]));
    }
}
