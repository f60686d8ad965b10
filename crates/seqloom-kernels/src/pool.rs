//! The pool of the thread that calls kernels.

use crate::tuned;
use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};

thread_local! {
    /// The pool that this thread is one of, with its number of threads. A step calls
    /// some forty kernels, and a thread that belongs to a pool starts on its share at
    /// once, where one that does not would sleep until the pool has woken and is done.
    ///
    /// A forked child has the pool but not the helpers, and does all the work itself.
    static JOINED: OnceCell<Option<JoinedPool>> = const { OnceCell::new() };
}

/// A pool that one thread of Python belongs to.
struct JoinedPool {
    threads: usize,
    pool: ThreadPool,
    watch: Arc<Watch>,
}

/// Whether this thread is one of a pool of so many; its first call decides of how many.
pub fn joins(threads: usize) -> bool {
    JOINED.with(|joined| {
        let joined = joined.get_or_init(|| join(threads));
        joined
            .as_ref()
            .is_some_and(|joined| joined.threads == threads)
    })
}

fn join(threads: usize) -> Option<JoinedPool> {
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

/// Does work in the pool that this thread has joined, or without one.
pub fn act(is_joined: bool, work: &mut (dyn FnMut() + Send)) {
    JOINED.with(|joined| match joined.get() {
        Some(Some(pool)) if is_joined => {
            pool.pool.install(work);
            pool.watch.keep(&pool.pool);
        }
        _ => work(),
    });
}

/// Keeps helpers awake for a while after each kernel: the next one comes within a
/// millisecond, and to wake a thread takes about as long as a small kernel's work.
#[derive(Default)]
struct Watch {
    is_kept: AtomicBool,
    /// Nanoseconds since [`START`] until when helpers look for work.
    until: AtomicU64,
}

/// What times are counted from.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Watch {
    /// Lets the helpers of a pool look for work until a moment from now.
    fn keep(self: &Arc<Self>, pool: &ThreadPool) {
        let until = START.elapsed() + tuned::SPIN_TIME;
        self.until.store(nanoseconds(until), Ordering::Relaxed);
        if !self.is_kept.swap(true, Ordering::AcqRel) {
            let watch = Arc::clone(self);
            pool.spawn_broadcast(move |position| {
                // The thread of Python is the first of its pool, and does not wait.
                if position.index() > 0 {
                    watch.look();
                }
            });
        }
    }

    /// Does whatever other work the pool has, until the moment is over.
    fn look(&self) {
        while nanoseconds(START.elapsed()) < self.until.load(Ordering::Relaxed) {
            if rayon::yield_now() != Some(rayon::Yield::Executed) {
                thread::yield_now();
            }
        }
        self.is_kept.store(false, Ordering::Release);
    }
}

/// A time as a number, which no process lives long enough to exceed.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
