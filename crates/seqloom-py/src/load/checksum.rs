//! Checksums of tensors.

use std::path::PathBuf;

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::{prelude::*, types::PyBytes};
use seqloom_load::checksum;
use seqloom_macros::python_export;

use crate::pool;

/// Returns an eight-byte hash of each MiB of an array of bytes.
#[python_export]
pub(crate) fn hash_pieces<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
    num_threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let data = data.as_slice()?;
    let hashes = pool::run(py, num_threads, || Ok(checksum::hash_chunks(data)))?;
    Ok(PyBytes::new(py, hashes.as_flattened()))
}

/// Fills an array with bytes of a file, and returns an eight-byte hash of each MiB.
#[python_export]
pub(crate) fn read_pieces<'py>(
    py: Python<'py>,
    path: PathBuf,
    start: u64,
    mut out: PyReadwriteArray1<'py, u8>,
    num_threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let out = out.as_slice_mut()?;
    let hashes = pool::run(py, num_threads, || checksum::read_hashed(&path, start, out))?;
    Ok(PyBytes::new(py, hashes.as_flattened()))
}
