//! SipHash-1-3 by Aumasson and Bernstein (2012): a keyed hash of 64 bits.
//!
//! Tags in cookies must stay the same in every release, and the standard library promises that of
//! none of its hashers.

/// Hashes `data` under a key.
pub(super) fn hash(key: (u64, u64), data: &[u8]) -> u64 {
    sip::<1, 3>(key, data)
}

/// SipHash with `C` rounds for each word and `D` at the end.
fn sip<const C: usize, const D: usize>((k0, k1): (u64, u64), data: &[u8]) -> u64 {
    let mut state = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let (words, rest) = data.as_chunks::<8>();
    let mut take = |word: u64| {
        state[3] ^= word;
        for _ in 0..C {
            round(&mut state);
        }
        state[0] ^= word;
    };
    for word in words {
        take(u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[7] = data.len() as u8;
    take(u64::from_le_bytes(last));
    state[2] ^= 0xff;
    for _ in 0..D {
        round(&mut state);
    }
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The authors' test vectors are of 2-4 rounds: key 00 to 0f, message 00, 01, ...
    #[test]
    fn siphash_2_4_reference() {
        let key = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        let message: Vec<u8> = (0..15).collect();
        assert_eq!(sip::<2, 4>(key, &message), 0xa129_ca61_49be_45e5);
        assert_eq!(sip::<2, 4>(key, &message[..8]), 0x93f5_f579_9a93_2462);
        assert_eq!(sip::<2, 4>(key, &[]), 0x726f_db47_dd0e_0e31);
    }

    /// Those of 1-3 rounds as the standard library's own tests have them.
    #[test]
    fn siphash_1_3_reference() {
        let key = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        let first = [0xdc, 0xc4, 0x0f, 0x05, 0x58, 0x01, 0xac, 0xab];
        assert_eq!(hash(key, &[]), u64::from_le_bytes(first));
    }
}
