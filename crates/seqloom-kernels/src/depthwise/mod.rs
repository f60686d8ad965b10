//! Depthwise convolutions of stride 1, and their gradients. In a depthwise convolution,
//! each output channel is computed from one input channel.
//!
//! A channel is copied into a zero-padded frame ([`frame`]), in which the offset of a
//! tap is the same for all positions. Sums over taps ([`taps`]) are computed as if the
//! frame were one long row, and the values between two output rows are discarded.

mod frame;
mod taps;
#[cfg(test)]
mod tests;

use crate::conv::Shape;
use crate::{Float, Instances, parallel};
use frame::PaddedFrame;
use seqloom_macros::compiled_once;
use taps::{TapProducts, TapSums, add_products, fill_sums};

/// Returns true if this module supports the convolution.
pub fn is_depthwise(shape: &Shape) -> bool {
    shape.groups > 1 && shape.groups == shape.channels && shape.stride == [1, 1]
}

/// Fills `out` as `conv::forward` does.
#[compiled_once]
pub fn forward<T: Float>(
    shape: &Shape,
    (x, weight): (&[T], &[T]),
    bias: Option<&[T]>,
    out: &mut [T],
    threads: usize,
) {
    let frame = PaddedFrame::for_input(shape);
    let (offsets, taps) = (frame.offsets(), shape.kernel[0] * shape.kernel[1]);
    let (plane, outputs_per_input) = (plane_size(shape.size), outputs_per_input(shape));
    parallel::fill_chunks(out, plane_size(frame.out), threads, |number, out| {
        let output = number % shape.outputs;
        let channel = number / shape.outputs * shape.channels + output / outputs_per_input;
        frame.with_scratch(|framed, sums| {
            frame.fill_frame(&x[channel * plane..][..plane], framed);
            fill_sums(TapSums {
                framed,
                offsets: &offsets,
                weights: &weight[output * taps..][..taps],
                start: Some(bias.map_or(T::ZERO, |bias| bias[output])),
                out: sums,
            });
            frame.gather(sums, out);
        });
    });
}

/// Fills `out` as `conv::input_grad` does.
#[compiled_once]
pub fn input_grad<T: Float>(
    shape: &Shape,
    grad: &[T],
    weight: &[T],
    out: &mut [T],
    threads: usize,
) {
    let frame = PaddedFrame::for_gradient(shape);
    // The input gradient uses the taps of the filter in reverse order.
    let mut offsets = frame.offsets();
    offsets.reverse();
    let (plane, taps) = (plane_size(frame.size), shape.kernel[0] * shape.kernel[1]);
    let outputs_per_input = outputs_per_input(shape);
    parallel::fill_chunks(out, plane_size(frame.out), threads, |number, out| {
        let (sample, channel) = (number / shape.channels, number % shape.channels);
        frame.with_scratch(|framed, sums| {
            for part in 0..outputs_per_input {
                let output = channel * outputs_per_input + part;
                let first = (sample * shape.outputs + output) * plane;
                frame.fill_frame(&grad[first..][..plane], framed);
                fill_sums(TapSums {
                    framed,
                    offsets: &offsets,
                    weights: &weight[output * taps..][..taps],
                    start: (part == 0).then_some(T::ZERO),
                    out: sums,
                });
            }
            frame.gather(sums, out);
        });
    });
}

/// Fills `out` and `bias` in the same way as `conv::weight_grad`.
#[compiled_once]
pub fn weight_grad<T: Float>(
    shape: &Shape,
    (x, grad): (&[T], &[T]),
    out: &mut [T],
    bias: Option<&mut [T]>,
    threads: usize,
) {
    let frame = PaddedFrame::for_input(shape);
    let (offsets, outputs_per_input) = (frame.offsets(), outputs_per_input(shape));
    let (plane, positions) = (plane_size(shape.size), plane_size(frame.out));
    let gradient = |sample: usize, output: usize| {
        &grad[(sample * shape.outputs + output) * positions..][..positions]
    };
    parallel::fill_chunks(out, offsets.len(), threads, |output, out| {
        out.fill(T::ZERO);
        frame.with_scratch(|framed, spread| {
            for sample in 0..shape.batch {
                let channel = sample * shape.channels + output / outputs_per_input;
                frame.fill_frame(&x[channel * plane..][..plane], framed);
                frame.scatter(gradient(sample, output), spread);
                add_products(TapProducts {
                    framed,
                    offsets: &offsets,
                    spread,
                    out: &mut *out,
                });
            }
        });
    });
    let Some(bias) = bias else { return };
    for (output, bias) in bias.iter_mut().enumerate() {
        *bias = (0..shape.batch)
            .map(|sample| parallel::sum_row(gradient(sample, output)))
            .sum();
    }
}

/// Returns the number of output channels per input channel.
fn outputs_per_input(shape: &Shape) -> usize {
    shape.outputs / shape.channels
}

/// Returns the number of values of a channel of a sample.
fn plane_size([height, width]: [usize; 2]) -> usize {
    height * width
}
