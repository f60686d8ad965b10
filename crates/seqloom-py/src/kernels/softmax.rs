//! Bindings of `seqloom_kernels::softmax` and `seqloom_kernels::cross_entropy`.

use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::{exceptions::PyValueError, prelude::*};
use seqloom_kernels::cross_entropy::Logits;
use seqloom_macros::python_export;

use super::floats::{self, Floats, by_dtype};
use crate::pool;

macro_rules! by_row {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[python_export]
        pub(crate) fn $name(
            py: Python<'_>,
            x: Floats<'_>,
            out: Floats<'_>,
            threads: usize,
        ) -> PyResult<()> {
            let [rows, width] = x.axes("x")?;
            let threads = seqloom_kernels::useful_threads(threads, x.len());
            by_dtype!(x, T => {
                let x = x.read::<T>("x", &[rows, width])?;
                let mut out = out.write::<T>("out", &[rows, width])?;
                let (x, out) = (x.as_slice()?, out.as_slice_mut()?);
                pool::run_kernel(py, threads, || seqloom_kernels::softmax::$name(x, width, out, threads))
            })
        }
    };
}

by_row!(
    softmax,
    "Fills `out` (n, k) with the softmax of the rows of x (n, k)."
);
by_row!(
    log_softmax,
    "Fills `out` (n, k) with the log-softmax of the rows of x (n, k)."
);

macro_rules! by_row_pair {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[python_export]
        pub(crate) fn $name(
            py: Python<'_>,
            grad: Floats<'_>,
            output: Floats<'_>,
            out: Floats<'_>,
            threads: usize,
        ) -> PyResult<()> {
            let [rows, width] = grad.axes("grad")?;
            let threads = seqloom_kernels::useful_threads(threads, grad.len() / 2);
            by_dtype!(grad, T => {
                let (grad, output) = (grad.read::<T>("grad", &[rows, width])?, output.read::<T>("output", &[rows, width])?);
                let mut out = out.write::<T>("out", &[rows, width])?;
                let (grad, output, out) = (grad.as_slice()?, output.as_slice()?, out.as_slice_mut()?);
                pool::run_kernel(py, threads, || seqloom_kernels::softmax::$name(grad, output, width, out, threads))
            })
        }
    };
}

by_row_pair!(
    softmax_grad,
    "Fills `out` (n, k) with the gradient of softmax, from its output."
);
by_row_pair!(
    log_softmax_grad,
    "Fills `out` (n, k) with the gradient of log-softmax, from its output."
);

/// Fills `out` (n,) with the logarithm of the sum of exponentials of each row of x (n,
/// k).
#[python_export]
pub(crate) fn logsumexp(
    py: Python<'_>,
    x: Floats<'_>,
    out: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let [rows, width] = x.axes("x")?;
    let threads = seqloom_kernels::useful_threads(threads, x.len());
    by_dtype!(x, T => {
        let (x, mut out) = (x.read::<T>("x", &[rows, width])?, out.write::<T>("out", &[rows])?);
        let (x, out) = (x.as_slice()?, out.as_slice_mut()?);
        pool::run_kernel(py, threads, || seqloom_kernels::softmax::logsumexp(x, width, out, threads))
    })
}

/// Fills the loss of each row, multiplied by the weight of its class, and the gradients
/// of the logits.
#[python_export]
pub(crate) fn cross_entropy(
    py: Python<'_>,
    logits: Floats<'_>,
    labels: PyReadonlyArray1<'_, i64>,
    weights: Option<Floats<'_>>,
    out_loss: Floats<'_>,
    out_grad: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let [rows, classes] = logits.axes("logits")?;
    let threads = seqloom_kernels::useful_threads(threads, logits.len());
    floats::check_layout("labels", labels.as_untyped(), &[rows])?;
    let labels = check_labels(labels.as_slice()?, classes)?;
    by_dtype!(logits, T => {
        let logits = logits.read::<T>("logits", &[rows, classes])?;
        let weights = floats::read_opt::<T>(weights.as_ref(), "weights", &[classes])?;
        let mut loss = out_loss.write::<T>("out_loss", &[rows])?;
        let mut grad = out_grad.write::<T>("out_grad", &[rows, classes])?;
        let weights = floats::slice_opt(weights.as_ref())?;
        let problem = Logits { logits: logits.as_slice()?, labels, weights, classes };
        let (loss, grad) = (loss.as_slice_mut()?, grad.as_slice_mut()?);
        pool::run_kernel(py, threads, || seqloom_kernels::cross_entropy::cross_entropy(problem, loss, grad, threads))
    })
}

fn check_labels(labels: &[i64], classes: usize) -> PyResult<&[i64]> {
    let foreign = |&&label: &&i64| usize::try_from(label).map_or(true, |label| label >= classes);
    match labels.iter().find(foreign) {
        None => Ok(labels),
        Some(label) => Err(PyValueError::new_err(format!(
            "labels: expected classes from 0 to {classes} (excluded), got {label}"
        ))),
    }
}
