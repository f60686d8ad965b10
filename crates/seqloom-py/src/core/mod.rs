//! Bindings of `seqloom-core`.

pub(crate) mod key;

use seqloom_macros::native;

/// The version of the compiled half, which must equal the Python half's.
#[native]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The instruction set that kernels use: "avx512", "avx2", "neon" or "portable".
#[native]
pub(crate) fn simd() -> &'static str {
    seqloom_core::simd::name()
}
