//! Signals that end the work, so that no part of a file is left.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use seqloom_core::interrupt;
#[cfg(unix)]
use signal_hook::consts::SIGHUP;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The number of the signal that came; 0 before.
static CAME: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);
/// Whether one has come: the next one does what it always does.
static AGAIN: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Makes a signal cancel the work; a second one ends the process.
pub(super) fn handle_signals() {
    interrupt::set_signal_check(check);
    let signals = [
        #[cfg(unix)]
        SIGHUP,
        SIGINT,
        SIGTERM,
    ];
    for signal in signals {
        let number = usize::try_from(signal).unwrap_or_default();
        let came = Arc::clone(&CAME);
        // Where a signal cannot be had, it does what it always does.
        let _ = flag::register_conditional_default(signal, Arc::clone(&AGAIN));
        let _ = flag::register(signal, Arc::clone(&AGAIN));
        let _ = flag::register_usize(signal, came, number);
    }
}

/// Returns the signal that was received.
pub(super) fn received() -> Option<u8> {
    let number = CAME.load(Ordering::Relaxed);
    u8::try_from(number).ok().filter(|number| *number > 0)
}

fn check() -> io::Result<()> {
    match received() {
        None => Ok(()),
        Some(_) => Err(io::Error::other("stopped")),
    }
}
