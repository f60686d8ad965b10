//! Selection of rows from columns of bytes, and comparison of columns.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use seqloom_core::Ragged;
use seqloom_macros::python_export;
use seqloom_sequences::{pairs, profile, rows};

use crate::pool;

/// Concatenated rows of bytes, and their offsets.
pub(crate) type RowArrays<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<i64>>);

/// Copies the selected rows of bytes in the given order.
#[python_export]
pub(crate) fn take_rows<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
    offsets: PyReadonlyArray1<'py, i64>,
    wanted: PyReadonlyArray1<'py, i64>,
) -> PyResult<RowArrays<'py>> {
    let (data, offsets, wanted) = (data.as_slice()?, offsets.as_slice()?, wanted.as_slice()?);
    let taken = pool::run(py, 1, || {
        rows::copy_rows(&Ragged::new(data, offsets)?, wanted)
    })?;
    Ok((taken.0.into_pyarray(py), taken.1.into_pyarray(py)))
}

/// Returns the index of the first row in which the two headers do not belong to one
/// read pair, or None.
#[python_export]
pub(crate) fn first_mismatch<'py>(
    py: Python<'py>,
    first: PyReadonlyArray1<'py, u8>,
    first_offsets: PyReadonlyArray1<'py, i64>,
    second: PyReadonlyArray1<'py, u8>,
    second_offsets: PyReadonlyArray1<'py, i64>,
) -> PyResult<Option<usize>> {
    let (first, second) = (first.as_slice()?, second.as_slice()?);
    let (starts, others) = (first_offsets.as_slice()?, second_offsets.as_slice()?);
    pool::run(py, 1, || {
        let (first, second) = (Ragged::new(first, starts)?, Ragged::new(second, others)?);
        Ok(pairs::find_mismatch(&first, &second))
    })
}

/// Returns a hash of the record id in each header.
#[python_export]
pub(crate) fn hash_ids<'py>(
    py: Python<'py>,
    headers: PyReadonlyArray1<'py, u8>,
    offsets: PyReadonlyArray1<'py, i64>,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let (headers, offsets) = (headers.as_slice()?, offsets.as_slice()?);
    let hashes = pool::run(py, 1, || {
        Ok(rows::hash_ids(&Ragged::new(headers, offsets)?))
    })?;
    Ok(hashes.into_pyarray(py))
}

/// Returns the mean score of each row of quality characters, from a table of 256
/// scores.
#[python_export]
#[expect(
    clippy::large_types_passed_by_value,
    reason = "PyO3 passes arguments by value"
)]
pub(crate) fn mean_scores<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
    offsets: PyReadonlyArray1<'py, i64>,
    scores: [f64; 256],
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (data, offsets) = (data.as_slice()?, offsets.as_slice()?);
    let means = pool::run(py, 1, || {
        Ok(profile::mean_scores(&Ragged::new(data, offsets)?, &scores))
    })?;
    Ok(means.into_pyarray(py))
}
