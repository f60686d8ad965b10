//! Ctrl-C, while Rust waits for bytes.

use std::cell::RefCell;
use std::io;

use pyo3::prelude::*;
use seqloom_core::interrupt::set_signal_check;

thread_local! {
    /// What Python's handler of a signal has raised on this thread.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Makes long reads and waits check for signals.
pub(crate) fn listen() {
    set_signal_check(check);
}

/// Takes the exception that a signal handler has raised. It replaces the result of the call.
pub(crate) fn take() -> Option<PyErr> {
    RAISED.take()
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method alone is of one lifetime"
)]
fn check() -> io::Result<()> {
    let Some(Err(error)) = Python::try_attach(|py| py.check_signals()) else {
        return Ok(());
    };
    RAISED.set(Some(error));
    Err(io::Error::other("was not read to its end: a signal came"))
}
