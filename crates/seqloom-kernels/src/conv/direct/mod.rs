//! Convolutions that do not pack the windows of the input. The convolutions of this
//! module compute one output row at a time, and are used for few taps or few channels.
//!
//! All three passes are matrix products, but the matrix of windows is never built. The
//! input of an output row is copied once into zero-padded rows ([`rows`]), in which
//! each tap of the filter is at a fixed offset.

mod forward;
mod rows;
mod weight_grad;

use super::Shape;
use crate::{Float, tuned};
use forward::{Filter, WindowProduct};
use rows::{InputRows, to_isize};

/// Returns true if convolution without packing is faster. `products` is the number of
/// products that are summed for each output value.
pub(super) fn is_faster(shape: &Shape, products: usize) -> bool {
    let pays = if has_one_axis(shape) {
        products <= tuned::CONV_MAX_PRODUCTS_1D
    } else {
        products <= tuned::CONV_MAX_PRODUCTS_2D && shape.size[1] >= tuned::CONV_MIN_WINDOWS
    };
    shape.groups == 1 && pays
}

/// Returns true if convolution without packing is faster for a filter with `rows` rows.
/// With few rows, each window is used too rarely to justify the time of packing.
pub(super) fn is_faster_for_rows(shape: &Shape, rows: usize) -> bool {
    let is_simple = has_one_axis(shape) && shape.groups == 1 && shape.stride[1] == 1;
    is_simple
        && tuned::CONV_GRAD_OUTPUTS.contains(&rows)
        && shape.positions() >= tuned::CONV_MIN_WINDOWS
}

fn has_one_axis(shape: &Shape) -> bool {
    shape.size[0] == 1 && shape.kernel[0] == 1 && shape.padding[0] == 0
}

impl Shape {
    /// Returns the memory layout of the input for the forward pass and the weight
    /// gradient.
    fn input_rows(&self) -> InputRows {
        InputRows {
            channels: self.channels,
            size: self.size,
            spread: [1, 1],
            start: self.padding.map(|padding| -to_isize(padding)),
            stride: self.stride,
            kernel: self.kernel,
            dilation: self.dilation,
        }
    }

    /// Returns the memory layout of the output gradient from which the input gradient
    /// is computed. The layout has reversed taps, and zeros between positions if the
    /// stride is above 1.
    fn gradient_rows(&self) -> InputRows {
        let start = |axis: usize| {
            let reach = self.dilation[axis] * self.kernel[axis].saturating_sub(1);
            to_isize(self.padding[axis]) - to_isize(reach)
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
        input: shape.input_rows(),
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
        input: shape.gradient_rows(),
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
    weight_grad::fill_weight_grad(shape, (x, grad), (out, out_bias), threads);
}
