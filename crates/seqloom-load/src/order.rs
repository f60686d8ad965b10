//! A permutation of `0..n` without a table.
//!
//! A Feistel network permutes the numbers below the smallest power of two that is at
//! least `n`. A result of `n` or more is permuted again until it is below `n` ("cycle
//! walking"), which gives a permutation of `0..n`. Each element is computed
//! independently, so a loader can resume at any index without computing the elements
//! before.

use seqloom_core::{Error, Key, Result};

/// Number of rounds of the Feistel network. The number is even, so both halves have their
/// initial bit widths at the end.
const FEISTEL_ROUNDS: usize = 12;

/// A pseudo-random permutation of `0..n`, chosen by a key.
#[derive(Clone, Debug)]
pub struct Permutation {
    n: u64,
    high_bits: u32,
    low_bits: u32,
    round_keys: [u64; FEISTEL_ROUNDS],
}

impl Permutation {
    /// Creates the permutation of `0..n` for `key`.
    pub fn new(n: u64, key: Key) -> Self {
        let bits = (u64::BITS - n.saturating_sub(1).leading_zeros()).max(2);
        Self {
            n,
            high_bits: bits / 2,
            low_bits: bits - bits / 2,
            round_keys: round_keys(key),
        }
    }

    /// Returns the number at `index`, or `None` if the index is out of range.
    pub fn find(&self, index: u64) -> Option<u64> {
        if index >= self.n {
            return None;
        }
        let mut number = self.feistel(index);
        while number >= self.n {
            number = self.feistel(number);
        }
        Some(number)
    }

    /// Returns the number at `index`. An index out of range returns an error.
    pub fn get(&self, index: u64) -> Result<u64> {
        self.find(index).ok_or_else(|| Error::OutOfRange {
            message: format!("index {index} is out of range for {} records", self.n),
        })
    }

    /// Fills `out`, which must have length `n`, with the whole permutation.
    pub fn fill(&self, out: &mut [i64]) -> Result<()> {
        if u64::try_from(out.len()) != Ok(self.n) {
            return Err(Error::argument(format!(
                "out must have {} numbers, got {}",
                self.n,
                out.len()
            )));
        }
        for (index, number) in (0..).zip(out) {
            *number = i64::try_from(self.get(index)?).unwrap_or(i64::MAX);
        }
        Ok(())
    }

    /// Fills `out` with the numbers at the given indices. The lengths of `indices` and
    /// `out` must be equal.
    pub fn write_at(&self, indices: &[i64], out: &mut [i64]) -> Result<()> {
        if indices.len() != out.len() {
            return Err(Error::argument(format!(
                "out must have {} numbers, got {}",
                indices.len(),
                out.len()
            )));
        }
        for (index, number) in indices.iter().zip(out) {
            let picked = self.get(u64::try_from(*index).unwrap_or(u64::MAX))?;
            *number = i64::try_from(picked).unwrap_or(i64::MAX);
        }
        Ok(())
    }

    /// Applies the rounds of the Feistel network to a number once.
    fn feistel(&self, number: u64) -> u64 {
        let (mut high_bits, mut low_bits) = (self.high_bits, self.low_bits);
        let (mut high, mut low) = (number >> low_bits, number & mask(low_bits));
        for key in self.round_keys {
            (high, low) = (low, high ^ (mix(low.wrapping_add(key)) & mask(high_bits)));
            (high_bits, low_bits) = (low_bits, high_bits);
        }
        (high << low_bits) | low
    }
}

/// Derives a 64-bit number for each round from the key.
fn round_keys(key: Key) -> [u64; FEISTEL_ROUNDS] {
    let mut count = 0;
    [(); FEISTEL_ROUNDS].map(|()| {
        let [high, low] = key.random_words([count, 0]);
        count += 1;
        (u64::from(high) << 32) | u64::from(low)
    })
}

const fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// The finaliser of the `SplitMix64` generator: every input bit affects every output bit.
const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn permute_range(n: u64, key: [u32; 2]) -> Vec<u64> {
        let order = Permutation::new(n, Key(key));
        (0..n).filter_map(|index| order.find(index)).collect()
    }

    fn is_permutation(mut numbers: Vec<u64>, n: u64) -> bool {
        numbers.sort_unstable();
        numbers.into_iter().eq(0..n)
    }

    #[test]
    fn every_small_size_gives_a_permutation() {
        for n in 0..600 {
            assert!(is_permutation(permute_range(n, [1, 2]), n), "{n}");
        }
    }

    #[test]
    fn an_index_past_the_end_returns_none() {
        assert_eq!(Permutation::new(5, Key([0, 0])).find(5), None);
        assert_eq!(Permutation::new(0, Key([0, 0])).find(0), None);
    }

    #[test]
    fn picked_numbers_equal_those_of_the_whole_permutation() {
        let order = Permutation::new(50, Key([7, 8]));
        let (mut whole, mut part) = ([0; 50], [0; 3]);
        order.fill(&mut whole).unwrap();
        order.write_at(&[49, 0, 7], &mut part).unwrap();
        assert_eq!(part, [whole[49], whole[0], whole[7]]);
        assert!(order.write_at(&[50, 0, 7], &mut part).is_err());
        assert!(order.write_at(&[-1, 0, 7], &mut part).is_err());
        assert!(order.write_at(&[1], &mut part).is_err());
    }

    #[test]
    fn numbers_of_large_permutations_are_below_n() {
        for n in [1 << 32, (1 << 32) + 1, i64::MAX.unsigned_abs()] {
            let order = Permutation::new(n, Key([3, 4]));
            assert!(
                [0, 1, n / 2, n - 1]
                    .map(|i| order.find(i))
                    .iter()
                    .all(|x| x.is_some_and(|x| x < n))
            );
        }
    }

    #[test]
    fn each_number_is_equally_often_the_first_of_a_permutation() {
        let mut seen = [0_i32; 10];
        for key in 0..10_000 {
            let first = Permutation::new(10, Key([key, 0])).find(0).unwrap();
            seen[usize::try_from(first).unwrap()] += 1;
        }
        // The limit is six standard deviations of a count with mean 1,000.
        assert!(
            seen.iter().all(|count| (count - 1_000).abs() < 180),
            "{seen:?}"
        );
    }

    #[test]
    fn all_permutations_of_four_are_equally_frequent() {
        let mut seen = std::collections::HashMap::new();
        for key in 0..24_000 {
            *seen.entry(permute_range(4, [key, 5])).or_insert(0_i32) += 1;
        }
        assert_eq!(seen.len(), 24);
        assert!(
            seen.values().all(|count| (count - 1_000).abs() < 180),
            "{seen:?}"
        );
    }

    proptest! {
        #[test]
        fn every_size_and_key_gives_a_permutation(n in 0_u64..5_000, a: u32, b: u32) {
            prop_assert!(is_permutation(permute_range(n, [a, b]), n));
        }

        #[test]
        fn different_keys_give_different_permutations(a: u32, b: u32) {
            prop_assert_ne!(permute_range(200, [a, b]), permute_range(200, [a, b ^ 1]));
        }
    }
}
