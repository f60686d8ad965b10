//! Random integers and permutations.

use seqloom_core::key::Key;

use super::words;
use crate::{parallel, tuned};

/// Fills `out` with random integers from `low` (included) to `high` (excluded), or with
/// `low` if the range is empty.
pub fn randint(key: Key, low: i32, high: i32, out: &mut [i32], threads: usize) {
    let span = high.wrapping_sub(low).cast_unsigned();
    let span = if high <= low { 1 } else { span };
    let keys = split_key(key);
    parallel::fill_chunks(out, tuned::CHUNK_VALUES, threads, |number, out| {
        let start = (number * tuned::CHUNK_VALUES) as u64;
        let size = tuned::RANDOM_WORDS;
        for (start, out) in (start..).step_by(size).zip(out.chunks_mut(size)) {
            fill_block(keys, start, span, low, out);
        }
    });
}

/// Fills a block with random integers. Each integer is computed from two random words,
/// so that the modulo bias is negligible.
fn fill_block(keys: [Key; 2], start: u64, span: u32, low: i32, out: &mut [i32]) {
    let [mut higher, mut lower] = [[0; tuned::RANDOM_WORDS]; 2];
    words::fill_u32(keys[0], start, &mut higher[..out.len()]);
    words::fill_u32(keys[1], start, &mut lower[..out.len()]);
    let half = (1 << 16) % span;
    let carry = half.wrapping_mul(half) % span;
    for (out, (higher, lower)) in out.iter_mut().zip(higher.into_iter().zip(lower)) {
        let offset = (higher % span)
            .wrapping_mul(carry)
            .wrapping_add(lower % span)
            % span;
        *out = low.wrapping_add(offset.cast_signed());
    }
}

/// Fills `out` with a random permutation of 0 to n - 1. The numbers are sorted by
/// random keys several times, because two equal keys would bias a single sort.
pub fn permutation(key: Key, out: &mut [i32], threads: usize) {
    out.iter_mut()
        .zip(0..)
        .for_each(|(out, number)| *out = number);
    let (mut key, mut words) = (key, vec![0; out.len()]);
    for _ in 0..sort_count(out.len()) {
        let [next, this] = split_key(key);
        key = next;
        super::random_bits(this, &mut words, threads);
        let mut order: Vec<(u32, i32)> = words.iter().copied().zip(out.iter().copied()).collect();
        order.sort_by_key(|&(word, _)| word);
        out.iter_mut()
            .zip(order)
            .for_each(|(to, (_, number))| *to = number);
    }
}

/// Returns the number of sorts of a permutation of n numbers: `3 log(n) / log(2^32)`,
/// rounded up.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "no array has 2^53 positions, and the result is below ten"
)]
fn sort_count(count: usize) -> usize {
    (3.0 * (count.max(1) as f64).ln() / f64::from(u32::MAX).ln()).ceil() as usize
}

/// Derives two keys from a key, in the same way as JAX.
fn split_key(key: Key) -> [Key; 2] {
    [0, 1].map(|count| Key(key.random_words([0, count])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_integers_cover_their_range_and_stay_inside_it() {
        let mut out = [0; 1000];
        randint(Key([0, 1]), -3, 4, &mut out, 1);
        for number in -3..4 {
            assert!(out.contains(&number));
        }
        assert!(out.iter().all(|number| (-3..4).contains(number)));
    }

    #[test]
    fn an_empty_range_fills_the_array_with_low() {
        let mut out = [0; 3];
        randint(Key([0, 1]), 5, 5, &mut out, 1);
        assert_eq!(out, [5; 3]);
    }

    #[test]
    fn a_permutation_contains_each_number_once() {
        for count in [0, 1, 2, 1000] {
            let mut out = vec![0; count];
            permutation(Key([0, 1]), &mut out, 1);
            out.sort_unstable();
            assert!(out.iter().copied().eq((0..).take(count)));
        }
    }
}
