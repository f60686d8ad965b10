//! Bindings of `seqloom_kernels::dense`.

use numpy::{Element, PyReadonlyArrayDyn};
use pyo3::{exceptions::PyValueError, prelude::*};
use seqloom_kernels::dense::{self, FeedForward, LinearLayer, Rotation};
use seqloom_kernels::norm::NormRule;
use seqloom_macros::python_export;

use super::floats::{self, Floats, by_dtype};
use crate::pool;

/// A weight matrix (outputs, inputs), and optionally a bias (outputs,).
type DenseArrays<'py> = (Floats<'py>, Option<Floats<'py>>);

/// Fills `out` (rows, outputs) with `x @ weight.T + bias`, plus `residual` if given.
/// Each row of the result depends only on the same row of `x`.
#[python_export]
pub(crate) fn linear_by_row(
    py: Python<'_>,
    x: Floats<'_>,
    layer: DenseArrays<'_>,
    residual: Option<Floats<'_>>,
    out: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let [rows, inputs] = matrix_shape(&x)?;
    let outputs = layer.0.axes::<2>("weight")?[0];
    let threads = seqloom_kernels::useful_threads(threads, rows * inputs * outputs / 40);
    by_dtype!(x, T => {
        let layer_arrays = BorrowedDenseLayer::<T>::new(&layer, [outputs, inputs])?;
        let x = x.read::<T>("x", &[rows, inputs])?;
        let residual = floats::read_opt::<T>(residual.as_ref(), "residual", &[rows, outputs])?;
        let mut out = out.write::<T>("out", &[rows, outputs])?;
        let (layer, x, out) = (layer_arrays.layer(inputs)?, x.as_slice()?, out.as_slice_mut()?);
        let residual = floats::slice_opt(residual.as_ref())?;
        pool::run_kernel(py, threads, || dense::linear(layer, x, residual, out, threads))
    })
}

/// Fills `out` (rows, outputs) with `x @ weight.T + bias`, and applies rotary
/// embeddings to its first heads. The cosines and sines of the angles have shape (rows,
/// head size / 2).
#[python_export]
pub(crate) fn rotary_linear(
    py: Python<'_>,
    x: Floats<'_>,
    layer: DenseArrays<'_>,
    angles: (Floats<'_>, Floats<'_>),
    heads: usize,
    out: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let [rows, inputs] = matrix_shape(&x)?;
    let outputs = layer.0.axes::<2>("weight")?[0];
    let [_, half] = angles.0.axes("cosine")?;
    if 2 * half * heads > outputs {
        let message = format!(
            "heads: {heads} heads of size {} exceed {outputs} outputs",
            2 * half
        );
        return Err(PyValueError::new_err(message));
    }
    let threads = seqloom_kernels::useful_threads(threads, rows * inputs * outputs / 40);
    by_dtype!(x, T => {
        let layer_arrays = BorrowedDenseLayer::<T>::new(&layer, [outputs, inputs])?;
        let x = x.read::<T>("x", &[rows, inputs])?;
        let cosines = angles.0.read::<T>("cosine", &[rows, half])?;
        let sines = angles.1.read::<T>("sine", &[rows, half])?;
        let mut out = out.write::<T>("out", &[rows, outputs])?;
        let (cosines, sines) = (cosines.as_slice()?, sines.as_slice()?);
        let rotation = Rotation { cosines, sines, half, heads };
        let (layer, x, out) = (layer_arrays.layer(inputs)?, x.as_slice()?, out.as_slice_mut()?);
        pool::run_kernel(py, threads, || dense::linear_then_rotate(layer, rotation, x, out, threads))
    })
}

/// Fills `out` (rows, width) with x plus a feed-forward block: layer norm, a linear
/// layer, gelu and another linear layer.
#[python_export]
pub(crate) fn feed_forward(
    py: Python<'_>,
    x: Floats<'_>,
    norm: (Floats<'_>, Floats<'_>, f64),
    inner: DenseArrays<'_>,
    outer: DenseArrays<'_>,
    out: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let [rows, width] = matrix_shape(&x)?;
    let hidden = inner.0.axes::<2>("weight_in")?[0];
    let threads = seqloom_kernels::useful_threads(threads, rows * width * hidden / 20);
    by_dtype!(x, T => {
        let weight = norm.0.read::<T>("norm_weight", &[width])?;
        let bias = norm.1.read::<T>("norm_bias", &[width])?;
        let inner = BorrowedDenseLayer::<T>::new(&inner, [hidden, width])?;
        let outer = BorrowedDenseLayer::<T>::new(&outer, [width, hidden])?;
        let x = x.read::<T>("x", &[rows, width])?;
        let mut out = out.write::<T>("out", &[rows, width])?;
        let norm = NormRule { weight: weight.as_slice()?, bias: Some(bias.as_slice()?), epsilon: norm.2 };
        let part = FeedForward { norm, inner: inner.layer(width)?, outer: outer.layer(hidden)? };
        let (x, out) = (x.as_slice()?, out.as_slice_mut()?);
        pool::run_kernel(py, threads, || part.apply(x, out, threads))
    })
}

/// The arrays of a layer, borrowed for reading.
struct BorrowedDenseLayer<'py, T: Element> {
    weight: PyReadonlyArrayDyn<'py, T>,
    bias: Option<PyReadonlyArrayDyn<'py, T>>,
}

impl<'py, T: Element> BorrowedDenseLayer<'py, T> {
    fn new((weight, bias): &DenseArrays<'py>, shape: [usize; 2]) -> PyResult<Self> {
        let weight = weight.read("weight", &shape)?;
        let bias = floats::read_opt(bias.as_ref(), "bias", &shape[..1])?;
        Ok(Self { weight, bias })
    }

    fn layer(&self, inputs: usize) -> PyResult<LinearLayer<'_, T>> {
        Ok(LinearLayer {
            weight: self.weight.as_slice()?,
            bias: floats::slice_opt(self.bias.as_ref())?,
            inputs,
        })
    }
}

/// Returns the shape of a matrix with at least one column.
fn matrix_shape(x: &Floats<'_>) -> PyResult<[usize; 2]> {
    match x.axes("x")? {
        [_, 0] => Err(PyValueError::new_err(
            "x: expected rows of at least one number",
        )),
        sizes => Ok(sizes),
    }
}
