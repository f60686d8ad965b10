//! The threads that kernels work on.

use std::cell::OnceCell;

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

thread_local! {
    /// The pool that this thread is one of, with its number of threads. A step calls
    /// some forty kernels, and a thread that belongs to a pool starts on its share at
    /// once, where one that does not would sleep until the pool has woken and is done.
    ///
    /// A forked child has the pool but not the helpers, and does all the work itself.
    static CREW: OnceCell<Option<(usize, ThreadPool)>> = const { OnceCell::new() };
}

/// Calls `work` without the interpreter on `threads` threads, this one among them.
pub(crate) fn run(py: Python<'_>, threads: usize, work: impl FnOnce() + Send) -> PyResult<()> {
    let joined = threads > 1 && joins(threads);
    let wanted = if joined { 1 } else { threads };
    crate::pool::run(py, wanted, || {
        act(joined, work);
        Ok(())
    })
}

/// Whether this thread is one of a pool of so many; its first call decides of how many.
fn joins(threads: usize) -> bool {
    CREW.with(|crew| {
        let crew = crew.get_or_init(|| Some((threads, join(threads)?)));
        crew.as_ref().is_some_and(|(count, _)| *count == threads)
    })
}

fn join(threads: usize) -> Option<ThreadPool> {
    let name = |index| format!("seqloom-kernel-{index}");
    let builder = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(name);
    builder.use_current_thread().build().ok()
}

fn act(joined: bool, work: impl FnOnce() + Send) {
    CREW.with(|crew| match crew.get() {
        Some(Some((_, pool))) if joined => pool.install(work),
        _ => work(),
    });
}
