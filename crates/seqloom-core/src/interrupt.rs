//! Work that ends early: because of Ctrl-C, or because nobody waits for its result any more.
//!
//! Whoever runs the program sets what is called every tenth of a second during a long read. For
//! a read by many threads see [`Stop`].

use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Says whether to go on waiting: an error ends it.
pub type Ask = fn() -> io::Result<()>;

static ASK: OnceLock<Ask> = OnceLock::new();

/// Sets what is asked while somebody waits; the first to do so decides.
pub fn ask_while_waiting(ask: Ask) {
    let _ = ASK.set(ask);
}

/// Asks whether to go on, as whoever runs the program has set it.
pub fn ask() -> io::Result<()> {
    ASK.get().map_or(Ok(()), |ask| ask())
}

/// So many milliseconds pass between two questions.
const BREATH: u64 = 100;

thread_local! {
    /// What ends the work that this thread does.
    static CURRENT: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// Shared by those who work and whoever may tell them to end.
///
/// Work by many threads takes the [`current`](Self::current) one where it begins, and lets
/// each share [`check`](Self::check) it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<State>);

#[derive(Debug, Default)]
struct State {
    stopped: AtomicBool,
    asking: Option<Asking>,
}

/// When whoever works on the thread that called asks by itself.
#[derive(Debug)]
struct Asking {
    begun: Instant,
    next: AtomicU64,
}

impl Stop {
    /// One that asks by itself, for work on the thread that may ask. Where there are neither
    /// signals nor a clock, as in a browser, it never does.
    pub fn asking() -> Self {
        if cfg!(target_family = "wasm") {
            return Self::default();
        }
        let asking = Asking {
            begun: Instant::now(),
            next: AtomicU64::new(BREATH),
        };
        Self(Arc::new(State {
            stopped: AtomicBool::new(false),
            asking: Some(asking),
        }))
    }

    /// What ends the work of this thread; outside of [`during`](Self::during), nothing does.
    pub fn current() -> Self {
        CURRENT.with_borrow(Clone::clone).unwrap_or_default()
    }

    /// Does work that this can end.
    pub fn during<T>(self, work: impl FnOnce() -> T) -> T {
        let _before = Restored(CURRENT.replace(Some(self)));
        work()
    }

    /// Ends the work, soon.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }

    /// An error, if the work should end.
    pub fn check(&self) -> io::Result<()> {
        if self.0.stopped.load(Ordering::Relaxed) {
            return Err(io::Error::other("was not read to its end: a signal came"));
        }
        match &self.0.asking {
            Some(asking) if asking.is_due() => ask(),
            _ => Ok(()),
        }
    }
}

impl Asking {
    fn is_due(&self) -> bool {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let due = now >= self.next.load(Ordering::Relaxed);
        if due {
            self.next
                .store(now.saturating_add(BREATH), Ordering::Relaxed);
        }
        due
    }
}

/// What the thread did before, which it goes on with.
struct Restored(Option<Stop>);

impl Drop for Restored {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_that_is_told_to_and_no_other() {
        let (inner, outer) = (Stop::default(), Stop::default());
        let told = inner.clone();
        outer.during(|| {
            inner.during(|| {
                assert!(Stop::current().check().is_ok());
                told.stop();
                assert!(Stop::current().check().is_err());
            });
            assert!(Stop::current().check().is_ok());
        });
        assert!(Stop::current().check().is_ok());
    }
}
