//! The border of `seqloom-core`.

pub(crate) mod key;

use pyo3::prelude::*;

/// The version of the compiled half, which must equal the Python half's.
#[cfg_attr(
    feature = "stubs",
    pyo3_stub_gen::derive::gen_stub_pyfunction(module = "seqloom._rust._native")
)]
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The instruction set that kernels use: "avx512", "avx2", "neon" or "portable".
#[cfg_attr(
    feature = "stubs",
    pyo3_stub_gen::derive::gen_stub_pyfunction(module = "seqloom._rust._native")
)]
#[pyfunction]
pub(crate) fn simd() -> &'static str {
    seqloom_core::simd::name()
}
