//! Sums over the taps of each window, and over the windows of each tap.

use pulp::Simd;
use seqloom_macros::vectorized;

use crate::{Float, lanes::Lanes, machine::dispatch, tuned};

/// The inputs of a weighted sum for each position. Each tap has a weight, and the
/// offset of the values that are multiplied by the weight.
pub(super) struct TapSums<'a, T> {
    pub(super) framed: &'a [T],
    pub(super) offsets: &'a [usize],
    pub(super) weights: &'a [T],
    /// The initial value of each sum, or `None` to add to the existing sums.
    pub(super) start: Option<T>,
    /// The sums, padded to full registers.
    pub(super) out: &'a mut [T],
}

/// Fills the sums.
#[vectorized]
pub(super) fn fill_sums<S: Simd, T: Float>(simd: S, mut work: TapSums<'_, T>) {
    let lanes = Lanes::<S, T>::COUNT;
    let step = tuned::DEPTHWISE_REGISTERS * lanes;
    let wide = work.out.len() / step * step;
    for first in (0..wide).step_by(step) {
        fill_block::<S, T, { tuned::DEPTHWISE_REGISTERS }>(simd, &mut work, first);
    }
    for first in (wide..work.out.len()).step_by(lanes) {
        fill_block::<S, T, 1>(simd, &mut work, first);
    }
}

/// Fills `V` registers of sums.
#[inline(always)]
fn fill_block<S: Simd, T: Float, const V: usize>(simd: S, work: &mut TapSums<'_, T>, first: usize) {
    let count = V * Lanes::<S, T>::COUNT;
    let (out, _) = T::split_mut::<S>(&mut work.out[first..][..count]);
    let mut sums = [Lanes::splat(simd, work.start.unwrap_or(T::ZERO)); V];
    if work.start.is_none() {
        for (sum, out) in sums.iter_mut().zip(out.iter()) {
            *sum = Lanes::new(simd, *out);
        }
    }
    for (&offset, &weight) in work.offsets.iter().zip(work.weights) {
        let (inputs, _) = T::split::<S>(&work.framed[first + offset..][..count]);
        let weight = Lanes::splat(simd, weight);
        for (sum, input) in sums.iter_mut().zip(inputs) {
            *sum = weight.mul_add(Lanes::new(simd, *input), *sum);
        }
    }
    for (sum, out) in sums.into_iter().zip(out) {
        *out = sum.vector;
    }
}

/// The inputs of a sum for each tap: the gradient at each position is multiplied by the
/// value at the offset of the tap.
pub(super) struct TapProducts<'a, T> {
    pub(super) framed: &'a [T],
    pub(super) offsets: &'a [usize],
    /// The gradient of each position, padded to full registers.
    pub(super) spread: &'a [T],
    pub(super) out: &'a mut [T],
}

/// Adds the products to the sum of each tap.
#[vectorized]
pub(super) fn add_products<S: Simd, T: Float>(simd: S, work: TapProducts<'_, T>) {
    let TapProducts {
        framed,
        offsets,
        spread,
        out,
    } = work;
    let taps = tuned::DEPTHWISE_TAPS;
    for (offsets, out) in offsets.chunks(taps).zip(out.chunks_mut(taps)) {
        let inputs = TapInputs { framed, offsets };
        match offsets.len() {
            1 => inputs.add_products::<S, 1>(simd, spread, out),
            2 => inputs.add_products::<S, 2>(simd, spread, out),
            3 => inputs.add_products::<S, 3>(simd, spread, out),
            4 => inputs.add_products::<S, 4>(simd, spread, out),
            5 => inputs.add_products::<S, 5>(simd, spread, out),
            6 => inputs.add_products::<S, 6>(simd, spread, out),
            _ => inputs.add_products::<S, { tuned::DEPTHWISE_TAPS }>(simd, spread, out),
        }
    }
}

/// The input values that `N` taps read.
#[derive(Clone, Copy)]
struct TapInputs<'a, T> {
    framed: &'a [T],
    offsets: &'a [usize],
}

impl<T: Float> TapInputs<'_, T> {
    /// Adds the products of `N` taps to their sums; each tap has a register of sums.
    #[inline(always)]
    fn add_products<S: Simd, const N: usize>(self, simd: S, spread: &[T], out: &mut [T]) {
        let mut rows: [&[T::Vector<S>]; N] = [&[]; N];
        for (row, &offset) in rows.iter_mut().zip(self.offsets) {
            (*row, _) = T::split::<S>(&self.framed[offset..][..spread.len()]);
        }
        let (gradient, _) = T::split::<S>(spread);
        let mut sums = [Lanes::splat(simd, T::ZERO); N];
        for (position, gradient) in gradient.iter().enumerate() {
            let gradient = Lanes::new(simd, *gradient);
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum = gradient.mul_add(Lanes::new(simd, row[position]), *sum);
            }
        }
        for (sum, out) in sums.into_iter().zip(out) {
            *out += sum.sum();
        }
    }
}
