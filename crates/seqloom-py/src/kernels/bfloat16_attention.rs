//! The border of `seqloom_kernels::bfloat16::Attention`.

use numpy::{PyArrayMethods, PyReadonlyArrayDyn, PyReadwriteArray2, PyReadwriteArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seqloom_kernels::bfloat16::{Attention, Heads, Machine};
use seqloom_macros::native;

use super::{floats, strided};
use crate::pool;

/// Queries, keys or values: numbers of 16 bits, (1, h, total, d) in any order in memory.
type Part<'py> = PyReadonlyArrayDyn<'py, u16>;

/// Fills the answers (total, h, d) and the logarithms of the sums of exponentials (total, h)
/// of sequences that lie end to end, in bfloat16. The scale is positive.
#[native]
pub(crate) fn attention_varlen_bfloat16(
    py: Python<'_>,
    parts: (Part<'_>, Part<'_>, Part<'_>),
    bounds: Vec<usize>,
    scale: f32,
    mut out: PyReadwriteArray3<'_, u16>,
    mut sums: PyReadwriteArray2<'_, f32>,
    threads: usize,
) -> PyResult<()> {
    let (q, k, v) = &parts;
    let (queries, shape) = heads(q, "q")?;
    let [batch, count, total, width] = shape;
    let ((keys, of_keys), (values, of_values)) = (heads(k, "k")?, heads(v, "v")?);
    floats::check("out", out.as_untyped(), &[total, count, width])?;
    floats::check("sums", sums.as_untyped(), &[total, count])?;
    let ends = (bounds.first(), bounds.last()) == (Some(&0), Some(&total));
    let agree = batch == 1 && of_keys == shape && of_values == shape;
    if !(ends && bounds.is_sorted() && agree && scale > 0.0) {
        let message = "cu_seqlens, q, k, v, scale: what bfloat16 is not computed for";
        return Err(PyValueError::new_err(message));
    }
    let missing = || PyValueError::new_err("this machine has no instructions for bfloat16");
    let attention = Attention {
        machine: Machine::find().ok_or_else(missing)?,
        parts: [queries, keys, values],
        heads: count,
        depth: width / 2,
        scale,
    };
    let longest = bounds.windows(2).map(|pair| pair[1] - pair[0]).max();
    let nanoseconds = total * count * longest.unwrap_or(0) * (width + 16) / 64;
    let threads = seqloom_kernels::worth_waking(threads, nanoseconds);
    let (out, sums) = (out.as_slice_mut()?, sums.as_slice_mut()?);
    pool::run_kernel(py, threads, || {
        attention.answer(&bounds, out, sums, threads);
    })
}

/// The pairs of heads, and the shape of the array.
fn heads<'a>(part: &'a Part<'_>, name: &str) -> PyResult<(Heads<'a>, [usize; 4])> {
    let (data, shape, [_, head_step, row_step, step]) = strided::span(part, name)?;
    let refused = || {
        PyValueError::new_err(format!(
            "{name}: expected pairs of numbers side by side; numpy.ascontiguousarray makes them"
        ))
    };
    let are_pairs = step == 1 && shape[3].is_multiple_of(2);
    let heads = Heads::new(data, row_step, head_step).filter(|_| are_pairs);
    Ok((heads.ok_or_else(refused)?, shape))
}
