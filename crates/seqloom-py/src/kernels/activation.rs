//! Bindings of `seqloom_kernels::activation`.

use pyo3::prelude::*;
use seqloom_kernels::activation;
use seqloom_macros::python_export;

use super::floats::{Floats, by_dtype};
use crate::pool;

/// An elementwise function of one array; `pace` is the number of elements per
/// nanosecond.
macro_rules! unary {
    ($name:ident, $pace:literal, $doc:literal) => {
        #[doc = $doc]
        #[python_export]
        pub(crate) fn $name(
            py: Python<'_>,
            x: Floats<'_>,
            out: Floats<'_>,
            threads: usize,
        ) -> PyResult<()> {
            let threads = seqloom_kernels::useful_threads(threads, x.len() / $pace);
            by_dtype!(x, T => {
                let (x, mut out) = (x.read::<T>("x", x.shape())?, out.write::<T>("out", x.shape())?);
                let (x, out) = (x.as_slice()?, out.as_slice_mut()?);
                pool::run_kernel(py, threads, || activation::$name(x, out, threads))
            })
        }
    };
}

/// An elementwise function of two arrays.
macro_rules! binary {
    ($name:ident, $other:ident, $pace:literal, $doc:literal) => {
        #[doc = $doc]
        #[python_export]
        pub(crate) fn $name(
            py: Python<'_>,
            grad: Floats<'_>,
            $other: Floats<'_>,
            out: Floats<'_>,
            threads: usize,
        ) -> PyResult<()> {
            let shape = grad.shape();
            let threads = seqloom_kernels::useful_threads(threads, grad.len() / $pace);
            by_dtype!(grad, T => {
                let (grad, other) = (grad.read::<T>("grad", shape)?, $other.read::<T>(stringify!($other), shape)?);
                let mut out = out.write::<T>("out", shape)?;
                let (grad, other, out) = (grad.as_slice()?, other.as_slice()?, out.as_slice_mut()?);
                pool::run_kernel(py, threads, || activation::$name(grad, other, out, threads))
            })
        }
    };
}

unary!(relu, 6, "Fills `out` with `max(x, 0)`.");
unary!(gelu, 1, "Fills `out` with the exact gelu of x.");
unary!(silu, 1, "Fills `out` with `x / (1 + exp(-x))`.");
unary!(sigmoid, 1, "Fills `out` with `1 / (1 + exp(-x))`.");
binary!(
    relu_grad,
    output,
    4,
    "Fills `out` with the gradient of relu, from its output."
);
binary!(
    gelu_grad,
    x,
    1,
    "Fills `out` with the gradient of gelu, from its input."
);
binary!(
    sigmoid_grad,
    output,
    4,
    "Fills `out` with the gradient of sigmoid, from its output."
);
