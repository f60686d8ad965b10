//! Linear layers, fused with the operations before and after them.
//!
//! A thread computes all operations for a band of rows while the band is in its L2
//! cache. The weights are packed once for all bands. The order in which products are
//! added depends only on the shape of the weights, not on other rows or on the number
//! of threads.

mod feed_forward;
mod linear;
mod rotary;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::product::Matrix;
use crate::tuned::{DENSE_BAND_BYTES, DENSE_BAND_STEP, DENSE_MAX_BAND_ROWS};
use crate::{Float, parallel};

pub use feed_forward::FeedForward;
pub use linear::linear;
pub(crate) use rotary::rotate_heads;
pub use rotary::{Rotation, linear_then_rotate};

/// A linear layer: `x @ weight.T + bias`.
#[derive(Clone, Copy, Debug)]
pub struct LinearLayer<'a, T> {
    /// The weights `(outputs, inputs)`.
    pub weight: &'a [T],
    /// The bias of each output.
    pub bias: Option<&'a [T]>,
    /// The number of inputs, at least 1.
    pub inputs: usize,
}

impl<'a, T: Float> LinearLayer<'a, T> {
    /// Returns the number of outputs.
    fn outputs(&self) -> usize {
        self.weight.len() / self.inputs
    }

    /// Returns the weights of a range of outputs and inputs, as a right matrix.
    fn weights(&self, outputs: Range<usize>, inputs: Range<usize>) -> Matrix<'a, T> {
        Matrix {
            values: &self.weight[outputs.start * self.inputs + inputs.start..],
            lines: outputs.len(),
            k: inputs.len(),
            line_step: self.inputs,
            k_step: 1,
        }
    }

    /// Returns all weights, as a right matrix.
    fn all_weights(&self) -> Matrix<'a, T> {
        self.weights(0..self.outputs(), 0..self.inputs)
    }
}

/// Returns contiguous rows as a left matrix.
fn row_matrix<T>(values: &[T], width: usize) -> Matrix<'_, T> {
    Matrix {
        values,
        lines: values.len() / width,
        k: width,
        line_step: width,
        k_step: 1,
    }
}

/// Splits `out` into bands of rows of this width. Calls `fill` with the index of the
/// first row of each band, and the band. `kept` is the number of values per row that
/// should remain in the cache.
pub(crate) fn for_each_band<T: Send>(
    out: &mut [T],
    width: usize,
    kept: usize,
    threads: usize,
    fill: impl Fn(usize, &mut [T]) + Sync,
) {
    let most = DENSE_BAND_BYTES / size_of::<T>() / kept.max(1) / DENSE_BAND_STEP * DENSE_BAND_STEP;
    let bands = (out.len() / width).div_ceil(most.clamp(DENSE_BAND_STEP, DENSE_MAX_BAND_ROWS));
    let rows = (out.len() / width)
        .div_ceil(bands.max(1))
        .next_multiple_of(DENSE_BAND_STEP);
    parallel::fill_chunks(out, rows * width, threads, |number, out| {
        fill(number * rows, out);
    });
}

/// Fills rows with the residual plus the bias.
fn fill_with_bias<T: Float>(rows: &[T], bias: Option<&[T]>, out: &mut [T]) {
    out.copy_from_slice(rows);
    let Some(bias) = bias else {
        return;
    };
    for row in out.chunks_exact_mut(bias.len()) {
        row.iter_mut()
            .zip(bias)
            .for_each(|(out, &bias)| *out += bias);
    }
}
