//! The shared thread pools: one pool for each combination of process and number of
//! threads. Kernels have separate pools (`seqloom_kernels::pool`).

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::interrupt::{CancelToken, check_signals};
use crate::{Error, Result, process};

type PoolMap = HashMap<(u32, usize), Arc<ThreadPool>>;

/// The thread pools, by process and number of threads. A pool exists until its process
/// ends. The key contains the process id because a forked child inherits this map, but
/// not the threads of its parent.
static THREAD_POOLS: LazyLock<Mutex<PoolMap>> = LazyLock::new(Mutex::default);

/// Runs `work` on the given number of threads, while the calling thread checks for
/// signals.
///
/// # Errors
///
/// Returns an error with the message of a panic, or with the reason why the thread pool
/// could not be created.
pub fn run_on_threads<T: Send>(
    threads: usize,
    work: impl FnOnce() -> Result<T> + Send,
) -> std::result::Result<Result<T>, String> {
    let (mut work, mut answer) = (Some(work), None);
    run_untyped(threads, &mut || answer = work.take().map(|work| work()))?;
    Ok(answer.unwrap_or_else(|| Err(Error::argument("a worker thread returned no result"))))
}

/// Runs work on several threads. This function has no generic types, so that it is
/// compiled only once.
fn run_untyped(threads: usize, work: &mut (dyn FnMut() + Send)) -> std::result::Result<(), String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| match threads {
        0 | 1 => {
            CancelToken::with_signals().run(work);
            Ok(())
        }
        _ => thread_pool(threads).map(|pool| run_on_pool(&pool, work)),
    }));
    match outcome {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(panic) => Err(panic_message(&*panic).to_owned()),
    }
}

/// Runs work on a thread pool. Meanwhile the calling thread checks for signals, because
/// only this thread may do so.
fn run_on_pool(pool: &ThreadPool, work: &mut (dyn FnMut() + Send)) {
    let stop = CancelToken::default();
    let (done, outcome) = sync_channel(1);
    let outcome = pool.in_place_scope(|scope| {
        let handle = stop.clone();
        scope.spawn(move |_| {
            let _ = done.send(catch_unwind(AssertUnwindSafe(|| handle.run(work))));
        });
        loop {
            match outcome.recv_timeout(SIGNAL_INTERVAL) {
                Err(RecvTimeoutError::Timeout) if check_signals().is_err() => stop.cancel(),
                Err(RecvTimeoutError::Timeout) => {}
                other => return other,
            }
        }
    });
    if let Ok(Err(panic)) = outcome {
        resume_unwind(panic);
    }
}

/// The time between two checks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// Returns the pool of this process with this number of threads; creates it on first use.
fn thread_pool(threads: usize) -> std::result::Result<Arc<ThreadPool>, ThreadPoolBuildError> {
    let key = (process::process_id(), threads);
    if let Some(pool) = with_pools(|pools| pools.get(&key).cloned()).flatten() {
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
        with_pools(|pools| Arc::clone(pools.entry(key).or_insert_with(|| Arc::clone(&new))))
            .unwrap_or(new),
    )
}

/// Calls a function with the map of pools; returns `None` if another thread has locked
/// the map. In a forked child, the thread that holds the lock may not exist, so the
/// lock would never be released.
fn with_pools<T>(visit: impl FnOnce(&mut PoolMap) -> T) -> Option<T> {
    THREAD_POOLS
        .try_lock()
        .ok()
        .map(|mut pools| visit(&mut pools))
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic")
}
