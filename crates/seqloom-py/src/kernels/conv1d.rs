//! The border of `seqloom_kernels::conv1d`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seqloom_kernels::conv1d::{self as kernel, Shape};

use super::floats::{self, Floats, by_dtype};
use super::pool;

/// Fills `out` (n, o, lo) with x (n, c, l) convolved by `weight` (o, c, k), plus `bias` (o).
#[cfg_attr(
    feature = "stubs",
    pyo3_stub_gen::derive::gen_stub_pyfunction(module = "seqloom._rust._native")
)]
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "a border function names every array"
)]
pub(crate) fn conv1d(
    py: Python<'_>,
    x: Floats<'_>,
    weight: Floats<'_>,
    bias: Option<Floats<'_>>,
    out: Floats<'_>,
    stride: usize,
    padding: usize,
    dilation: usize,
    threads: usize,
) -> PyResult<()> {
    let (shape, out_shape) = sizes(
        x.axes("x")?,
        weight.axes("weight")?,
        [stride, padding, dilation],
    )?;
    let threads = seqloom_kernels::crew(threads, shape.nanoseconds());
    by_dtype!(x, T => {
        let x = x.read::<T>("x", x.shape())?;
        let weight = weight.read::<T>("weight", &[shape.outputs, shape.channels, shape.kernel])?;
        let bias = floats::read_if::<T>(bias.as_ref(), "bias", &[shape.outputs])?;
        let mut out = out.write::<T>("out", &out_shape)?;
        let (x, weight, out) = (x.as_slice()?, weight.as_slice()?, out.as_slice_mut()?);
        let bias = floats::slice_if(bias.as_ref())?;
        pool::run(py, threads, || kernel::forward(&shape, (x, weight), bias, out, threads))
    })
}

/// Fills `out` (n, c, l) with the gradient of a convolution's input.
#[cfg_attr(
    feature = "stubs",
    pyo3_stub_gen::derive::gen_stub_pyfunction(module = "seqloom._rust._native")
)]
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "a border function names every array"
)]
pub(crate) fn conv1d_input_grad(
    py: Python<'_>,
    grad: Floats<'_>,
    weight: Floats<'_>,
    out: Floats<'_>,
    stride: usize,
    padding: usize,
    dilation: usize,
    threads: usize,
) -> PyResult<()> {
    let (shape, grad_shape) = sizes(
        out.axes("out")?,
        weight.axes("weight")?,
        [stride, padding, dilation],
    )?;
    let threads = seqloom_kernels::crew(threads, shape.nanoseconds());
    by_dtype!(grad, T => {
        let grad = grad.read::<T>("grad", &grad_shape)?;
        let weight = weight.read::<T>("weight", &[shape.outputs, shape.channels, shape.kernel])?;
        let mut out = out.write::<T>("out", out.shape())?;
        let (grad, weight, out) = (grad.as_slice()?, weight.as_slice()?, out.as_slice_mut()?);
        pool::run(py, threads, || kernel::input_grad(&shape, grad, weight, out, threads))
    })
}

/// Fills `out` (o, c, k) and `out_bias` (o) with the gradients of a convolution's weights.
#[cfg_attr(
    feature = "stubs",
    pyo3_stub_gen::derive::gen_stub_pyfunction(module = "seqloom._rust._native")
)]
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "a border function names every array"
)]
pub(crate) fn conv1d_weight_grad(
    py: Python<'_>,
    x: Floats<'_>,
    grad: Floats<'_>,
    out: Floats<'_>,
    out_bias: Option<Floats<'_>>,
    stride: usize,
    padding: usize,
    dilation: usize,
    threads: usize,
) -> PyResult<()> {
    let (shape, grad_shape) = sizes(x.axes("x")?, out.axes("out")?, [stride, padding, dilation])?;
    let threads = seqloom_kernels::crew(threads, shape.nanoseconds());
    by_dtype!(x, T => {
        let x = x.read::<T>("x", x.shape())?;
        let grad = grad.read::<T>("grad", &grad_shape)?;
        let mut out = out.write::<T>("out", out.shape())?;
        let mut bias = out_bias.map(|bias| bias.write::<T>("out_bias", &[shape.outputs])).transpose()?;
        let (x, grad, out) = (x.as_slice()?, grad.as_slice()?, out.as_slice_mut()?);
        let bias = bias.as_mut().map(|bias| bias.as_slice_mut()).transpose()?;
        pool::run(py, threads, || kernel::weight_grad(&shape, (x, grad), out, bias, threads))
    })
}

/// The sizes of a convolution and of its output, from its input, its weights and
/// (stride, padding, dilation).
fn sizes(x: [usize; 3], weight: [usize; 3], steps: [usize; 3]) -> PyResult<(Shape, [usize; 3])> {
    let ([batch, channels, length], [outputs, inner, kernel]) = (x, weight);
    let [stride, padding, dilation] = steps;
    let shape = Shape {
        batch,
        channels,
        length,
        outputs,
        kernel,
        stride,
        padding,
        dilation,
    };
    let sound = inner == channels && stride > 0 && dilation > 0;
    match shape.out_length().filter(|_| sound) {
        Some(width) => Ok((shape, [batch, outputs, width])),
        None => Err(PyValueError::new_err(format!(
            "conv1d: expected x (n, c, l) and weight (o, c, k) with stride and dilation above 0 and the filter \
             within the padded row, got x {x:?}, weight {weight:?}, stride {stride}, padding {padding}, \
             dilation {dilation}"
        ))),
    }
}
