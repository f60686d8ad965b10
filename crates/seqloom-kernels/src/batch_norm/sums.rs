//! Sums over all values of a channel.

use pulp::Simd;
use seqloom_macros::vectorized;

use super::each::{Positions, RowFunction, for_each_register, masked};
use crate::{Float, lanes::Lanes, machine::dispatch};

/// A function that computes two values for each position. Each value is summed over the
/// channel.
pub(super) trait ChannelTerm<T: Float>: Copy {
    fn apply<S: Simd>(self, x: Lanes<S, T>, y: Lanes<S, T>) -> [Lanes<S, T>; 2];
}

#[derive(Clone, Copy)]
pub(super) struct DeviationTerms<T> {
    pub(super) center: T,
}

impl<T: Float> ChannelTerm<T> for DeviationTerms<T> {
    #[inline(always)]
    fn apply<S: Simd>(self, x: Lanes<S, T>, _: Lanes<S, T>) -> [Lanes<S, T>; 2] {
        let off = x - x.like(self.center);
        [off, off * off]
    }
}

#[derive(Clone, Copy)]
pub(super) struct SlopeTerms<T> {
    pub(super) center: T,
}

impl<T: Float> ChannelTerm<T> for SlopeTerms<T> {
    #[inline(always)]
    fn apply<S: Simd>(self, x: Lanes<S, T>, grad: Lanes<S, T>) -> [Lanes<S, T>; 2] {
        [grad, grad * (x - x.like(self.center))]
    }
}

/// Returns the sums over a channel of the two values that `term` computes for each
/// position.
#[vectorized]
pub(super) fn sum_channel<S: Simd, T: Float, F: ChannelTerm<T>>(
    simd: S,
    positions: Positions<'_, T>,
    number: usize,
    pair: (&[T], &[T]),
    term: F,
) -> [f64; 2] {
    let Positions {
        channels, length, ..
    } = positions;
    let samples = pair.0.len() / (channels * length).max(1);
    let mut totals = [0.0; 2];
    for sample in 0..samples {
        let row = (sample * channels + number) * length;
        let mask = positions.sample_mask(sample);
        for start in (0..length).step_by(PARTIAL_SUM_LENGTH) {
            let piece = start..length.min(start + PARTIAL_SUM_LENGTH);
            let mask = mask.map(|mask| &mask[piece.clone()]);
            let range = row + piece.start..row + piece.end;
            let pair = (&pair.0[range.clone()], &pair.1[range]);
            let mut sums = [Lanes::splat(simd, T::ZERO); 2];
            let add = AddTerms {
                term,
                sums: &mut sums,
            };
            for_each_register(simd, pair, mask, add);
            let [first, second] = sums.map(|sum| sum.sum().to_f64());
            totals = [totals[0] + first, totals[1] + second];
        }
    }
    totals
}

/// The number of elements that are summed in the precision of the array before the sum
/// is added to a double-precision total.
const PARTIAL_SUM_LENGTH: usize = 4096;

struct AddTerms<'a, S: Simd, T: Float, F> {
    term: F,
    sums: &'a mut [Lanes<S, T>; 2],
}

impl<S: Simd, T: Float, F: ChannelTerm<T>> RowFunction<S, T> for AddTerms<'_, S, T, F> {
    #[inline(always)]
    fn apply(&mut self, a: Lanes<S, T>, b: Lanes<S, T>, mask: Option<Lanes<S, T>>) {
        let [first, second] = self.term.apply(a, b);
        let [sum, other] = *self.sums;
        *self.sums = [sum + masked(mask, first), other + masked(mask, second)];
    }
}
