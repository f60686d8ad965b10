//! Telling work that nobody waits for its result any more.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::ask;

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
    /// One that asks by itself, for work on the thread that may ask.
    pub fn asking() -> Self {
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
