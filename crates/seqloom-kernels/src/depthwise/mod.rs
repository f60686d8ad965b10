//! Depthwise convolutions of stride one, and their derivatives: each output channel sees one
//! channel of the input.
//!
//! A channel is copied into a frame of zeros ([`frame`]), row after row. There a tap is an
//! offset for all positions at once, and the sums of the taps ([`taps`]) are those of long
//! rows, whose numbers between two rows of the output are thrown away.

mod frame;
mod taps;
#[cfg(test)]
mod tests;

use crate::conv::Shape;
use crate::{Float, Instances, parallel};
use frame::Frame;
use seqloom_macros::compiled_once;
use taps::{Products, Sums, add_products, fill_sums};

/// Whether a convolution is one of these.
pub fn suits(shape: &Shape) -> bool {
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
    let frame = Frame::of_input(shape);
    let (offsets, taps) = (frame.offsets(), shape.kernel[0] * shape.kernel[1]);
    let (plane, multiple) = (area(shape.size), multiple(shape));
    parallel::chunks(out, area(frame.out), threads, |number, out| {
        let output = number % shape.outputs;
        let channel = number / shape.outputs * shape.channels + output / multiple;
        frame.with_scratch(|framed, sums| {
            frame.fill(&x[channel * plane..][..plane], framed);
            fill_sums(Sums {
                framed,
                offsets: &offsets,
                weights: &weight[output * taps..][..taps],
                start: Some(bias.map_or(T::ZERO, |bias| bias[output])),
                out: sums,
            });
            frame.take(sums, out);
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
    let frame = Frame::of_gradient(shape);
    // The gradient sees the taps in reverse.
    let mut offsets = frame.offsets();
    offsets.reverse();
    let (plane, taps) = (area(frame.size), shape.kernel[0] * shape.kernel[1]);
    let multiple = multiple(shape);
    parallel::chunks(out, area(frame.out), threads, |number, out| {
        let (sample, channel) = (number / shape.channels, number % shape.channels);
        frame.with_scratch(|framed, sums| {
            for part in 0..multiple {
                let output = channel * multiple + part;
                let first = (sample * shape.outputs + output) * plane;
                frame.fill(&grad[first..][..plane], framed);
                fill_sums(Sums {
                    framed,
                    offsets: &offsets,
                    weights: &weight[output * taps..][..taps],
                    start: (part == 0).then_some(T::ZERO),
                    out: sums,
                });
            }
            frame.take(sums, out);
        });
    });
}

/// Fills `out` and `bias` as `conv::weight_grad` does.
#[compiled_once]
pub fn weight_grad<T: Float>(
    shape: &Shape,
    (x, grad): (&[T], &[T]),
    out: &mut [T],
    bias: Option<&mut [T]>,
    threads: usize,
) {
    let frame = Frame::of_input(shape);
    let (offsets, multiple) = (frame.offsets(), multiple(shape));
    let (plane, positions) = (area(shape.size), area(frame.out));
    let gradient = |sample: usize, output: usize| {
        &grad[(sample * shape.outputs + output) * positions..][..positions]
    };
    parallel::chunks(out, offsets.len(), threads, |output, out| {
        out.fill(T::ZERO);
        frame.with_scratch(|framed, spread| {
            for sample in 0..shape.batch {
                let channel = sample * shape.channels + output / multiple;
                frame.fill(&x[channel * plane..][..plane], framed);
                frame.spread(gradient(sample, output), spread);
                add_products(Products {
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
            .map(|sample| parallel::sum(gradient(sample, output)))
            .sum();
    }
}

/// Output channels of an input channel.
fn multiple(shape: &Shape) -> usize {
    shape.outputs / shape.channels
}

/// Positions of a plane.
fn area([height, width]: [usize; 2]) -> usize {
    height * width
}
