//! The gradients of the weights and bias of a convolution.

use super::{Shape, direct, windows::TapRows};
use crate::matrix::MatrixMut;
use crate::product::{self, Epilogue};
use crate::{Float, Instances, parallel, tuned};
use seqloom_macros::compiled_once;

/// Fills `out` with the gradient of the weights, and `out_bias` with the gradient of
/// the bias.
#[compiled_once]
pub fn weight_grad<T: Float>(
    shape: &Shape,
    (x, grad): (&[T], &[T]),
    out: &mut [T],
    out_bias: Option<&mut [T]>,
    threads: usize,
) {
    // With many outputs, the transposed gradient would not fit in an L1 cache.
    if direct::is_faster(shape, shape.taps().max(shape.outputs)) {
        return direct::weight_grad(shape, (x, grad), out, out_bias, threads);
    }
    let samples = shape.batch;
    let size = shape.group_outputs() * shape.taps();
    // If there is one group, the threads split it; otherwise each thread processes some
    // groups.
    let (between, within) = if shape.groups > 1 {
        (threads, 1)
    } else {
        (1, threads)
    };
    parallel::fill_chunks(out, size, between, |group, out| {
        let left = TapRows {
            image: shape.output_image(grad, group),
            samples,
        };
        let right = TapRows {
            image: shape.input_image(x, group),
            samples,
        };
        let out = MatrixMut::new(out, shape.group_outputs(), shape.taps(), shape.taps());
        product::fill_product(&left, &right, out, Epilogue::new(), within);
    });
    if let Some(out) = out_bias {
        bias_grad(shape, grad, out, threads);
    }
}

/// Sums the gradient of each output over all positions, sample by sample.
fn bias_grad<T: Float>(shape: &Shape, grad: &[T], out: &mut [T], threads: usize) {
    let (positions, outputs) = (shape.positions().max(1), shape.outputs);
    parallel::fill_chunks(out, tuned::CONV_BIAS_SUMS, threads, |number, out| {
        for (output, out) in (number * tuned::CONV_BIAS_SUMS..).zip(out) {
            let rows = grad.chunks_exact(positions).skip(output).step_by(outputs);
            *out = rows.map(|row| parallel::sum_row(row)).sum();
        }
    });
}
