//! Work without the interpreter, on some threads.

use pyo3::prelude::*;
use seqloom_core::{Result, pool};
use seqloom_kernels::pool::{act, joins};
use seqloom_macros::native;

use crate::{error, interrupt};

/// Runs `work` on this many threads, without the interpreter. A panic becomes
/// an `InternalError`.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let outcome = py.detach(|| pool::run(threads, work));
    if let Some(raised) = interrupt::take() {
        return Err(raised);
    }
    match outcome {
        Ok(answer) => error::raise(py, answer),
        Err(message) => Err(error::internal(py, &message)),
    }
}

/// Calls a kernel without the interpreter on `threads` threads, this one among them.
pub(crate) fn run_kernel(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce() + Send,
) -> PyResult<()> {
    let mut work = Some(work);
    let mut once = || work.take().map_or((), |work| work());
    call_kernel(py, threads, &mut once)
}

/// [`run_kernel`] without the type of the work, so that it is compiled once.
fn call_kernel(py: Python<'_>, threads: usize, work: &mut (dyn FnMut() + Send)) -> PyResult<()> {
    let is_joined = threads > 1 && joins(threads);
    let wanted = if is_joined { 1 } else { threads };
    run(py, wanted, || {
        act(is_joined, work);
        Ok(())
    })
}

/// Builds rayon's global pool, and says whether nobody had built it before: it
/// has no owner and breaks in a forked child. The tests ask this last of all.
#[native]
pub(crate) fn claim_global_pool() -> bool {
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build_global()
        .is_ok()
}
