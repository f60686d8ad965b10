//! Sums over a channel.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::Places;
use super::each::{Act, each, keep};
use crate::{Float, lanes::Lanes};

/// Two numbers to be summed over a channel, of one place.
pub(super) trait Term<T: Float>: Copy {
    fn of<S: Simd>(self, x: Lanes<S, T>, y: Lanes<S, T>) -> [Lanes<S, T>; 2];
}

#[derive(Clone, Copy)]
pub(super) struct Deviation<T> {
    pub(super) center: T,
}

impl<T: Float> Term<T> for Deviation<T> {
    #[inline(always)]
    fn of<S: Simd>(self, x: Lanes<S, T>, _: Lanes<S, T>) -> [Lanes<S, T>; 2] {
        let off = x - x.like(self.center);
        [off, off * off]
    }
}

#[derive(Clone, Copy)]
pub(super) struct Slope<T> {
    pub(super) center: T,
}

impl<T: Float> Term<T> for Slope<T> {
    #[inline(always)]
    fn of<S: Simd>(self, x: Lanes<S, T>, grad: Lanes<S, T>) -> [Lanes<S, T>; 2] {
        [grad, grad * (x - x.like(self.center))]
    }
}

/// The sums of a term over one channel of a batch.
pub(super) struct Channel<'a, T, F> {
    pub(super) places: Places<'a, T>,
    pub(super) number: usize,
    pub(super) pair: (&'a [T], &'a [T]),
    pub(super) term: F,
}

impl<T: Float, F: Term<T>> WithSimd for Channel<'_, T, F> {
    type Output = [f64; 2];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 2] {
        let Places {
            channels, length, ..
        } = self.places;
        let samples = self.pair.0.len() / (channels * length).max(1);
        let mut totals = [0.0; 2];
        for sample in 0..samples {
            let row = (sample * channels + self.number) * length;
            let mask = self.places.mask_of(sample);
            for start in (0..length).step_by(PIECE) {
                let piece = start..length.min(start + PIECE);
                let mask = mask.map(|mask| &mask[piece.clone()]);
                let [first, second] = self.row(simd, row + piece.start..row + piece.end, mask);
                totals = [totals[0] + first.wide(), totals[1] + second.wide()];
            }
        }
        totals
    }
}

impl<T: Float, F: Term<T>> Channel<'_, T, F> {
    #[inline(always)]
    fn row<S: Simd>(&self, simd: S, range: Range<usize>, mask: Option<&[T]>) -> [T; 2] {
        let mut sums = [Lanes::splat(simd, T::ZERO); 2];
        let pair = (&self.pair.0[range.clone()], &self.pair.1[range]);
        let term = self.term;
        let add = Add {
            term,
            sums: &mut sums,
        };
        each(simd, pair, mask, add);
        [sums[0].sum(), sums[1].sum()]
    }
}

/// Numbers that are summed before the sum is widened.
const PIECE: usize = 4096;

struct Add<'a, S: Simd, T: Float, F> {
    term: F,
    sums: &'a mut [Lanes<S, T>; 2],
}

impl<S: Simd, T: Float, F: Term<T>> Act<S, T> for Add<'_, S, T, F> {
    #[inline(always)]
    fn act(&mut self, a: Lanes<S, T>, b: Lanes<S, T>, mask: Option<Lanes<S, T>>) {
        let [first, second] = self.term.of(a, b);
        let [sum, other] = *self.sums;
        *self.sums = [sum + keep(mask, first), other + keep(mask, second)];
    }
}
