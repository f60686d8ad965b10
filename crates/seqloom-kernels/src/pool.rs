//! The thread pool of the Python thread that calls kernels.

use crate::tuned;
use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};

thread_local! {
    /// The pool that this thread has joined, and its number of threads. A thread that
    /// belongs to a pool starts its share of a kernel's work at once. A thread outside
    /// the pool sleeps until the pool has finished. The delay matters, because a
    /// training step calls about 40 kernels.
    ///
    /// After a fork, the child process has a pool without threads, so the child process
    /// does all work in one thread.
    static JOINED_POOL: OnceCell<Option<JoinedPool>> = const { OnceCell::new() };
}

/// A thread pool that a Python thread belongs to.
struct JoinedPool {
    threads: usize,
    pool: ThreadPool,
    watch: Arc<KeepAwake>,
}

/// Returns true if this thread belongs to a pool of `threads` threads. The first call
/// creates the pool and sets its number of threads.
pub fn is_pool_member(threads: usize) -> bool {
    JOINED_POOL.with(|joined| {
        let joined = joined.get_or_init(|| join_new_pool(threads));
        joined
            .as_ref()
            .is_some_and(|joined| joined.threads == threads)
    })
}

fn join_new_pool(threads: usize) -> Option<JoinedPool> {
    let name = |index| format!("seqloom-kernel-{index}");
    let builder = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(name);
    Some(JoinedPool {
        threads,
        pool: builder.use_current_thread().build().ok()?,
        watch: Arc::default(),
    })
}

/// Runs `work` in the pool that this thread has joined, or directly if there is no such
/// pool.
pub fn run_in_pool(is_joined: bool, work: &mut (dyn FnMut() + Send)) {
    JOINED_POOL.with(|joined| match joined.get() {
        Some(Some(pool)) if is_joined => {
            pool.pool.install(work);
            pool.watch.keep_awake(&pool.pool);
        }
        _ => work(),
    });
}

/// Keeps the threads of the pool awake for a while after each kernel. The next kernel
/// usually starts within a millisecond, and waking a thread takes about as long as a
/// small kernel.
#[derive(Default)]
struct KeepAwake {
    is_kept: AtomicBool,
    /// The time until which idle threads keep looking for work, in nanoseconds since
    /// [`CLOCK_START`].
    until: AtomicU64,
}

/// The start of the clock that measures how long threads look for work.
static CLOCK_START: LazyLock<Instant> = LazyLock::new(Instant::now);

impl KeepAwake {
    /// Lets the idle threads of a pool look for work until the spin time is over.
    fn keep_awake(self: &Arc<Self>, pool: &ThreadPool) {
        let until = CLOCK_START.elapsed() + tuned::IDLE_SPIN_TIME;
        self.until.store(to_nanoseconds(until), Ordering::Relaxed);
        if !self.is_kept.swap(true, Ordering::AcqRel) {
            let watch = Arc::clone(self);
            pool.spawn_broadcast(move |position| {
                // The Python thread is the first thread of its pool and does not wait
                // for work.
                if position.index() > 0 {
                    watch.spin();
                }
            });
        }
    }

    /// Runs other tasks of the pool until the spin time is over.
    fn spin(&self) {
        while to_nanoseconds(CLOCK_START.elapsed()) < self.until.load(Ordering::Relaxed) {
            if rayon::yield_now() != Some(rayon::Yield::Executed) {
                thread::yield_now();
            }
        }
        self.is_kept.store(false, Ordering::Release);
    }
}

/// Returns a duration in nanoseconds. `u64` is large enough for the lifetime of any
/// process.
fn to_nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
