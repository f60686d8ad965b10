//! The border of `seqloom_kernels::int8`.

use numpy::{PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seqloom_kernels::int8::{DEEPEST, Epilogue, Weights, linear};
use seqloom_macros::native;

use super::floats::{self, Floats};
use crate::pool;

/// Fills `out` (m, n) with `x @ (scale * weight).T + bias` of x (m, k), weight (n, k), scale
/// and bias (n); then takes gelu, if asked, and adds `added` (m, n). The rows of x are
/// quantized to 8 bits.
#[native]
pub(crate) fn linear_int8(
    py: Python<'_>,
    x: Floats<'_>,
    weight: (PyReadonlyArray2<'_, i8>, Floats<'_>),
    bias: Option<Floats<'_>>,
    gelu: bool,
    added: Option<Floats<'_>>,
    out: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let ([rows, inputs], [_, outputs]) = (x.axes("x")?, out.axes("out")?);
    let (weight, scale) = weight;
    if inputs > DEEPEST {
        let message = format!("x: expected at most {DEEPEST} numbers a row, got {inputs}");
        return Err(PyValueError::new_err(message));
    }
    floats::check("weight", weight.as_untyped(), &[outputs, inputs])?;
    let x = x.read::<f32>("x", &[rows, inputs])?;
    let scale = scale.read::<f32>("scale", &[outputs])?;
    let bias = floats::read_if::<f32>(bias.as_ref(), "bias", &[outputs])?;
    let added = floats::read_if::<f32>(added.as_ref(), "added", &[rows, outputs])?;
    let mut out = out.write::<f32>("out", &[rows, outputs])?;
    let weights = Weights {
        values: weight.as_slice()?,
        scales: scale.as_slice()?,
        inputs,
    };
    let epilogue = Epilogue {
        bias: floats::slice_if(bias.as_ref())?,
        gelu,
        added: floats::slice_if(added.as_ref())?,
    };
    let threads = seqloom_kernels::worth_waking(threads, rows * outputs * inputs / 200);
    let (x, out) = (x.as_slice()?, out.as_slice_mut()?);
    pool::run_kernel(py, threads, || linear(x, weights, epilogue, out, threads))
}
