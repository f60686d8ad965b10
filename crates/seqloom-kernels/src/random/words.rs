//! Random 32-bit words. A word is computed from a counter: the position of the word in
//! the array.

use seqloom_core::key::Key;

use seqloom_macros::vectorized;

use crate::machine::dispatch;

/// Fills `out` with the 32-bit words of the key from position `start`. The words equal
/// those of JAX with partitionable random numbers.
#[vectorized]
pub(crate) fn fill_u32(key: Key, start: u64, out: &mut [u32]) {
    fill_inline(key, start, out);
}

/// Does the same as [`fill_u32`], with 64-bit words.
pub(crate) fn fill_u64(key: Key, start: u64, out: &mut [u64]) {
    for (position, out) in (start..).zip(out) {
        let [high, low] = key.random_words(split_counter(position));
        *out = u64::from(high) << 32 | u64::from(low);
    }
}

/// Does the same as [`fill_u32`], and can be inlined into a kernel.
#[inline(always)]
pub(crate) fn fill_inline(key: Key, start: u64, out: &mut [u32]) {
    let [high, low] = split_counter(start);
    let before = usize::try_from(u32::MAX - low).unwrap_or(usize::MAX);
    let (out, after) = out.split_at_mut(out.len().min(before.saturating_add(1)));
    fill_run(key, [high, low], out);
    fill_run(key, [high.wrapping_add(1), 0], after);
}

/// Fills `out` with consecutive words whose counters have the same upper 32 bits.
#[inline(always)]
fn fill_run(key: Key, [high, low]: [u32; 2], out: &mut [u32]) {
    let mut count = low;
    for out in out {
        let [first, second] = key.random_words([high, count]);
        *out = first ^ second;
        count = count.wrapping_add(1);
    }
}

/// Returns the upper and the lower 32 bits of a counter.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the other half is returned separately"
)]
fn split_counter(position: u64) -> [u32; 2] {
    [(position >> 32) as u32, position as u32]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::run_on_every_machine;

    #[test]
    fn a_word_depends_on_both_halves_of_its_counter() {
        let key = Key([3, 4]);
        run_on_every_machine(|_| {
            let mut out = [0; 301];
            fill_u32(key, 5, &mut out);
            for (position, &out) in (5..).zip(&out) {
                let [first, second] = key.random_words([0, position]);
                assert_eq!(out, first ^ second, "position {position}");
            }
        });
    }

    #[test]
    fn counters_continue_beyond_32_bits() {
        let key = Key([3, 4]);
        let (mut out, mut wide) = ([0; 5], [0; 5]);
        fill_u32(key, (1 << 32) - 2, &mut out);
        fill_u64(key, (1 << 32) - 2, &mut wide);
        let counts = [[0, u32::MAX - 1], [0, u32::MAX], [1, 0], [1, 1], [1, 2]];
        for ((count, out), wide) in counts.into_iter().zip(out).zip(wide) {
            let [first, second] = key.random_words(count);
            assert_eq!(out, first ^ second);
            assert_eq!(wide, u64::from(first) << 32 | u64::from(second));
        }
    }
}
