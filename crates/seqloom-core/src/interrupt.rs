//! Cancellation of work by Ctrl-C, or because no caller waits for the result.
//!
//! The host program sets a function that checks for signals. Long file operations call this
//! function every tenth of a second. For work that is done by many threads, see [`CancelToken`].

use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Checks for signals. If the signal check returns an error, the work ends.
pub type SignalCheck = fn() -> io::Result<()>;

static SIGNAL_CHECK: OnceLock<SignalCheck> = OnceLock::new();

/// Sets the function that checks for signals; only the first call has an effect.
pub fn set_signal_check(check: SignalCheck) {
    let _ = SIGNAL_CHECK.set(check);
}

/// Checks for signals with the function that the program has set.
pub fn check_signals() -> io::Result<()> {
    SIGNAL_CHECK.get().map_or(Ok(()), |check| check())
}

/// The milliseconds between two checks for signals.
const CHECK_INTERVAL_MS: u64 = 100;

thread_local! {
    /// The token that cancels the work of this thread.
    static CURRENT_TOKEN: RefCell<Option<CancelToken>> = const { RefCell::new(None) };
}

/// A cancellation token. All clones of a token share one state.
///
/// Code that runs on many threads takes the [`current`](Self::current) token at its start,
/// and each thread calls [`check_cancelled`](Self::check_cancelled) regularly.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<CancelState>);

#[derive(Debug, Default)]
struct CancelState {
    stopped: AtomicBool,
    signal_timer: Option<SignalTimer>,
}

/// The time of the next check for signals.
#[derive(Debug)]
struct SignalTimer {
    begun: Instant,
    next: AtomicU64,
}

impl CancelToken {
    /// Returns a token that also checks for signals; use it only on the thread that
    /// handles signals. In a browser, the token never checks for signals, because a
    /// browser has neither signals nor a clock.
    pub fn with_signals() -> Self {
        if cfg!(target_family = "wasm") {
            return Self::default();
        }
        let signal_timer = SignalTimer {
            begun: Instant::now(),
            next: AtomicU64::new(CHECK_INTERVAL_MS),
        };
        Self(Arc::new(CancelState {
            stopped: AtomicBool::new(false),
            signal_timer: Some(signal_timer),
        }))
    }

    /// Returns the token of this thread's work, or a new token outside of
    /// [`run`](Self::run).
    pub fn current() -> Self {
        CURRENT_TOKEN.with_borrow(Clone::clone).unwrap_or_default()
    }

    /// Runs `work`, which this token can cancel.
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        let _before = RestoreGuard(CURRENT_TOKEN.replace(Some(self)));
        work()
    }

    /// Cancels the work, so that the next check returns an error.
    pub fn cancel(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns an error if the work was cancelled.
    pub fn check_cancelled(&self) -> io::Result<()> {
        if self.0.stopped.load(Ordering::Relaxed) {
            return Err(io::Error::other("reading was interrupted by a signal"));
        }
        match &self.0.signal_timer {
            Some(timer) if timer.is_due() => check_signals(),
            _ => Ok(()),
        }
    }
}

impl SignalTimer {
    fn is_due(&self) -> bool {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let due = now >= self.next.load(Ordering::Relaxed);
        if due {
            self.next
                .store(now.saturating_add(CHECK_INTERVAL_MS), Ordering::Relaxed);
        }
        due
    }
}

/// A guard that restores the thread's previous token when the guard is dropped.
struct RestoreGuard(Option<CancelToken>);

impl Drop for RestoreGuard {
    fn drop(&mut self) {
        CURRENT_TOKEN.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_cancels_only_its_own_work() {
        let (inner, outer) = (CancelToken::default(), CancelToken::default());
        let handle = inner.clone();
        outer.run(|| {
            inner.run(|| {
                assert!(CancelToken::current().check_cancelled().is_ok());
                handle.cancel();
                assert!(CancelToken::current().check_cancelled().is_err());
            });
            assert!(CancelToken::current().check_cancelled().is_ok());
        });
        assert!(CancelToken::current().check_cancelled().is_ok());
    }
}
