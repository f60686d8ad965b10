//! Bindings of `seqloom_kernels::random`.

use numpy::PyReadwriteArray1;
use pyo3::prelude::*;
use seqloom_core::Key;
use seqloom_kernels::random::{self, Truncation};
use seqloom_macros::python_export;

use super::booleans::Booleans;
use super::floats::{Floats, by_dtype};
use crate::pool;

/// Fills `out` with random 32-bit words; each depends only on the key and on its
/// position.
#[python_export]
pub(crate) fn position_bits(
    py: Python<'_>,
    key0: u32,
    key1: u32,
    mut out: PyReadwriteArray1<'_, u32>,
    threads: usize,
) -> PyResult<()> {
    let out = out.as_slice_mut()?;
    let threads = seqloom_kernels::useful_threads(threads, 2 * out.len());
    pool::run_kernel(py, threads, || {
        random::random_bits(Key([key0, key1]), out, threads);
    })
}

/// Fills `out` with uniform random numbers from 0 (included) to 1 (excluded).
#[python_export]
pub(crate) fn uniform(
    py: Python<'_>,
    key0: u32,
    key1: u32,
    out: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let threads = seqloom_kernels::useful_threads(threads, 2 * out.len());
    by_dtype!(out, T => {
        let mut out = out.write::<T>("out", out.shape())?;
        let out = out.as_slice_mut()?;
        pool::run_kernel(py, threads, || random::uniform(Key([key0, key1]), out, threads))
    })
}

/// Fills `out` with normally distributed random numbers from `least` to `most`. The
/// error function of these numbers is uniformly distributed from `low` to `high`.
#[python_export]
pub(crate) fn truncated_normal(
    py: Python<'_>,
    key0: u32,
    key1: u32,
    low: f64,
    high: f64,
    least: f64,
    most: f64,
    out: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let threads = seqloom_kernels::useful_threads(threads, 8 * out.len());
    by_dtype!(out, T => {
        let mut out = out.write::<T>("out", out.shape())?;
        let out = out.as_slice_mut()?;
        let of = <T as seqloom_kernels::Float>::from_f64;
        let truncation = Truncation { range: [of(low), of(high)], limits: [of(least), of(most)] };
        pool::run_kernel(py, threads, || random::truncated_normal(Key([key0, key1]), truncation, out, threads))
    })
}

/// Fills `out` with random booleans; each is true with the given probability.
#[python_export]
pub(crate) fn bernoulli(
    py: Python<'_>,
    key0: u32,
    key1: u32,
    probability: f64,
    out: Booleans<'_>,
    threads: usize,
) -> PyResult<()> {
    let mut out = out.write("out")?;
    let out = out.as_slice_mut()?;
    let threads = seqloom_kernels::useful_threads(threads, 2 * out.len());
    pool::run_kernel(py, threads, || {
        random::bernoulli(Key([key0, key1]), probability, out, threads);
    })
}

/// Fills `out` with random integers from `low` (included) to `high` (excluded).
#[python_export]
pub(crate) fn randint(
    py: Python<'_>,
    key0: u32,
    key1: u32,
    low: i32,
    high: i32,
    mut out: PyReadwriteArray1<'_, i32>,
    threads: usize,
) -> PyResult<()> {
    let out = out.as_slice_mut()?;
    let threads = seqloom_kernels::useful_threads(threads, 5 * out.len());
    pool::run_kernel(py, threads, || {
        random::randint(Key([key0, key1]), low, high, out, threads);
    })
}

/// Fills `out` with a random permutation of 0 to n - 1.
#[python_export]
pub(crate) fn shuffled(
    py: Python<'_>,
    key0: u32,
    key1: u32,
    mut out: PyReadwriteArray1<'_, i32>,
    threads: usize,
) -> PyResult<()> {
    let out = out.as_slice_mut()?;
    let threads = seqloom_kernels::useful_threads(threads, 2 * out.len());
    pool::run_kernel(py, threads, || {
        random::permutation(Key([key0, key1]), out, threads);
    })
}
