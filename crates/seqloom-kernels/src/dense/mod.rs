//! Linear layers over rows, and what stands before and after them in a network.
//!
//! A thread takes a band of rows through all steps while they stay in its second-level
//! cache; the weights are packed once for all bands. A row is summed in an order that the
//! weights alone decide: the other rows and their number change no bit.

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
pub(crate) use rotary::rotate;
pub use rotary::{Rotation, linear_then_rotate};

/// A linear layer: `x @ weight.T + bias`.
#[derive(Clone, Copy, Debug)]
pub struct LinearLayer<'a, T> {
    /// A row of `inputs` numbers for each output.
    pub weight: &'a [T],
    /// Added to each output.
    pub bias: Option<&'a [T]>,
    /// Numbers of a row that goes in; there is at least one.
    pub inputs: usize,
}

impl<'a, T: Float> LinearLayer<'a, T> {
    /// Numbers of a row that comes out.
    fn outputs(&self) -> usize {
        self.weight.len() / self.inputs
    }

    /// The weights of some outputs and inputs, as the right factor of rows.
    fn lines(&self, outputs: Range<usize>, inputs: Range<usize>) -> Matrix<'a, T> {
        Matrix {
            values: &self.weight[outputs.start * self.inputs + inputs.start..],
            lines: outputs.len(),
            k: inputs.len(),
            line_step: self.inputs,
            k_step: 1,
        }
    }

    /// All weights.
    fn all_lines(&self) -> Matrix<'a, T> {
        self.lines(0..self.outputs(), 0..self.inputs)
    }
}

/// Rows that lie side by side, as the left factor of weights.
fn rows<T>(values: &[T], width: usize) -> Matrix<'_, T> {
    Matrix {
        values,
        lines: values.len() / width,
        k: width,
        line_step: width,
        k_step: 1,
    }
}

/// Calls `fill` for each band of rows of an output of this width: with the number of its first
/// row, and the band. For each row `kept` numbers stay in the cache.
pub(crate) fn each_band<T: Send>(
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
    parallel::chunks(out, rows * width, threads, |number, out| {
        fill(number * rows, out);
    });
}

/// Fills rows with those that a result is added to, each plus the bias.
fn start<T: Float>(rows: &[T], bias: Option<&[T]>, out: &mut [T]) {
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
