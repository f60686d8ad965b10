//! Bindings of `seqloom_kernels::conv` and `depthwise`.

use pyo3::{exceptions::PyValueError, prelude::*};
use seqloom_kernels::conv::{self, Shape};
use seqloom_kernels::depthwise;
use seqloom_macros::python_export;

use super::floats::{self, Floats, by_dtype};
use crate::pool;

/// Fills `out` (n, o, ...) with the convolution of x (n, c, h, w) with `weight` (o, c /
/// groups, kh, kw), plus `bias` (o). Stride, padding and dilation are pairs (height,
/// width).
#[python_export]
pub(crate) fn conv2d(
    py: Python<'_>,
    x: Floats<'_>,
    weight: Floats<'_>,
    bias: Option<Floats<'_>>,
    out: Floats<'_>,
    steps: WindowSteps,
    groups: usize,
    threads: usize,
) -> PyResult<()> {
    let (shape, out_shape) = conv_sizes(x.axes("x")?, weight.axes("weight")?, (steps, groups))?;
    let threads = seqloom_kernels::useful_threads(threads, shape.nanoseconds());
    by_dtype!(x, T => {
        let x = x.read::<T>("x", x.shape())?;
        let weight = weight.read::<T>("weight", weight.shape())?;
        let bias = floats::read_opt::<T>(bias.as_ref(), "bias", &[shape.outputs])?;
        let mut out = out.write::<T>("out", &out_shape)?;
        let (x, weight, out) = (x.as_slice()?, weight.as_slice()?, out.as_slice_mut()?);
        let bias = floats::slice_opt(bias.as_ref())?;
        let fill = if depthwise::is_depthwise(&shape) { depthwise::forward } else { conv::forward };
        pool::run_kernel(py, threads, || fill(&shape, (x, weight), bias, out, threads))
    })
}

/// Fills `out` (n, c, h, w) with the gradient of the input of a convolution.
#[python_export]
pub(crate) fn conv2d_input_grad(
    py: Python<'_>,
    grad: Floats<'_>,
    weight: Floats<'_>,
    out: Floats<'_>,
    steps: WindowSteps,
    groups: usize,
    threads: usize,
) -> PyResult<()> {
    let (shape, grad_shape) =
        conv_sizes(out.axes("out")?, weight.axes("weight")?, (steps, groups))?;
    let threads = seqloom_kernels::useful_threads(threads, shape.nanoseconds());
    by_dtype!(grad, T => {
        let grad = grad.read::<T>("grad", &grad_shape)?;
        let weight = weight.read::<T>("weight", weight.shape())?;
        let mut out = out.write::<T>("out", out.shape())?;
        let (grad, weight, out) = (grad.as_slice()?, weight.as_slice()?, out.as_slice_mut()?);
        let fill = if depthwise::is_depthwise(&shape) { depthwise::input_grad } else { conv::input_grad };
        pool::run_kernel(py, threads, || fill(&shape, grad, weight, out, threads))
    })
}

/// Fills `out` (o, c / groups, kh, kw) and `out_bias` (o) with the gradients of the
/// weight and bias of a convolution.
#[python_export]
pub(crate) fn conv2d_weight_grad(
    py: Python<'_>,
    x: Floats<'_>,
    grad: Floats<'_>,
    out: Floats<'_>,
    out_bias: Option<Floats<'_>>,
    steps: WindowSteps,
    groups: usize,
    threads: usize,
) -> PyResult<()> {
    let (shape, grad_shape) = conv_sizes(x.axes("x")?, out.axes("out")?, (steps, groups))?;
    let threads = seqloom_kernels::useful_threads(threads, shape.nanoseconds());
    by_dtype!(x, T => {
        let x = x.read::<T>("x", x.shape())?;
        let grad = grad.read::<T>("grad", &grad_shape)?;
        let mut out = out.write::<T>("out", out.shape())?;
        let mut bias = out_bias.map(|bias| bias.write::<T>("out_bias", &[shape.outputs])).transpose()?;
        let (x, grad, out) = (x.as_slice()?, grad.as_slice()?, out.as_slice_mut()?);
        let bias = bias.as_mut().map(|bias| bias.as_slice_mut()).transpose()?;
        let fill = if depthwise::is_depthwise(&shape) { depthwise::weight_grad } else { conv::weight_grad };
        pool::run_kernel(py, threads, || fill(&shape, (x, grad), out, bias, threads))
    })
}

/// The stride, padding and dilation, each a pair (height, width).
type WindowSteps = ([usize; 2], [usize; 2], [usize; 2]);

/// Returns the shape of a convolution and of its output, from its input and its
/// weights.
fn conv_sizes(
    x: [usize; 4],
    weight: [usize; 4],
    (steps, groups): (WindowSteps, usize),
) -> PyResult<(Shape, [usize; 4])> {
    let ([batch, channels, height, width], [outputs, inner, high, wide]) = (x, weight);
    let shape = Shape {
        batch,
        channels,
        size: [height, width],
        outputs,
        kernel: [high, wide],
        stride: steps.0,
        padding: steps.1,
        dilation: steps.2,
        groups,
    };
    let sound = inner.checked_mul(groups) == Some(channels);
    match shape.out_size().filter(|_| sound) {
        Some([height, width]) => Ok((shape, [batch, outputs, height, width])),
        None => Err(PyValueError::new_err(format!(
            "convolution: expected x (n, c, h, w) and weight (o, c / groups, kh, kw) with groups that divide \
             c and o, stride and dilation above 0 and the filter within the padded positions, got x {x:?}, \
             weight {weight:?}, (stride, padding, dilation) {steps:?}, groups {groups}"
        ))),
    }
}
