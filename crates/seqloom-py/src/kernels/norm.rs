//! Bindings of `seqloom_kernels::norm`.

use pyo3::{exceptions::PyValueError, prelude::*};
use seqloom_kernels::norm::{NormBackwardInputs, NormRule};
use seqloom_macros::python_export;

use super::floats::{self, Floats, by_dtype};
use crate::pool;

/// Computes the normalised rows of x (n, k), and for each row of x the mean and the
/// inverse of the standard deviation (n,). Without a bias, the function computes RMS
/// norm, which does not subtract the mean.
#[python_export]
pub(crate) fn normalise_rows(
    py: Python<'_>,
    x: Floats<'_>,
    weight: Floats<'_>,
    bias: Option<Floats<'_>>,
    eps: f64,
    out: Floats<'_>,
    out_mean: Floats<'_>,
    out_inverse: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let [rows, width] = matrix_shape(&x)?;
    let threads = seqloom_kernels::useful_threads(threads, x.len());
    by_dtype!(x, T => {
        let (x, weight) = (x.read::<T>("x", &[rows, width])?, weight.read::<T>("weight", &[width])?);
        let bias = floats::read_opt::<T>(bias.as_ref(), "bias", &[width])?;
        let mut out = out.write::<T>("out", &[rows, width])?;
        let mut mean = out_mean.write::<T>("out_mean", &[rows])?;
        let mut inverse = out_inverse.write::<T>("out_inverse", &[rows])?;
        let rule = NormRule { weight: weight.as_slice()?, bias: floats::slice_opt(bias.as_ref())?, epsilon: eps };
        let (x, outs) = (x.as_slice()?, [out.as_slice_mut()?, mean.as_slice_mut()?, inverse.as_slice_mut()?]);
        pool::run_kernel(py, threads, || seqloom_kernels::norm::normalise(rule, x, outs, threads))
    })
}

/// Fills the gradients of the input, weight and bias of layer norm, or those of RMS
/// norm if no means are given.
#[python_export]
pub(crate) fn normalise_rows_grad(
    py: Python<'_>,
    grad: Floats<'_>,
    x: Floats<'_>,
    weight: Floats<'_>,
    mean: Option<Floats<'_>>,
    inverse: Floats<'_>,
    out: Floats<'_>,
    out_weight: Floats<'_>,
    out_bias: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let [rows, width] = matrix_shape(&x)?;
    let threads = seqloom_kernels::useful_threads(threads, x.len());
    by_dtype!(x, T => {
        let (grad, x) = (grad.read::<T>("grad", &[rows, width])?, x.read::<T>("x", &[rows, width])?);
        let weight = weight.read::<T>("weight", &[width])?;
        let mean = floats::read_opt::<T>(mean.as_ref(), "mean", &[rows])?;
        let inverse = inverse.read::<T>("inverse", &[rows])?;
        let mut out = out.write::<T>("out", &[rows, width])?;
        let mut by_weight = out_weight.write::<T>("out_weight", &[width])?;
        let mut by_bias = out_bias.write::<T>("out_bias", &[width])?;
        let given = NormBackwardInputs {
            grad: grad.as_slice()?,
            x: x.as_slice()?,
            means: floats::slice_opt(mean.as_ref())?,
            inverses: inverse.as_slice()?,
        };
        let weight = weight.as_slice()?;
        let outs = [out.as_slice_mut()?, by_weight.as_slice_mut()?, by_bias.as_slice_mut()?];
        pool::run_kernel(py, threads, || seqloom_kernels::norm::normalise_grad(weight, given, outs, threads))
    })
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
