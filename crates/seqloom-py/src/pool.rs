//! Runs work without the GIL, on several threads.

use pyo3::prelude::*;
use seqloom_core::{Result, pool};
use seqloom_kernels::pool::{is_pool_member, run_in_pool};
use seqloom_macros::python_export;

use crate::{error, interrupt};

/// Runs `work` on the given number of threads, without the GIL. A panic becomes an
/// `InternalError`.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let outcome = py.detach(|| pool::run_on_threads(threads, work));
    if let Some(raised) = interrupt::take_exception() {
        return Err(raised);
    }
    match outcome {
        Ok(answer) => error::raise(py, answer),
        Err(message) => Err(error::internal_error(py, &message)),
    }
}

/// Calls a kernel without the GIL on `threads` threads, including the calling one.
pub(crate) fn run_kernel(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce() + Send,
) -> PyResult<()> {
    let mut work = Some(work);
    let mut once = || work.take().map_or((), |work| work());
    call_kernel(py, threads, &mut once)
}

/// Runs a kernel like [`run_kernel`]. This function has no type parameter for the work,
/// so it is compiled only once.
fn call_kernel(py: Python<'_>, threads: usize, work: &mut (dyn FnMut() + Send)) -> PyResult<()> {
    let is_joined = threads > 1 && is_pool_member(threads);
    let wanted = if is_joined { 1 } else { threads };
    run(py, wanted, || {
        run_in_pool(is_joined, work);
        Ok(())
    })
}

/// Builds rayon's global pool, and returns true if it did not exist. The global pool
/// has no owner and does not survive a fork. Only tests call this function, as their
/// last step.
#[python_export]
pub(crate) fn claim_global_pool() -> bool {
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build_global()
        .is_ok()
}
