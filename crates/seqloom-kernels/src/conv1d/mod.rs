//! Convolution along one axis, and its two derivatives.
//!
//! All three are matrix products in which one matrix, the input's windows side by side,
//! is never built: a sample is copied once into rows with zeros around them ([`rows`]),
//! where a tap is an offset, and a window's number stands at place plus offset.

mod forward;
mod rows;
#[cfg(test)]
mod tests;
mod weight_grad;

use crate::Float;
use forward::{Filter, Product};
use rows::Rows;

/// The sizes of a convolution.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Samples.
    pub batch: usize,
    /// Rows of a sample.
    pub channels: usize,
    /// Places of a row.
    pub length: usize,
    /// Rows of an output.
    pub outputs: usize,
    /// Taps of the filter.
    pub kernel: usize,
    /// Places between two outputs, at least one.
    pub stride: usize,
    /// Zeros before and after a row.
    pub padding: usize,
    /// Places between two taps, at least one.
    pub dilation: usize,
}

impl Shape {
    /// Places of an output row; none if the filter does not fit into the padded row.
    pub fn out_length(&self) -> Option<usize> {
        let room = (self.length + 2 * self.padding).checked_sub(self.reach()? + 1)?;
        Some(room / self.stride + 1)
    }

    /// What a pass takes one thread, some forty products each nanosecond.
    pub fn nanoseconds(&self) -> usize {
        let sums = self.batch * self.outputs * self.out_length().unwrap_or(0);
        sums * self.channels * self.kernel / 40
    }

    /// From the first tap to the last.
    fn reach(&self) -> Option<usize> {
        Some(self.dilation * self.kernel.checked_sub(1)?)
    }

    /// The input as the forward pass and the weights' gradient read it.
    fn input(&self) -> Rows {
        Rows {
            count: self.channels,
            length: self.length,
            spread: 1,
            start: -signed(self.padding),
            stride: self.stride,
            kernel: self.kernel,
            dilation: self.dilation,
        }
    }

    /// The output's gradient as the input's gradient reads it: with the stride's gaps
    /// between its places, and the taps in reverse.
    fn gradient(&self, width: usize) -> Rows {
        Rows {
            count: self.outputs,
            length: width,
            spread: self.stride,
            start: signed(self.padding) - signed(self.dilation * self.kernel.saturating_sub(1)),
            stride: 1,
            kernel: self.kernel,
            dilation: self.dilation,
        }
    }
}

/// Sizes of arrays are less than half of what a `usize` holds.
const fn signed(size: usize) -> isize {
    size.cast_signed()
}

/// Fills `out` (batch, outputs, places) with the convolution of x (batch, channels,
/// length) by the weights (outputs, channels, kernel), plus the bias.
pub fn forward<T: Float>(
    shape: &Shape,
    (x, weight): (&[T], &[T]),
    bias: Option<&[T]>,
    out: &mut [T],
    threads: usize,
) {
    let taps = shape.channels * shape.kernel;
    let filter = Filter {
        rows: shape.outputs,
        taps,
        weight: &|row, tap| weight[row * taps + tap],
        bias,
    };
    let width = shape.out_length().unwrap_or(0);
    let product = Product {
        input: shape.input(),
        width,
    };
    product.fill(filter, x, out, threads);
}

/// Fills `out`, shaped as x, with the gradient of the input.
pub fn input_grad<T: Float>(
    shape: &Shape,
    grad: &[T],
    weight: &[T],
    out: &mut [T],
    threads: usize,
) {
    let (channels, kernel) = (shape.channels, shape.kernel);
    let flipped = |row: usize, tap: usize| {
        let (output, tap) = (tap / kernel, kernel - 1 - tap % kernel);
        weight[(output * channels + row) * kernel + tap]
    };
    let taps = shape.outputs * kernel;
    let filter = Filter {
        rows: channels,
        taps,
        weight: &flipped,
        bias: None,
    };
    let input = shape.gradient(shape.out_length().unwrap_or(0));
    let product = Product {
        input,
        width: shape.length,
    };
    product.fill(filter, grad, out, threads);
}

/// Fills `out`, shaped as the weights, and `out_bias` with the gradients of both.
pub fn weight_grad<T: Float>(
    shape: &Shape,
    (x, grad): (&[T], &[T]),
    out: &mut [T],
    out_bias: Option<&mut [T]>,
    threads: usize,
) {
    weight_grad::fill(shape, (x, grad), (out, out_bias), threads);
}
