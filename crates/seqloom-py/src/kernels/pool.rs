//! The threads that kernels work on.

use pyo3::prelude::*;

/// Calls `work` without the interpreter, on `threads` threads.
pub(super) fn run(py: Python<'_>, threads: usize, work: impl FnOnce() + Send) -> PyResult<()> {
    crate::pool::run(py, threads, || {
        work();
        Ok(())
    })
}
