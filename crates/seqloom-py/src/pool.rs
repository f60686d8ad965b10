//! The shared thread pools: one for each process and number of threads. Kernels have pools
//! of their own (`kernels/pool.rs`).

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use seqloom_core::interrupt::{Stop, ask};
use seqloom_core::{Error, Result};
use seqloom_macros::native;

use crate::{error, interrupt};

type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;

/// A pool lives as long as its process. A forked child finds the pools of its
/// parent here, whose threads it does not have: hence the process in the key.
static POOLS: LazyLock<Mutex<Pools>> = LazyLock::new(Mutex::default);

/// Runs `work` on this many threads, without the interpreter. A panic becomes
/// an `InternalError`.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let outcome = py.detach(|| {
        catch_unwind(AssertUnwindSafe(|| match threads {
            0 | 1 => Ok(Stop::asking().during(work)),
            _ => pool(threads).map(|pool| beside(&pool, work)),
        }))
    });
    if let Some(raised) = interrupt::take() {
        return Err(raised);
    }
    match outcome {
        Ok(Ok(answer)) => answer.map_err(|error| error::raised(py, &error)),
        Ok(Err(error)) => Err(error::internal(py, &error.to_string())),
        Err(panic) => Err(error::internal(py, message(&*panic))),
    }
}

/// Lets a pool work, and looks for signals meanwhile: only the thread that called may.
fn beside<T: Send>(pool: &ThreadPool, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let stop = Stop::default();
    let (done, outcome) = sync_channel(1);
    let outcome = pool.in_place_scope(|scope| {
        let told = stop.clone();
        scope.spawn(move |_| {
            let _ = done.send(catch_unwind(AssertUnwindSafe(|| told.during(work))));
        });
        loop {
            match outcome.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) if ask().is_err() => stop.stop(),
                Err(RecvTimeoutError::Timeout) => {}
                other => return other,
            }
        }
    });
    match outcome {
        Ok(Ok(answer)) => answer,
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => Err(Error::argument("the work was lost")),
    }
}

/// So long a signal may wait.
const LOOK: Duration = Duration::from_millis(100);

/// The pool of this process with this many threads, made on first use.
fn pool(threads: usize) -> std::result::Result<Arc<ThreadPool>, ThreadPoolBuildError> {
    let key = (process::id(), threads);
    if let Some(pool) = pools(|pools| pools.get(&key).cloned()).flatten() {
        return Ok(pool);
    }
    let name = |index| format!("seqloom-{index}");
    let new = Arc::new(
        ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(name)
            .build()?,
    );
    Ok(
        pools(|pools| Arc::clone(pools.entry(key).or_insert_with(|| Arc::clone(&new))))
            .unwrap_or(new),
    )
}

/// Looks into the pools, unless another thread is doing so: in a forked child
/// that thread may not exist, and would be waited for without end.
fn pools<T>(look: impl FnOnce(&mut Pools) -> T) -> Option<T> {
    POOLS.try_lock().ok().map(|mut pools| look(&mut pools))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic")
}

/// Builds rayon's global pool, and says whether nobody had built it before: it
/// has no owner and breaks in a forked child. The tests ask this last of all.
#[native]
pub(crate) fn claim_global_pool() -> bool {
    ThreadPoolBuilder::new()
        .num_threads(1)
        .build_global()
        .is_ok()
}
