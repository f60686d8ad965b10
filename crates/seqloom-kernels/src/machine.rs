//! The instruction set that a kernel runs on.

use std::sync::LazyLock;

use pulp::{Arch, Simd, WithSimd};

/// Runs a kernel with the widest registers that this machine has.
#[inline]
pub(crate) fn dispatch<K: WithSimd>(kernel: K) -> K::Output {
    ARCH.dispatch(kernel)
}

/// Asked for once.
static ARCH: LazyLock<Arch> = LazyLock::new(Arch::new);

/// Whether there are thirty-two registers, or only sixteen: all machines with vectors of
/// sixteen single floats have the former.
pub(crate) const fn has_many_registers<S: Simd>() -> bool {
    S::REGISTER_COUNT >= 32 || S::F32_LANES >= 16
}
