//! The order of an epoch.

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use seqloom_core::Key;
use seqloom_load::Permutation;
use seqloom_macros::python_export;

use crate::pool;

/// Fills `out` with the permutation of `range(n)` for the key.
#[python_export]
pub(crate) fn permutation(
    py: Python<'_>,
    n: u64,
    key0: u32,
    key1: u32,
    mut out: PyReadwriteArray1<'_, i64>,
) -> PyResult<()> {
    let out = out.as_slice_mut()?;
    pool::run(py, 1, || Permutation::new(n, Key([key0, key1])).fill(out))
}

/// Returns the number at one index of the permutation of `range(n)` for the key.
#[python_export]
pub(crate) fn permuted(py: Python<'_>, n: u64, key0: u32, key1: u32, index: u64) -> PyResult<u64> {
    pool::run(py, 1, || Permutation::new(n, Key([key0, key1])).get(index))
}

/// Fills `out` with the numbers at the given indices of the permutation of `range(n)`
/// for the key.
#[python_export]
pub(crate) fn permuted_at(
    py: Python<'_>,
    n: u64,
    key: (u32, u32),
    indices: PyReadonlyArray1<'_, i64>,
    mut out: PyReadwriteArray1<'_, i64>,
) -> PyResult<()> {
    let (indices, out) = (indices.as_slice()?, out.as_slice_mut()?);
    let order = Permutation::new(n, Key([key.0, key.1]));
    pool::run(py, 1, || order.write_at(indices, out))
}
