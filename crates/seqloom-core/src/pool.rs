//! The shared thread pools: one for each process and number of threads. Kernels have pools
//! of their own (`seqloom_kernels::pool`).

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::interrupt::{Stop, ask};
use crate::{Error, Result, process};

type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;

/// A pool lives as long as its process. A forked child finds the pools of its
/// parent here, whose threads it does not have: hence the process in the key.
static POOLS: LazyLock<Mutex<Pools>> = LazyLock::new(Mutex::default);

/// Runs `work` on this many threads; with more than one, this one looks for signals.
///
/// # Errors
///
/// The message of a panic, or why there is no pool.
pub fn run<T: Send>(
    threads: usize,
    work: impl FnOnce() -> Result<T> + Send,
) -> std::result::Result<Result<T>, String> {
    let (mut work, mut answer) = (Some(work), None);
    call(threads, &mut || answer = work.take().map(|work| work()))?;
    Ok(answer.unwrap_or_else(|| Err(Error::argument("the work was lost"))))
}

/// [`run`] without its types, so that it is compiled once.
fn call(threads: usize, work: &mut (dyn FnMut() + Send)) -> std::result::Result<(), String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| match threads {
        0 | 1 => {
            Stop::asking().during(work);
            Ok(())
        }
        _ => pool(threads).map(|pool| beside(&pool, work)),
    }));
    match outcome {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(panic) => Err(message(&*panic).to_owned()),
    }
}

/// Lets a pool work, and looks for signals meanwhile: only the thread that called may.
fn beside(pool: &ThreadPool, work: &mut (dyn FnMut() + Send)) {
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
    if let Ok(Err(panic)) = outcome {
        resume_unwind(panic);
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
