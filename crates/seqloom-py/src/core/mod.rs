//! Bindings of `seqloom-core`.

pub(crate) mod key;

use seqloom_macros::python_export;

/// Returns the version of the extension, which must equal that of the Python package.
#[python_export]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Returns the instruction set that kernels use: "avx512", "avx2", "neon" or
/// "portable".
#[python_export]
pub(crate) fn simd() -> &'static str {
    seqloom_core::simd::instruction_set()
}
