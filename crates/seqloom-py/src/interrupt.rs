//! Handling of Ctrl-C while Rust code waits for data.

use std::{cell::RefCell, io};

use pyo3::prelude::*;
use seqloom_core::interrupt::set_signal_check;

thread_local! {
    /// The exception of a Python signal handler in this thread.
    static SIGNAL_EXCEPTION: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Sets the function that checks for signals during long reads and waits.
pub(crate) fn install_check() {
    set_signal_check(check_python);
}

/// Removes and returns the exception of a signal handler. The exception replaces the
/// result of the interrupted call.
pub(crate) fn take_exception() -> Option<PyErr> {
    SIGNAL_EXCEPTION.take()
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "only this method has a single lifetime"
)]
fn check_python() -> io::Result<()> {
    let Some(Err(error)) = Python::try_attach(|py| py.check_signals()) else {
        return Ok(());
    };
    SIGNAL_EXCEPTION.set(Some(error));
    Err(io::Error::other("reading was interrupted by a signal"))
}
