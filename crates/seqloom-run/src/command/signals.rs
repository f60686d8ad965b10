//! Handles signals, so that no incomplete output file remains.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use seqloom_core::interrupt;
#[cfg(unix)]
use signal_hook::consts::SIGHUP;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The number of the received signal, or 0.
static RECEIVED_SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);
/// True after the first signal. A second signal then has its default effect, which is
/// to end the process.
static IS_SECOND_SIGNAL: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Installs the signal handlers. The first signal cancels the work; a second signal
/// ends the process.
pub(super) fn handle_signals() {
    interrupt::set_signal_check(check_signals);
    let signals = [
        #[cfg(unix)]
        SIGHUP,
        SIGINT,
        SIGTERM,
    ];
    for signal in signals {
        let number = usize::try_from(signal).unwrap_or_default();
        let came = Arc::clone(&RECEIVED_SIGNAL);
        // If a handler cannot be installed, the signal has its default effect.
        let _ = flag::register_conditional_default(signal, Arc::clone(&IS_SECOND_SIGNAL));
        let _ = flag::register(signal, Arc::clone(&IS_SECOND_SIGNAL));
        let _ = flag::register_usize(signal, came, number);
    }
}

/// Returns the number of the signal that was received, or `None`.
pub(super) fn received_signal() -> Option<u8> {
    let number = RECEIVED_SIGNAL.load(Ordering::Relaxed);
    u8::try_from(number).ok().filter(|number| *number > 0)
}

fn check_signals() -> io::Result<()> {
    match received_signal() {
        None => Ok(()),
        Some(_) => Err(io::Error::other("stopped")),
    }
}
