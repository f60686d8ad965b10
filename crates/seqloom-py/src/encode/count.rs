//! Counts of residues.

use std::borrow::Cow;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use seqloom_core::Ragged;
use seqloom_encode::count;
use seqloom_macros::python_export;

use crate::pool;

/// Returns the count of each of the 256 bytes.
#[python_export]
pub(crate) fn count_letters<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let data = data.as_slice()?;
    let counts = pool::run(py, 1, || Ok(count::count_bytes(data)))?;
    Ok(counts.to_vec().into_pyarray(py))
}

/// Returns the number of residues of each record that are in `letters`, regardless of
/// case.
#[python_export]
pub(crate) fn count_letters_per_record<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
    offsets: PyReadonlyArray1<'py, i64>,
    letters: Cow<'py, [u8]>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (data, offsets) = (data.as_slice()?, offsets.as_slice()?);
    let counts = pool::run(py, 1, || {
        Ok(count::count_residues(
            &Ragged::new(data, offsets)?,
            &letters,
        ))
    })?;
    Ok(counts.into_pyarray(py))
}
