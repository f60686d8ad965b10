//! Bindings of `seqloom_kernels::max_pool1d`.

use numpy::{PyArrayMethods, PyReadonlyArray3, PyReadwriteArray3};
use pyo3::{exceptions::PyValueError, prelude::*};
use seqloom_kernels::max_pool1d::{self as kernel, PoolWindow};
use seqloom_macros::python_export;

use super::floats::{self, Floats, by_dtype};
use crate::pool;

/// Fills the maximum of every window of x (n, c, l), and the position of each maximum
/// in its row.
#[python_export]
pub(crate) fn max_pool1d(
    py: Python<'_>,
    x: Floats<'_>,
    kernel: usize,
    stride: usize,
    padding: usize,
    out: Floats<'_>,
    mut indices: PyReadwriteArray3<'_, i64>,
    threads: usize,
) -> PyResult<()> {
    let [batch, channels, length] = x.axes("x")?;
    let threads = seqloom_kernels::useful_threads(threads, 4 * x.len());
    let window = PoolWindow {
        length,
        kernel,
        stride,
        padding,
    };
    let shape = [batch, channels, out_length(&window)?];
    floats::check_layout("indices", indices.as_untyped(), &shape)?;
    by_dtype!(x, T => {
        let (x, mut out) = (x.read::<T>("x", x.shape())?, out.write::<T>("out", &shape)?);
        let (x, out, indices) = (x.as_slice()?, out.as_slice_mut()?, indices.as_slice_mut()?);
        pool::run_kernel(py, threads, || kernel::max_pool1d(&window, x, out, indices, threads))
    })
}

fn out_length(window: &PoolWindow) -> PyResult<usize> {
    let PoolWindow {
        length,
        kernel,
        stride,
        padding,
    } = *window;
    let sound = length > 0 && kernel > 0 && stride > 0 && padding * 2 <= kernel;
    window.out_length().filter(|_| sound).ok_or_else(|| {
        PyValueError::new_err(format!(
            "max_pool1d: expected a kernel within the padded row, a stride above 0 and a padding of at most \
             half the kernel, got length {length}, kernel {kernel}, stride {stride}, padding {padding}"
        ))
    })
}

/// Fills `out` (n, c, l) with the gradient of the input of max pooling.
#[python_export]
pub(crate) fn max_pool1d_grad(
    py: Python<'_>,
    grad: Floats<'_>,
    indices: PyReadonlyArray3<'_, i64>,
    out: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let [batch, channels, width] = grad.axes("grad")?;
    let [_, _, length] = out.axes("out")?;
    let threads = seqloom_kernels::useful_threads(threads, out.len());
    floats::check_layout("indices", indices.as_untyped(), grad.shape())?;
    by_dtype!(grad, T => {
        let grad = grad.read::<T>("grad", grad.shape())?;
        let mut out = out.write::<T>("out", &[batch, channels, length])?;
        let (grad, indices, out) = (grad.as_slice()?, indices.as_slice()?, out.as_slice_mut()?);
        let lengths = (length, width);
        pool::run_kernel(py, threads, || kernel::max_pool1d_grad(lengths, grad, indices, out, threads))
    })
}
