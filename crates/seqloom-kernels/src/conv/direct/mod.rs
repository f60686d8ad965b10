//! Convolutions that do not pack the input's windows, a row of the output at a time; for few
//! taps, or few channels of one axis.
//!
//! All three are matrix products in which one matrix, the input's windows side by side,
//! is never built: what a row of the output sees is copied once into rows with zeros
//! around them ([`rows`]), where a tap is an offset, and a window's number stands at position
//! plus offset.

mod forward;
mod rows;
mod weight_grad;

use super::Shape;
use crate::{Float, tuned};
use forward::{Filter, WindowProduct};
use rows::{InputRows, signed};

/// Whether this is quicker than packing, where `products` are summed for a number.
pub(super) fn suits(shape: &Shape, products: usize) -> bool {
    let pays = if is_row(shape) {
        products <= tuned::CONV_MAX_PRODUCTS_1D
    } else {
        products <= tuned::CONV_MAX_PRODUCTS_2D && shape.size[1] >= tuned::CONV_MIN_WINDOWS
    };
    shape.groups == 1 && pays
}

/// Whether this is quicker than packing, for a filter of so many rows, whatever it sums: few
/// rows use a window too seldom to pay for its packing.
pub(super) fn suits_rows(shape: &Shape, rows: usize) -> bool {
    let is_simple = is_row(shape) && shape.groups == 1 && shape.stride[1] == 1;
    is_simple
        && tuned::CONV_GRAD_OUTPUTS.contains(&rows)
        && shape.positions() >= tuned::CONV_MIN_WINDOWS
}

fn is_row(shape: &Shape) -> bool {
    shape.size[0] == 1 && shape.kernel[0] == 1 && shape.padding[0] == 0
}

impl Shape {
    /// The input as the forward pass and the weights' gradient read it.
    fn rows_of_input(&self) -> InputRows {
        InputRows {
            channels: self.channels,
            size: self.size,
            spread: [1, 1],
            start: self.padding.map(|padding| -signed(padding)),
            stride: self.stride,
            kernel: self.kernel,
            dilation: self.dilation,
        }
    }

    /// The output's gradient as the input's gradient reads it: with the stride's gaps
    /// between its positions, and the taps in reverse.
    fn rows_of_gradient(&self) -> InputRows {
        let start = |axis: usize| {
            let reach = self.dilation[axis] * self.kernel[axis].saturating_sub(1);
            signed(self.padding[axis]) - signed(reach)
        };
        InputRows {
            channels: self.outputs,
            size: self.out_size().unwrap_or_default(),
            spread: self.stride,
            start: [start(0), start(1)],
            stride: [1, 1],
            kernel: self.kernel,
            dilation: self.dilation,
        }
    }
}

/// Fills `out` as `conv::forward` does.
pub(super) fn forward<T: Float>(
    shape: &Shape,
    (x, weight): (&[T], &[T]),
    bias: Option<&[T]>,
    out: &mut [T],
    threads: usize,
) {
    let taps = shape.taps();
    let filter = Filter {
        rows: shape.outputs,
        taps,
        weight: &|row, tap| weight[row * taps + tap],
        bias,
    };
    let product = WindowProduct {
        input: shape.rows_of_input(),
        size: shape.out_size().unwrap_or_default(),
    };
    product.fill(filter, x, out, threads);
}

/// Fills `out` as `conv::input_grad` does.
pub(super) fn input_grad<T: Float>(
    shape: &Shape,
    grad: &[T],
    weight: &[T],
    out: &mut [T],
    threads: usize,
) {
    let (channels, window) = (shape.channels, shape.kernel[0] * shape.kernel[1]);
    let flipped = |row: usize, tap: usize| {
        let (output, tap) = (tap / window, window - 1 - tap % window);
        weight[(output * channels + row) * window + tap]
    };
    let filter = Filter {
        rows: channels,
        taps: shape.outputs * window,
        weight: &flipped,
        bias: None,
    };
    let product = WindowProduct {
        input: shape.rows_of_gradient(),
        size: shape.size,
    };
    product.fill(filter, grad, out, threads);
}

/// Fills `out` and `out_bias` as `conv::weight_grad` does.
pub(super) fn weight_grad<T: Float>(
    shape: &Shape,
    (x, grad): (&[T], &[T]),
    out: &mut [T],
    out_bias: Option<&mut [T]>,
    threads: usize,
) {
    weight_grad::fill(shape, (x, grad), (out, out_bias), threads);
}
