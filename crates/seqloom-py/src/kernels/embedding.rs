//! Bindings of `seqloom_kernels::embedding`.

use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::{exceptions::PyValueError, prelude::*};
use seqloom_macros::python_export;

use super::floats::{self, Floats, by_dtype};
use crate::pool;

/// Fills row `r` of `out` (rows, d) with the sum of those rows of grad (n, d) whose id
/// in ids (n,) is `r`.
#[python_export]
pub(crate) fn add_rows(
    py: Python<'_>,
    grad: Floats<'_>,
    ids: PyReadonlyArray1<'_, i64>,
    out: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let ([count, width], [rows, _]) = (grad.axes("grad")?, out.axes("out")?);
    floats::check_layout("ids", ids.as_untyped(), &[count])?;
    let ids = ids.as_slice()?;
    let known = |&id: &i64| usize::try_from(id).is_ok_and(|id| id < rows);
    if let Some(id) = ids.iter().find(|id| !known(id)) {
        let message = format!("ids: expected numbers from 0 to {rows} (excluded), got {id}");
        return Err(PyValueError::new_err(message));
    }
    let threads = seqloom_kernels::useful_threads(threads, grad.len() / 2);
    by_dtype!(grad, T => {
        let (grad, mut out) = (grad.read::<T>("grad", &[count, width])?, out.write::<T>("out", &[rows, width])?);
        let (grad, out) = (grad.as_slice()?, out.as_slice_mut()?);
        pool::run_kernel(py, threads, || seqloom_kernels::embedding::add_rows(grad, ids, width, out, threads))
    })
}
