//! Bindings of `seqloom_kernels::product`.

use numpy::Element;
use pyo3::prelude::*;
use seqloom_kernels::Float;
use seqloom_kernels::product::{self as kernel, Matrix};
use seqloom_macros::python_export;

use super::floats::{Floats, by_dtype};
use crate::pool;

/// Fills `out` (b, m, n) with the products of left (b, m, k) and right (b, k, n). Each
/// input may be transposed in memory: (b, k, m) and (b, n, k).
#[python_export]
pub(crate) fn products(
    py: Python<'_>,
    left: (Floats<'_>, bool),
    right: (Floats<'_>, bool),
    out: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let ((left, left_transposed), (right, right_transposed)) = (left, right);
    let [count, rows, columns] = out.axes("out")?;
    let k = left.axes::<3>("left")?[if left_transposed { 1 } else { 2 }];
    let shape = |lines: usize, is_fortran: bool| {
        let [rows, columns] = if is_fortran { [k, lines] } else { [lines, k] };
        [count, rows, columns]
    };
    let nanoseconds = count * rows * columns * k / 40;
    let threads = seqloom_kernels::useful_threads(threads, nanoseconds);
    by_dtype!(out, T => {
        let left = left.read::<T>("left", &shape(rows, left_transposed))?;
        let right = right.read::<T>("right", &shape(columns, !right_transposed))?;
        let mut out = out.write::<T>("out", &[count, rows, columns])?;
        let left = Matrix::from_slice(left.as_slice()?, [rows, k], left_transposed);
        let right = Matrix::from_slice(right.as_slice()?, [columns, k], !right_transposed);
        let out = out.as_slice_mut()?;
        pool::run_kernel(py, threads, || kernel::multiply_pairs(left, right, None, out, threads))
    })
}

/// Fills `out` (m, n) with `left @ right + bias`, for arrays of shape (m, k), (k, n)
/// and (n). Returns False and does nothing if one of the matrices is contiguous in
/// neither direction.
#[python_export]
pub(crate) fn product(
    py: Python<'_>,
    factors: (Floats<'_>, Floats<'_>),
    bias: Option<Floats<'_>>,
    out: Floats<'_>,
    threads: usize,
) -> PyResult<bool> {
    by_dtype!(out, T => { multiply::<T>(py, factors, bias, &out, threads) })
}

fn multiply<T: Float + Element>(
    py: Python<'_>,
    (left, right): (Floats<'_>, Floats<'_>),
    bias: Option<Floats<'_>>,
    out: &Floats<'_>,
    threads: usize,
) -> PyResult<bool> {
    let [rows, columns] = out.axes("out")?;
    let [_, k] = left.axes("left")?;
    let threads = seqloom_kernels::useful_threads(threads, rows * columns * k / 40);
    let are_transposed = (
        left.is_fortran() == Some(true),
        right.is_fortran() != Some(true),
    );
    let left = left.transposed::<T>("left", &[rows, k])?;
    let right = right.transposed::<T>("right", &[k, columns])?;
    let bias = bias.map(|bias| bias.transposed::<T>("bias", &[columns]));
    let bias = bias.transpose()?;
    let bias = bias.as_ref().map(|bias| bias.as_slice()).transpose();
    let (Ok(left), Ok(right), Ok(bias)) = (left.as_slice(), right.as_slice(), bias) else {
        return Ok(false);
    };
    let left = Matrix::from_slice(left, [rows, k], are_transposed.0);
    let right = Matrix::from_slice(right, [columns, k], are_transposed.1);
    let mut out = out.write::<T>("out", &[rows, columns])?;
    let out = out.as_slice_mut()?;
    let work = || kernel::multiply_pairs(left, right, bias, out, threads);
    pool::run_kernel(py, threads, work).map(|()| true)
}
