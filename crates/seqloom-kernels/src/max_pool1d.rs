//! Max pooling along one axis, with the position of each maximum.

use seqloom_macros::compiled_once;
use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::{Float, Instances, machine, parallel};

/// The size of a pooling window, and the length of the rows.
#[derive(Clone, Copy, Debug)]
pub struct PoolWindow {
    /// The length of a row.
    pub length: usize,
    /// The length of the window.
    pub kernel: usize,
    /// The distance between adjacent windows, at least 1.
    pub stride: usize,
    /// The padding before and after the row, at most half of the window length.
    pub padding: usize,
}

impl PoolWindow {
    /// Returns the number of windows of a row, or `None` if the padded row is shorter
    /// than the window.
    pub fn out_length(&self) -> Option<usize> {
        let last = (self.length + 2 * self.padding).checked_sub(self.kernel)?;
        Some(last / self.stride + 1)
    }

    /// Returns the range of the windows that do not overlap the padding.
    fn unpadded_windows(&self, count: usize) -> Range<usize> {
        let start = self.padding.div_ceil(self.stride).min(count);
        let last = (self.length + self.padding).checked_sub(self.kernel);
        let stop = last.map_or(0, |last| last / self.stride + 1).min(count);
        start..stop.max(start)
    }

    /// Returns the range of positions in the row that a window covers.
    fn covered_range(&self, position: usize) -> (usize, usize) {
        let start = position * self.stride;
        let stop = (start + self.kernel).saturating_sub(self.padding);
        (start.saturating_sub(self.padding), stop.min(self.length))
    }
}

/// Fills the maximum of every window, and its position in the row. If several values
/// equal the maximum, the position of the first of these values is stored. NaN is
/// treated as the largest value.
#[compiled_once]
pub fn max_pool1d<T: Float>(
    window: &PoolWindow,
    x: &[T],
    out: &mut [T],
    positions: &mut [i64],
    threads: usize,
) {
    let width = window.out_length().unwrap_or(0).max(1);
    let rows = parallel::rows_per_chunk(window.length);
    let sizes = (rows * width, rows * width);
    parallel::fill_pairs(
        (out, positions),
        sizes,
        threads,
        |number, out, positions| {
            let x = &x[number * rows * window.length..];
            let outs = out.chunks_mut(width).zip(positions.chunks_mut(width));
            for (x, (out, positions)) in x.chunks(window.length).zip(outs) {
                machine::dispatch(PoolRow {
                    window,
                    x,
                    out,
                    positions,
                });
            }
        },
    );
}

/// Computes the windows of one row. Windows that overlap the padding are processed one
/// by one, and all other windows together.
struct PoolRow<'a, T> {
    window: &'a PoolWindow,
    x: &'a [T],
    out: &'a mut [T],
    positions: &'a mut [i64],
}

impl<T: Float> WithSimd for PoolRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self {
            window,
            x,
            out,
            positions,
        } = self;
        let inner = window.unpadded_windows(out.len());
        for number in (0..inner.start).chain(inner.end..out.len()) {
            let (start, stop) = window.covered_range(number);
            let values = (start..stop).map(|position| (x[position], to_numpy_index(position)));
            let lowest = (T::NEG_INF, to_numpy_index(start));
            (out[number], positions[number]) = values.fold(lowest, larger_with_position);
        }
        if !inner.is_empty() {
            let (start, _) = window.covered_range(inner.start);
            inner_windows(
                window,
                &x[start..],
                start,
                (&mut out[inner.clone()], &mut positions[inner]),
            );
        }
    }
}

/// Fills the maxima of the windows that do not overlap the padding. The slice `x`
/// begins at the start of the first of these windows.
#[inline(always)]
fn inner_windows<T: Float>(
    window: &PoolWindow,
    x: &[T],
    start: usize,
    (out, positions): (&mut [T], &mut [i64]),
) {
    match (window.kernel, window.stride) {
        (2, 2) => return disjoint_windows::<T, 2>(x, start, out, positions),
        (3, 3) => return disjoint_windows::<T, 3>(x, start, out, positions),
        (4, 4) => return disjoint_windows::<T, 4>(x, start, out, positions),
        _ => {}
    }
    out.fill(T::NEG_INF);
    for (number, position) in positions.iter_mut().enumerate() {
        *position = to_numpy_index(start + number * window.stride);
    }
    for tap in 0..window.kernel {
        let first = to_numpy_index(start + tap);
        match window.stride {
            1 => update_maxima::<T, 1>(&x[tap..], first, out, positions),
            2 => update_maxima::<T, 2>(&x[tap..], first, out, positions),
            stride => {
                let steps = (first..)
                    .step_by(stride)
                    .zip(x[tap..].iter().step_by(stride));
                for ((position, &value), (out, best)) in
                    steps.zip(out.iter_mut().zip(&mut *positions))
                {
                    (*out, *best) = larger_with_position((*out, *best), (value, position));
                }
            }
        }
    }
}

/// Does the same as `inner_windows`, but requires windows that do not overlap, and
/// reads each value once.
#[inline(always)]
fn disjoint_windows<T: Float, const KERNEL: usize>(
    x: &[T],
    start: usize,
    out: &mut [T],
    positions: &mut [i64],
) {
    let (windows, _) = x.as_chunks::<KERNEL>();
    let outs = out.iter_mut().zip(positions);
    for (number, (window, (out, position))) in windows.iter().zip(outs).enumerate() {
        let first = to_numpy_index(start + number * KERNEL);
        let values = window.iter().copied().zip(first..);
        (*out, *position) = values.fold((T::NEG_INF, first), larger_with_position);
    }
}

/// Updates the maximum of each window with the value at one position of the window. The
/// stride is a compile-time constant.
#[inline(always)]
fn update_maxima<T: Float, const STRIDE: usize>(
    x: &[T],
    first: i64,
    out: &mut [T],
    positions: &mut [i64],
) {
    let (steps, rest) = x.as_chunks::<STRIDE>();
    let mut bests = out.iter_mut().zip(positions);
    let mut position = first;
    for (step, (out, best)) in steps.iter().zip(&mut bests) {
        (*out, *best) = larger_with_position((*out, *best), (step[0], position));
        position += to_numpy_index(STRIDE);
    }
    for (&value, (out, best)) in rest.iter().zip(bests) {
        (*out, *best) = larger_with_position((*out, *best), (value, position));
    }
}

/// Returns the larger of two values, with its position. Both conditions are evaluated,
/// because the processor would often mispredict a branch.
#[inline(always)]
fn larger_with_position<T: Float>(best: (T, i64), other: (T, i64)) -> (T, i64) {
    let better = (other.0 > best.0) | other.0.is_nan();
    (
        if better { other.0 } else { best.0 },
        if better { other.1 } else { best.1 },
    )
}

/// Converts a position to the integer type of NumPy indices.
#[inline(always)]
fn to_numpy_index(position: usize) -> i64 {
    position.cast_signed() as i64
}

/// Fills the gradient of the input, where each window adds its gradient at the position
/// of its maximum.
#[compiled_once]
pub fn max_pool1d_grad<T: Float>(
    lengths: (usize, usize),
    grad: &[T],
    positions: &[i64],
    out: &mut [T],
    threads: usize,
) {
    let (length, width) = lengths;
    let rows = parallel::rows_per_chunk(length);
    parallel::fill_chunks(out, rows * length, threads, |number, out| {
        out.fill(T::ZERO);
        let first = number * rows * width;
        let grads = grad[first..]
            .chunks(width)
            .zip(positions[first..].chunks(width));
        for (out, (grad, positions)) in out.chunks_mut(length).zip(grads) {
            add_at_positions(grad, positions, out);
        }
    });
}

fn add_at_positions<T: Float>(grad: &[T], positions: &[i64], out: &mut [T]) {
    for (&grad, &position) in grad.iter().zip(positions) {
        if let Some(value) = usize::try_from(position)
            .ok()
            .and_then(|position| out.get_mut(position))
        {
            *value += grad;
        }
    }
}
