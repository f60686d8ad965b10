//! The instruction set that a kernel runs on.

use pulp::{Simd, WithSimd};
use seqloom_core::simd;

/// Runs a kernel on the instruction set that [`simd`] chose.
#[inline]
pub fn dispatch<K: WithSimd>(kernel: K) -> K::Output {
    #[cfg(test)]
    match tests::TAKEN.get() {
        tests::Machine::This => {}
        tests::Machine::Old => return kernel.with_simd(pulp::Scalar),
        tests::Machine::Wide => return kernel.with_simd(pulp::Scalar512b),
    }
    simd::dispatch(kernel)
}

/// Whether there are thirty-two registers, or only sixteen: all machines with vectors of
/// sixteen single floats have the former. WebAssembly has those that its engine finds: sixteen
/// on x86.
pub(crate) const fn has_many_registers<S: Simd>() -> bool {
    let is_known = !cfg!(target_family = "wasm");
    (is_known && S::REGISTER_COUNT >= 32) || S::F32_LANES >= 16
}

/// Brings the cache line of a position near, wherever it is: nothing is read.
#[inline(always)]
pub(crate) fn prefetch<T>(position: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing and cannot fail, even where no memory is.
        #[expect(unsafe_code, reason = "the instruction takes a pointer")]
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

    /// The machine that this thread's kernels take for theirs.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub(crate) enum Machine {
        /// What it is.
        This,
        /// One without vectors.
        Old,
        /// One with vectors of 512 bits.
        Wide,
    }

    thread_local! {
        pub(crate) static TAKEN: Cell<Machine> = const { Cell::new(Machine::This) };
    }

    /// Runs a test on each machine in turn; it must work on one thread.
    pub(crate) fn on_every_machine(mut test: impl FnMut(Machine)) {
        for machine in [Machine::Old, Machine::Wide, Machine::This] {
            TAKEN.set(machine);
            test(machine);
        }
    }
}
