//! Bindings of `seqloom_kernels::dropout`.

use pyo3::{exceptions::PyValueError, prelude::*};
use seqloom_core::key::Key;
use seqloom_kernels::dropout::Dropout;
use seqloom_macros::python_export;

use super::floats::{Floats, by_dtype};
use crate::pool;

/// Fills `out` with x after dropout: a fraction `rate`, chosen by the key, becomes 0,
/// and the rest is scaled.
#[python_export]
pub(crate) fn dropout(
    py: Python<'_>,
    x: Floats<'_>,
    key0: u32,
    key1: u32,
    rate: f64,
    out: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    if !(0.0..1.0).contains(&rate) {
        let message = format!("rate: expected a fraction from 0 to 1 (excluded), got {rate}");
        return Err(PyValueError::new_err(message));
    }
    let threads = seqloom_kernels::useful_threads(threads, 2 * x.len());
    by_dtype!(x, T => {
        let (x, mut out) = (x.read::<T>("x", x.shape())?, out.write::<T>("out", x.shape())?);
        let (x, out) = (x.as_slice()?, out.as_slice_mut()?);
        let rule = Dropout::new(Key([key0, key1]), rate);
        pool::run_kernel(py, threads, || seqloom_kernels::dropout::dropout(rule, x, out, threads))
    })
}
