//! Counter-based random numbers.

use numpy::{PyReadonlyArray1, PyReadwriteArray1, PyReadwriteArray2};
use pyo3::prelude::*;
use seqloom_core::Key;
use seqloom_macros::python_export;

use crate::pool;

/// Returns the two 32-bit outputs of Threefry-2x32-20 for a key and a counter.
#[python_export]
pub(crate) fn threefry(key0: u32, key1: u32, count0: u32, count1: u32) -> (u32, u32) {
    Key([key0, key1]).random_words([count0, count1]).into()
}

/// Fills `out` with random 32-bit words, in the same order as `threefry_2x32` in JAX.
#[python_export]
pub(crate) fn random_bits(
    py: Python<'_>,
    key0: u32,
    key1: u32,
    mut out: PyReadwriteArray1<'_, u32>,
) -> PyResult<()> {
    let out = out.as_slice_mut()?;
    pool::run(py, 1, || Key([key0, key1]).fill_words(out))
}

/// Fills `out` (n, 2) with the keys that are derived from one key and each of n
/// integers.
#[python_export]
pub(crate) fn fold_each(
    py: Python<'_>,
    key0: u32,
    key1: u32,
    words: PyReadonlyArray1<'_, i64>,
    mut out: PyReadwriteArray2<'_, u32>,
) -> PyResult<()> {
    let (words, out) = (words.as_slice()?, out.as_slice_mut()?);
    pool::run(py, 1, || Key([key0, key1]).fold_words(words, out))
}
