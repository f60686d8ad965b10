//! Random numbers as a pure function of a key and a counter.
//!
//! The function is Threefry-2x32 with 20 rounds (Salmon et al., 2011, "Parallel random
//! numbers: as easy as 1, 2, 3"). There is no generator state, so the same key and
//! counter always produce the same two words, on every machine, thread and worker.

use crate::{Error, Result};

const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
const PARITY: u32 = 0x1BD1_1BDA;

/// A random key of two 32-bit words, from which a pure function computes any number of
/// random words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(pub [u32; 2]);

impl Key {
    /// Returns the two random 32-bit words for one counter.
    #[inline]
    pub const fn random_words(self, count: [u32; 2]) -> [u32; 2] {
        threefry(self.0, count)
    }

    /// Fills `out` with random words, in the same order as `threefry_2x32` in JAX.
    ///
    /// Words `i` and `i + half` are computed from the counter `(i, i + half)`, where
    /// `half` is half the length of `out`, rounded up. If the length of `out` is odd,
    /// the second number of the last counter is 0. Counters have 32 bits, so `out` has
    /// at most `u32::MAX` words.
    pub fn fill_words(self, out: &mut [u32]) -> Result<()> {
        if u32::try_from(out.len()).is_err() {
            return Err(Error::argument(format!(
                "out must have at most {} words, got {}",
                u32::MAX,
                out.len()
            )));
        }
        let odd = out.len() % 2;
        let half = out.len() / 2 + odd;
        let (first, second) = out.split_at_mut(half);
        let starts = (0_u32..).zip(u32::try_from(half).unwrap_or(u32::MAX)..);
        for (counts, (a, b)) in starts.clone().zip(first.iter_mut().zip(second)) {
            [*a, *b] = self.random_words(counts.into());
        }
        if let (1, Some(last), Some((count, _))) =
            (odd, first.last_mut(), starts.clone().nth(half - odd))
        {
            *last = self.random_words([count, 0])[0];
        }
        Ok(())
    }

    /// Folds each word into the key and writes the resulting keys into `out`, two words each.
    pub fn fold_words(self, words: &[i64], out: &mut [u32]) -> Result<()> {
        if out.len() != 2 * words.len() {
            return Err(Error::argument(format!(
                "out must have {} words, got {}",
                2 * words.len(),
                out.len()
            )));
        }
        for (word, out) in words.iter().zip(out.chunks_exact_mut(2)) {
            let [a, b, c, d, rest @ ..] = word.to_be_bytes();
            let count = [u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes(rest)];
            out.copy_from_slice(&self.random_words(count));
        }
        Ok(())
    }
}

/// Returns the 64 random bits that Threefry-2x32-20 computes from a key and a counter.
#[inline]
pub const fn threefry(key: [u32; 2], count: [u32; 2]) -> [u32; 2] {
    let keys = [key[0], key[1], key[0] ^ key[1] ^ PARITY];
    let mut x = [
        count[0].wrapping_add(keys[0]),
        count[1].wrapping_add(keys[1]),
    ];
    let mut block = 0;
    while block < 5 {
        x = apply_four_rounds(x, ROTATIONS[block % 2]);
        x[0] = x[0].wrapping_add(keys[(block + 1) % 3]);
        x[1] = x[1]
            .wrapping_add(keys[(block + 2) % 3])
            .wrapping_add(BLOCK_INCREMENTS[block]);
        block += 1;
    }
    x
}

/// The numbers that are added to the state: one number after each block of four rounds.
const BLOCK_INCREMENTS: [u32; 5] = [1, 2, 3, 4, 5];

#[inline]
const fn apply_four_rounds(mut x: [u32; 2], rotations: [u32; 4]) -> [u32; 2] {
    let mut round = 0;
    while round < 4 {
        x[0] = x[0].wrapping_add(x[1]);
        x[1] = x[1].rotate_left(rotations[round]) ^ x[0];
        round += 1;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are from Random123 1.14, file `tests/kat_vectors`, lines
    /// `threefry2x32 20`.
    const RANDOM123_VECTORS: [([u32; 2], [u32; 2], [u32; 2]); 3] = [
        ([0, 0], [0, 0], [0x6b20_0159, 0x99ba_4efe]),
        ([u32::MAX; 2], [u32::MAX; 2], [0x1cb9_96fc, 0xbb00_2be7]),
        (
            [0x1319_8a2e, 0x0370_7344],
            [0x243f_6a88, 0x85a3_08d3],
            [0xc492_3a9c, 0x483d_f7a0],
        ),
    ];

    #[test]
    fn threefry_matches_the_test_vectors_of_random123() {
        for (key, count, answer) in RANDOM123_VECTORS {
            assert_eq!(threefry(key, count), answer);
        }
    }

    #[test]
    fn the_first_word_is_the_uniform_number_that_jax_documents() {
        let mut out = [0];
        Key([0, 0]).fill_words(&mut out).unwrap();
        // jax.random.uniform(jax.random.PRNGKey(0)) with the original threefry: 0.41845703.
        let uniform = f32::from_bits((out[0] >> 9) | 0x3F80_0000) - 1.0;
        assert!((uniform - 0.418_457_03).abs() < 1e-7, "{uniform}");
    }

    #[test]
    fn an_even_number_of_words_pairs_word_i_with_word_i_plus_half() {
        let key = Key([7, 9]);
        let mut out = [0; 6];
        key.fill_words(&mut out).unwrap();
        for i in 0..3_u32 {
            let at = i as usize;
            assert_eq!([out[at], out[at + 3]], key.random_words([i, i + 3]));
        }
    }

    #[test]
    fn an_odd_number_of_words_pads_the_counters_with_a_zero() {
        let key = Key([7, 9]);
        let mut out = [0; 5];
        key.fill_words(&mut out).unwrap();
        assert_eq!(out[2], key.random_words([2, 0])[0]);
        assert_eq!([out[1], out[4]], key.random_words([1, 4]));
    }

    #[test]
    fn folding_many_words_equals_folding_words_one_by_one() {
        let key = Key([7, 9]);
        let mut out = [0; 4];
        key.fold_words(&[3, (5 << 32) | 1], &mut out).unwrap();
        assert_eq!(out[..2], key.random_words([0, 3]));
        assert_eq!(out[2..], key.random_words([5, 1]));
        assert!(key.fold_words(&[3], &mut out).is_err());
    }

    #[test]
    fn filling_zero_words_or_one_word_works() {
        Key([1, 2]).fill_words(&mut []).unwrap();
        let mut out = [0];
        Key([1, 2]).fill_words(&mut out).unwrap();
        assert_eq!(out[0], Key([1, 2]).random_words([0, 0])[0]);
    }
}
