//! Dropout whose choice is a pure function of a key and a position.

use pulp::{Simd, WithSimd};
use seqloom_core::key::Key;

use crate::{Float, machine, parallel};

/// Fills `out` with x, where zeros take the place of a share of `rate` and the rest is
/// made larger in turn. The same key chooses the same places, so the gradient is dropped
/// by the same function.
///
/// A place is dropped if its random word is small; the word of place `2 i + j` is the one
/// numbered `j` of the key's counter `i`.
pub fn dropout<T: Float>(key: Key, rate: f64, x: &[T], out: &mut [T], threads: usize) {
    let rule = Rule {
        key,
        threshold: threshold(rate),
        scale: T::of((1.0 - rate).recip()),
    };
    parallel::chunks(out, parallel::CHUNK, threads, |number, out| {
        let start = number * parallel::CHUNK;
        let blocks = x[start..][..out.len()]
            .chunks(PLACES)
            .zip(out.chunks_mut(PLACES));
        for (start, (x, out)) in (start..).step_by(PLACES).zip(blocks) {
            machine::dispatch(Block {
                rule,
                start,
                x,
                out,
            });
        }
    });
}

/// Places whose words are made at once.
const PLACES: usize = 128;

/// Words below this number are dropped.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate lies between 0 and 1"
)]
fn threshold(rate: f64) -> u32 {
    (rate * 2_f64.powi(32)).round() as u32
}

#[derive(Clone, Copy)]
struct Rule<T> {
    key: Key,
    threshold: u32,
    scale: T,
}

/// Up to `PLACES` numbers from the place `start` on, which is a multiple of `PLACES`.
struct Block<'a, T> {
    rule: Rule<T>,
    start: usize,
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Float> WithSimd for Block<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Rule {
            key,
            threshold,
            scale,
        } = self.rule;
        let counter = self.start as u64 / 2;
        // A block's counters differ in their lowest bits only, so no sum of these overflows.
        let [low, high] = [counter, counter >> 32].map(low_half);
        let (mut even, mut odd) = ([0; PLACES / 2], [0; PLACES / 2]);
        for (count, (even, odd)) in (low..).zip(even.iter_mut().zip(&mut odd)) {
            [*even, *odd] = key.words([count, high]);
        }
        let mut factors = [T::ZERO; PLACES];
        let pairs = factors.as_chunks_mut::<2>().0.iter_mut();
        for (factors, (&even, &odd)) in pairs.zip(even.iter().zip(&odd)) {
            let factor = |word| if word < threshold { T::ZERO } else { scale };
            *factors = [factor(even), factor(odd)];
        }
        for ((out, &x), &factor) in self.out.iter_mut().zip(self.x).zip(&factors) {
            *out = x * factor;
        }
    }
}

#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the other half is taken by itself"
)]
fn low_half(counter: u64) -> u32 {
    counter as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::on_every_machine;

    #[test]
    fn each_place_is_judged_by_its_own_word() {
        let key = Key([3, 4]);
        let kept = |place: u32| key.words([place / 2, 0])[place as usize % 2] >= 1 << 31;
        on_every_machine(|_| {
            let mut out = [0.0_f32; 301];
            dropout(key, 0.5, &[1.0; 301], &mut out, 1);
            for (place, out) in (0..).zip(out) {
                assert_eq!(out > 0.0, kept(place), "place {place}");
            }
        });
    }
}
