//! Bindings of `seqloom_kernels::int8`.

use numpy::{PyArrayMethods, PyReadonlyArray2, PyReadonlyArrayDyn};
use pyo3::{exceptions::PyValueError, prelude::*};
use seqloom_kernels::dense::Rotation;
use seqloom_kernels::int8::{self, Int8FeedForward, Int8Layer, MAX_INPUTS};
use seqloom_kernels::norm::NormRule;
use seqloom_macros::python_export;

use super::floats::{self, Floats};
use crate::pool;

/// A weight matrix (outputs, inputs), a scale for each output, a factor for each input,
/// and optionally a bias (outputs,).
type Int8Arrays<'py> = (
    PyReadonlyArray2<'py, i8>,
    Floats<'py>,
    Floats<'py>,
    Option<Floats<'py>>,
);

/// Fills `out` (rows, outputs) with `(x * factor) @ (weight * scale).T + bias`, plus
/// `residual` if given. The values of each row are rounded to 8 bits, independently of
/// other rows.
#[python_export]
pub(crate) fn linear_int8(
    py: Python<'_>,
    x: Floats<'_>,
    layer: Int8Arrays<'_>,
    residual: Option<Floats<'_>>,
    out: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let ([rows, inputs], [_, outputs]) = (x.axes("x")?, out.axes("out")?);
    let threads = useful_threads(threads, [rows, inputs, outputs]);
    let layer_arrays = BorrowedInt8Layer::new(&layer, [outputs, inputs])?;
    let x = x.read::<f32>("x", &[rows, inputs])?;
    let residual = floats::read_opt::<f32>(residual.as_ref(), "residual", &[rows, outputs])?;
    let mut out = out.write::<f32>("out", &[rows, outputs])?;
    let (layer, x, out) = (layer_arrays.layer()?, x.as_slice()?, out.as_slice_mut()?);
    let residual = floats::slice_opt(residual.as_ref())?;
    pool::run_kernel(py, threads, || {
        int8::linear(layer, x, residual, out, threads);
    })
}

/// Fills `out` like `linear_int8` without a residual, and applies rotary embeddings to
/// the first heads. The cosines and sines of the angles have shape (rows, head size /
/// 2).
#[python_export]
pub(crate) fn rotary_linear_int8(
    py: Python<'_>,
    x: Floats<'_>,
    layer: Int8Arrays<'_>,
    angles: (Floats<'_>, Floats<'_>),
    heads: usize,
    out: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let ([rows, inputs], [_, outputs]) = (x.axes("x")?, out.axes("out")?);
    let [_, half] = angles.0.axes("cosine")?;
    if 2 * half * heads > outputs {
        let width = 2 * half;
        let message = format!("heads: {heads} heads of size {width} exceed {outputs} outputs");
        return Err(PyValueError::new_err(message));
    }
    let threads = useful_threads(threads, [rows, inputs, outputs]);
    let layer_arrays = BorrowedInt8Layer::new(&layer, [outputs, inputs])?;
    let x = x.read::<f32>("x", &[rows, inputs])?;
    let cosines = angles.0.read::<f32>("cosine", &[rows, half])?;
    let sines = angles.1.read::<f32>("sine", &[rows, half])?;
    let mut out = out.write::<f32>("out", &[rows, outputs])?;
    let rotation = Rotation {
        cosines: cosines.as_slice()?,
        sines: sines.as_slice()?,
        half,
        heads,
    };
    let (layer, x, out) = (layer_arrays.layer()?, x.as_slice()?, out.as_slice_mut()?);
    pool::run_kernel(py, threads, || {
        int8::linear_then_rotate(layer, rotation, x, out, threads);
    })
}

/// Fills `out` (rows, width) with x plus a feed-forward block: layer norm, a linear
/// layer, gelu and another linear layer.
#[python_export]
pub(crate) fn feed_forward_int8(
    py: Python<'_>,
    x: Floats<'_>,
    norm: (Floats<'_>, Floats<'_>, f64),
    inner: Int8Arrays<'_>,
    outer: Int8Arrays<'_>,
    out: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let ([rows, width], [hidden]) = (x.axes("x")?, inner.1.axes("scale_in")?);
    let threads = useful_threads(threads, [rows, width, 2 * hidden]);
    let weight = norm.0.read::<f32>("norm_weight", &[width])?;
    let bias = norm.1.read::<f32>("norm_bias", &[width])?;
    let (inner, outer) = (
        BorrowedInt8Layer::new(&inner, [hidden, width])?,
        BorrowedInt8Layer::new(&outer, [width, hidden])?,
    );
    let x = x.read::<f32>("x", &[rows, width])?;
    let mut out = out.write::<f32>("out", &[rows, width])?;
    let norm = NormRule {
        weight: weight.as_slice()?,
        bias: Some(bias.as_slice()?),
        epsilon: norm.2,
    };
    let part = Int8FeedForward {
        norm,
        inner: inner.layer()?,
        outer: outer.layer()?,
    };
    let (x, out) = (x.as_slice()?, out.as_slice_mut()?);
    pool::run_kernel(py, threads, || part.apply(x, out, threads))
}

fn useful_threads(threads: usize, sizes: [usize; 3]) -> usize {
    let products: usize = sizes.into_iter().product();
    seqloom_kernels::useful_threads(threads, products / 200)
}

/// The arrays of a layer, borrowed for reading.
struct BorrowedInt8Layer<'a, 'py> {
    weight: &'a PyReadonlyArray2<'py, i8>,
    scales: PyReadonlyArrayDyn<'py, f32>,
    factors: PyReadonlyArrayDyn<'py, f32>,
    bias: Option<PyReadonlyArrayDyn<'py, f32>>,
}

impl<'a, 'py> BorrowedInt8Layer<'a, 'py> {
    fn new(
        (weight, scales, factors, bias): &'a Int8Arrays<'py>,
        [outputs, inputs]: [usize; 2],
    ) -> PyResult<Self> {
        if !(1..=MAX_INPUTS).contains(&inputs) {
            let message = format!("x: expected rows of 1 to {MAX_INPUTS} numbers, got {inputs}");
            return Err(PyValueError::new_err(message));
        }
        floats::check_layout("weight", weight.as_untyped(), &[outputs, inputs])?;
        Ok(Self {
            weight,
            scales: scales.read("scale", &[outputs])?,
            factors: factors.read("factor", &[inputs])?,
            bias: floats::read_opt(bias.as_ref(), "bias", &[outputs])?,
        })
    }

    fn layer(&self) -> PyResult<Int8Layer<'_>> {
        Ok(Int8Layer {
            weight: self.weight.as_slice()?,
            scales: self.scales.as_slice()?,
            factors: self.factors.as_slice()?,
            bias: floats::slice_opt(self.bias.as_ref())?,
        })
    }
}
