//! The instruction set that a kernel uses.

use pulp::{Simd, WithSimd};
use seqloom_core::simd;

/// Runs a kernel with the instruction set that [`simd`] chose.
#[inline]
pub fn dispatch<K: WithSimd>(kernel: K) -> K::Output {
    #[cfg(test)]
    match tests::ASSUMED_MACHINE.get() {
        tests::Machine::Actual => {}
        tests::Machine::Old => return kernel.with_simd(pulp::Scalar),
        tests::Machine::Wide => return kernel.with_simd(pulp::Scalar512b),
    }
    simd::dispatch(kernel)
}

/// Returns true if there are 32 vector registers, and false if there are 16. All
/// processors with 512-bit vectors have 32 registers. WebAssembly on x86 processors has
/// 16 registers.
pub(crate) const fn has_many_registers<S: Simd>() -> bool {
    let is_known = !cfg!(target_family = "wasm");
    (is_known && S::REGISTER_COUNT >= 32) || S::F32_LANES >= 16
}

/// Prefetches the cache line at an address.
#[inline(always)]
pub(crate) fn prefetch<T>(position: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch returns no data and cannot fail, even at an invalid
        // address.
        #[expect(unsafe_code, reason = "prefetching takes a raw pointer")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(position.cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = position;
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    /// The kind of processor that kernels assume in tests on this thread.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub(crate) enum Machine {
        /// The actual processor.
        Actual,
        /// A processor without vector instructions.
        Old,
        /// A processor with 512-bit vector registers.
        Wide,
    }

    thread_local! {
        pub(crate) static ASSUMED_MACHINE: Cell<Machine> = const { Cell::new(Machine::Actual) };
    }

    /// Runs a test once for each kind of processor. The test must use one thread.
    pub(crate) fn run_on_every_machine(mut test: impl FnMut(Machine)) {
        for machine in [Machine::Old, Machine::Wide, Machine::Actual] {
            ASSUMED_MACHINE.set(machine);
            test(machine);
        }
    }
}
