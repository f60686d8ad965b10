//! Packing of sequences into rows.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use seqloom_encode::pack;
use seqloom_macros::python_export;

use crate::pool;

/// Returns the indices of the sequences packed into each row; a row has at most `room`
/// positions.
#[python_export]
pub(crate) fn best_fit<'py>(
    py: Python<'py>,
    lengths: PyReadonlyArray1<'py, i64>,
    room: i64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let lengths = lengths.as_slice()?;
    let chosen = pool::run(py, 1, || pack::best_fit(lengths, room))?;
    Ok(chosen.into_pyarray(py))
}

/// Fills `out` with the index of each packed position within its sequence.
#[python_export]
pub(crate) fn packed_positions(
    py: Python<'_>,
    offsets: PyReadonlyArray1<'_, i64>,
    mut out: PyReadwriteArray1<'_, i64>,
) -> PyResult<()> {
    let (offsets, out) = (offsets.as_slice()?, out.as_slice_mut()?);
    pool::run(py, 1, || pack::write_positions(offsets, out))
}
