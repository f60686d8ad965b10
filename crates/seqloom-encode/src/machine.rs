//! The instruction set that a kernel runs on.

use std::sync::LazyLock;

use pulp::{Arch, WithSimd};

/// Runs work with the widest registers that this machine has. What is not inlined into the
/// work is compiled for the oldest machine.
#[inline]
pub(crate) fn dispatch<W: WithSimd>(work: W) -> W::Output {
    ARCH.dispatch(work)
}

/// Asked for once.
static ARCH: LazyLock<Arch> = LazyLock::new(Arch::new);
