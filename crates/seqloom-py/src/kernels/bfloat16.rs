//! The border of `seqloom_kernels::bfloat16`: numbers of 16 bits are passed as such.

use numpy::{
    PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyReadwriteArray2,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seqloom_kernels::bfloat16::{FeedForward, Layer, Machine, Norm, linear, linear_then_rotate};
use seqloom_kernels::dense::Rotation;
use seqloom_macros::native;

use super::floats::{self, Floats};
use crate::pool;

/// A weight (outputs, inputs) and a bias (outputs,) or none.
type Weights<'py> = (
    PyReadonlyArray2<'py, u16>,
    Option<PyReadonlyArray1<'py, u16>>,
);

/// The factors and biases of a norm, and what is added to the variance.
type Affine<'py> = (PyReadonlyArray1<'py, u16>, PyReadonlyArray1<'py, u16>, f64);

/// Whether this machine multiplies numbers in bfloat16, and may.
#[native]
pub(crate) fn has_bfloat16() -> bool {
    Machine::find().is_some()
}

/// Fills `out` (rows, outputs) with `x @ weight.T + bias`, and the residual added where there
/// is one, all in bfloat16.
#[native]
pub(crate) fn linear_by_row_bfloat16(
    py: Python<'_>,
    x: PyReadonlyArray2<'_, u16>,
    layer: Weights<'_>,
    residual: Option<PyReadonlyArray2<'_, u16>>,
    mut out: PyReadwriteArray2<'_, u16>,
    threads: usize,
) -> PyResult<()> {
    let layer = layer_of(&layer)?;
    let rows = check_rows(&x, layer.inputs, (&out, layer.outputs()))?;
    if let Some(residual) = &residual {
        floats::check("residual", residual.as_untyped(), out.as_untyped().shape())?;
    }
    let residual = residual
        .as_ref()
        .map(PyReadonlyArray2::as_slice)
        .transpose()?;
    let threads = seqloom_kernels::worth_waking(threads, rows * layer.weight.len() / 80);
    let (x, out) = (x.as_slice()?, out.as_slice_mut()?);
    pool::run_kernel(py, threads, || linear(layer, x, residual, out, threads))
}

/// Fills `out` (rows, outputs) with `x @ weight.T + bias`, its first heads turned by angles:
/// their cosines and sines (rows, half a head), which are float32.
#[native]
pub(crate) fn rotary_linear_bfloat16(
    py: Python<'_>,
    x: PyReadonlyArray2<'_, u16>,
    layer: Weights<'_>,
    angles: (Floats<'_>, Floats<'_>),
    heads: usize,
    mut out: PyReadwriteArray2<'_, u16>,
    threads: usize,
) -> PyResult<()> {
    let layer = layer_of(&layer)?;
    let rows = check_rows(&x, layer.inputs, (&out, layer.outputs()))?;
    let [_, half] = angles.0.axes("cosine")?;
    let outputs = layer.outputs();
    if 2 * half * heads > outputs {
        let message = format!(
            "heads: {heads} of {} numbers are more than {outputs}",
            2 * half
        );
        return Err(PyValueError::new_err(message));
    }
    let cosines = angles.0.read::<f32>("cosine", &[rows, half])?;
    let sines = angles.1.read::<f32>("sine", &[rows, half])?;
    let rotation = Rotation {
        cosines: cosines.as_slice()?,
        sines: sines.as_slice()?,
        half,
        heads,
    };
    let threads = seqloom_kernels::worth_waking(threads, rows * layer.weight.len() / 80);
    let (x, out) = (x.as_slice()?, out.as_slice_mut()?);
    pool::run_kernel(py, threads, || {
        linear_then_rotate(layer, rotation, x, out, threads);
    })
}

/// Fills `out` (rows, width) with x and, added to it, its layer norm after a layer, gelu and
/// another layer, all in bfloat16.
#[native]
pub(crate) fn feed_forward_bfloat16(
    py: Python<'_>,
    x: PyReadonlyArray2<'_, u16>,
    norm: Affine<'_>,
    inner: Weights<'_>,
    outer: Weights<'_>,
    mut out: PyReadwriteArray2<'_, u16>,
    threads: usize,
) -> PyResult<()> {
    let (inner, outer) = (layer_of(&inner)?, layer_of(&outer)?);
    let width = inner.inputs;
    let rows = check_rows(&x, width, (&out, width))?;
    if outer.inputs * width != outer.weight.len() || outer.weight.len() != inner.weight.len() {
        let message = "weight_out: expected the shape of weight_in, turned";
        return Err(PyValueError::new_err(message));
    }
    let part = FeedForward {
        norm: norm_of(&norm, width)?,
        inner,
        outer,
    };
    let threads = seqloom_kernels::worth_waking(threads, rows * inner.weight.len() / 40);
    let (x, out) = (x.as_slice()?, out.as_slice_mut()?);
    pool::run_kernel(py, threads, || part.apply(x, out, threads))
}

/// Fills `out` (rows, width) with the layer norm of x, and the mean and one by the deviation of
/// each row, which are float32.
#[native]
pub(crate) fn layer_norm_bfloat16(
    py: Python<'_>,
    x: PyReadonlyArray2<'_, u16>,
    norm: Affine<'_>,
    mut out: PyReadwriteArray2<'_, u16>,
    mut mean: PyReadwriteArray1<'_, f32>,
    mut inverse: PyReadwriteArray1<'_, f32>,
    threads: usize,
) -> PyResult<()> {
    let width = x.shape()[1];
    let norm = norm_of(&norm, width)?;
    let rows = check_rows(&x, width, (&out, width))?;
    floats::check("mean", mean.as_untyped(), &[rows])?;
    floats::check("inverse", inverse.as_untyped(), &[rows])?;
    let threads = seqloom_kernels::worth_waking(threads, rows * width);
    let statistics = [mean.as_slice_mut()?, inverse.as_slice_mut()?];
    let (x, out) = (x.as_slice()?, out.as_slice_mut()?);
    pool::run_kernel(py, threads, || norm.apply(x, out, statistics, threads))
}

/// A norm of rows of this width.
fn norm_of<'a>(norm: &'a Affine<'_>, width: usize) -> PyResult<Norm<'a>> {
    floats::check("norm_weight", norm.0.as_untyped(), &[width])?;
    floats::check("norm_bias", norm.1.as_untyped(), &[width])?;
    Ok(Norm {
        machine: find()?,
        weight: norm.0.as_slice()?,
        bias: norm.1.as_slice()?,
        epsilon: norm.2,
    })
}

fn find() -> PyResult<Machine> {
    let missing = || PyValueError::new_err("this machine has no instructions for bfloat16");
    Machine::find().ok_or_else(missing)
}

/// A layer's numbers, whose inputs must be pairs.
fn layer_of<'a>((weight, bias): &'a Weights<'_>) -> PyResult<Layer<'a>> {
    let (outputs, inputs) = (weight.shape()[0], weight.shape()[1]);
    if inputs == 0 || inputs % 2 == 1 {
        let message = format!("weight: expected an even number of inputs, got {inputs}");
        return Err(PyValueError::new_err(message));
    }
    if let Some(bias) = bias {
        floats::check("bias", bias.as_untyped(), &[outputs])?;
    }
    Ok(Layer {
        machine: find()?,
        weight: weight.as_slice()?,
        bias: bias.as_ref().map(PyReadonlyArray1::as_slice).transpose()?,
        inputs,
    })
}

/// The number of rows of x and of the output, of these widths.
fn check_rows(
    x: &PyReadonlyArray2<'_, u16>,
    width: usize,
    (out, outputs): (&PyReadwriteArray2<'_, u16>, usize),
) -> PyResult<usize> {
    let rows = x.shape()[0];
    floats::check("x", x.as_untyped(), &[rows, width])?;
    floats::check("out", out.as_untyped(), &[rows, outputs])?;
    Ok(rows)
}
