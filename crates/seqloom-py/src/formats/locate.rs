//! The position of a residue in a file.

use std::path::PathBuf;

use pyo3::prelude::*;
use seqloom_macros::python_export;

use crate::pool;

/// Finds a residue by reading the file again; returns its line, counted from 1, and its
/// byte offset in the line.
#[python_export]
pub(crate) fn locate(
    py: Python<'_>,
    path: PathBuf,
    record: u64,
    position: u64,
) -> PyResult<(u64, u64)> {
    let found = pool::run(py, 1, || {
        seqloom_sequences::locate_residue(&path, record, position)
    })?;
    Ok((found.line, found.byte))
}
