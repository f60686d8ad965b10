//! Dropout with a random mask that depends on a key and a position only.

use seqloom_core::key::Key;

use seqloom_macros::{compiled_once, vectorized};

use crate::machine::dispatch;
use crate::random::{self, words};
use crate::{Float, Instances, parallel, tuned};

/// The dropout settings: dropped values become 0, and the remaining values are scaled
/// up.
#[derive(Clone, Copy, Debug)]
pub struct Dropout<T> {
    key: Key,
    bound: u32,
    /// The factor by which the remaining values are multiplied.
    pub(crate) factor: T,
}

impl<T: Float> Dropout<T> {
    /// Creates a dropout rule that keeps a position with probability `1 - rate`. The
    /// same key always keeps the same positions, so the gradient can be computed by
    /// applying the rule again.
    pub fn new(key: Key, rate: f64) -> Self {
        Self {
            key,
            bound: random::bernoulli_bound(1.0 - rate),
            factor: T::from_f64((1.0 - rate).recip()),
        }
    }

    /// Calls `work` for each block of positions from `start`, with the mask of the
    /// block and the offset of its first position.
    #[inline(always)]
    pub(crate) fn blocks(self, start: u64, length: usize, mut work: impl FnMut(usize, &[bool])) {
        let (mut words, mut kept) = ([0; tuned::RANDOM_WORDS], [false; tuned::RANDOM_WORDS]);
        for first in (0..length).step_by(tuned::RANDOM_WORDS) {
            let count = tuned::RANDOM_WORDS.min(length - first);
            words::fill_inline(self.key, start + first as u64, &mut words);
            for (kept, word) in kept.iter_mut().zip(words) {
                *kept = word >> 9 < self.bound;
            }
            work(first, &kept[..count]);
        }
    }
}

/// Fills `out` with x after dropout.
#[compiled_once]
pub fn dropout<T: Float>(rule: Dropout<T>, x: &[T], out: &mut [T], threads: usize) {
    parallel::fill_chunks(out, tuned::CHUNK_VALUES, threads, |number, out| {
        let start = number * tuned::CHUNK_VALUES;
        let x = &x[start..][..out.len()];
        drop_chunk(rule, start as u64, x, out);
    });
}

#[vectorized]
fn drop_chunk<T: Float>(rule: Dropout<T>, start: u64, x: &[T], out: &mut [T]) {
    rule.blocks(start, out.len(), |first, kept| {
        let positions = out[first..].iter_mut().zip(&x[first..]).zip(kept);
        for ((out, &x), &kept) in positions {
            *out = if kept { x * rule.factor } else { T::ZERO };
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::run_on_every_machine;

    #[test]
    fn a_position_is_kept_if_its_bernoulli_variable_is_1() {
        let key = Key([3, 4]);
        let mut coins = vec![false; 5000];
        random::bernoulli(key, 0.7, &mut coins, 1);
        run_on_every_machine(|_| {
            let (x, mut out) = (vec![1.0; 5000], vec![0.0; 5000]);
            dropout(Dropout::new(key, 0.3), &x, &mut out, 1);
            let share = |&kept: &bool| if kept { 1.0 / 0.7 } else { 0.0 };
            let expected: Vec<f32> = coins.iter().map(share).collect();
            assert_eq!(out, expected);
        });
    }
}
