//! Bindings of `seqloom_kernels::attention`.

use numpy::{Element, PyReadonlyArrayDyn, PyReadwriteArrayDyn};
use pyo3::{exceptions::PyValueError, prelude::*};
use seqloom_core::key::Key;
use seqloom_kernels::attention::{
    self as kernel, AttentionInputs, AttentionMask, AttentionResults, AttentionRule,
    BroadcastArray, HeadsMut, varlen,
};
use seqloom_kernels::{Float, dropout::Dropout};
use seqloom_macros::python_export;

use super::booleans::Booleans;
use super::floats::{Floats, by_dtype};
use super::strided;
use crate::pool;

/// Fills the attention output (n, h, l, e), and for each query the logarithm of its sum
/// of exponentials (n, h, l). The mask is broadcast to (n, h, l, s). With `bounds`, n
/// is 1 and the sequences are concatenated: each sequence is between two successive
/// bounds. Masks and dropout are not supported with `bounds`.
#[python_export]
pub(crate) fn attention(
    py: Python<'_>,
    q: Floats<'_>,
    k: Floats<'_>,
    v: Floats<'_>,
    mask: Option<AnyMask<'_>>,
    bounds: Option<Vec<usize>>,
    scale: f64,
    causal: bool,
    dropout: Option<(u32, u32, f64)>,
    out: Floats<'_>,
    lse: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    by_dtype!(q, T => {
        let arrays = BorrowedInputs::<T>::new([&q, &k, &v], mask.as_ref())?;
        let inputs = arrays.inputs(rule::<T>(scale, causal, dropout))?;
        let sums = logarithms_shape(&q, bounds.as_deref(), &inputs)?;
        let (mut out, mut lse) = (out.write_any::<T>("out")?, lse.write::<T>("lse", sums)?);
        let out = strided::heads_mut(&mut out, "out")?;
        check_shape("out", out.shape(), output_shape(&inputs))?;
        let lse = lse.as_slice_mut()?;
        let threads = seqloom_kernels::useful_threads(threads, estimated_nanoseconds(&inputs));
        pool::run_kernel(py, threads, || match &bounds {
            None => kernel::forward(&inputs, out, lse, threads),
            Some(bounds) => varlen::forward(&inputs, bounds, out, lse, threads),
        })
    })
}

/// Fills the gradients of the queries, keys and values: three arrays, or one array (n,
/// 3 h, l, d) with the heads of all three.
#[python_export]
pub(crate) fn attention_grad(
    py: Python<'_>,
    grad: Floats<'_>,
    q: Floats<'_>,
    k: Floats<'_>,
    v: Floats<'_>,
    mask: Option<AnyMask<'_>>,
    bounds: Option<Vec<usize>>,
    out: Floats<'_>,
    lse: Floats<'_>,
    scale: f64,
    causal: bool,
    dropout: Option<(u32, u32, f64)>,
    out_q: Floats<'_>,
    out_k: Option<Floats<'_>>,
    out_v: Option<Floats<'_>>,
    threads: usize,
) -> PyResult<()> {
    by_dtype!(q, T => {
        let arrays = BorrowedInputs::<T>::new([&q, &k, &v], mask.as_ref())?;
        let inputs = arrays.inputs(rule::<T>(scale, causal, dropout))?;
        let sums = logarithms_shape(&q, bounds.as_deref(), &inputs)?;
        let results = BorrowedResults::<T>::new(&grad, &out, &lse, sums)?;
        let given = results.borrow(output_shape(&inputs))?;
        let mut outs = BorrowedGrads::<T>::new(&out_q, out_k.as_ref().zip(out_v.as_ref()))?;
        let grads = outs.heads([inputs.queries.shape(), inputs.keys.shape(), inputs.values.shape()])?;
        let threads = seqloom_kernels::useful_threads(threads, estimated_nanoseconds(&inputs));
        pool::run_kernel(py, threads, || match &bounds {
            None => kernel::backward(&inputs, &given, grads, threads),
            Some(bounds) => varlen::backward(&inputs, bounds, &given, grads, threads),
        })
    })
}

/// A boolean mask, or numbers that are added to the scores.
#[derive(FromPyObject)]
pub(crate) enum AnyMask<'py> {
    Allowed(Booleans<'py>),
    Added(Floats<'py>),
}

#[cfg(feature = "stubs")]
impl pyo3_stub_gen::PyStubType for AnyMask<'_> {
    fn type_output() -> pyo3_stub_gen::TypeInfo {
        Booleans::type_output() | Floats::type_output()
    }
}

/// The borrowed inputs of attention.
struct BorrowedInputs<'py, T: Element> {
    inputs: [PyReadonlyArrayDyn<'py, T>; 3],
    mask: Option<BorrowedMask<'py, T>>,
}

enum BorrowedMask<'py, T: Element> {
    Allowed(PyReadonlyArrayDyn<'py, bool>),
    Added(PyReadonlyArrayDyn<'py, T>),
}

impl<'py, T: Element + Float> BorrowedInputs<'py, T> {
    fn new([q, k, v]: [&Floats<'py>; 3], mask: Option<&AnyMask<'py>>) -> PyResult<Self> {
        let inputs = [q.read_any("q")?, k.read_any("k")?, v.read_any("v")?];
        let mask = mask.map(|mask| match mask {
            AnyMask::Allowed(allowed) => allowed.read("mask").map(BorrowedMask::Allowed),
            AnyMask::Added(added) => added.read_any("mask").map(BorrowedMask::Added),
        });
        let mask = mask.transpose()?;
        Ok(Self { inputs, mask })
    }

    fn inputs(&self, rule: AttentionRule<T>) -> PyResult<AttentionInputs<'_, T>> {
        let [queries, keys, values] = &self.inputs;
        let (queries, keys, values) = (
            strided::heads(queries, "q")?,
            strided::heads(keys, "k")?,
            strided::heads(values, "v")?,
        );
        let [n, h, l, d] = queries.shape();
        let positions = keys.shape()[2];
        check_shape("k", keys.shape(), [n, h, positions, d])?;
        check_shape("v", values.shape(), [n, h, positions, values.shape()[3]])?;
        let mask = self
            .mask
            .as_ref()
            .map(|mask| mask.broadcast([n, h, l, positions]));
        Ok(AttentionInputs {
            queries,
            keys,
            values,
            mask: mask.transpose()?,
            rule,
        })
    }
}

impl<T: Element + Float> BorrowedMask<'_, T> {
    fn broadcast(&self, shape: [usize; 4]) -> PyResult<AttentionMask<'_, T>> {
        match self {
            Self::Allowed(array) => broadcast(array, shape).map(AttentionMask::Allowed),
            Self::Added(array) => broadcast(array, shape).map(AttentionMask::Added),
        }
    }
}

fn broadcast<'a, U: Element + Copy>(
    array: &'a PyReadonlyArrayDyn<'_, U>,
    shape: [usize; 4],
) -> PyResult<BroadcastArray<'a, U>> {
    let (data, found, steps) = strided::full_span(array, "mask")?;
    check_shape("mask", found, shape)?;
    BroadcastArray::new(data, shape, steps)
        .ok_or_else(|| PyValueError::new_err("mask: expected a contiguous last axis"))
}

/// The borrowed outputs of attention.
struct BorrowedResults<'py, T: Element> {
    grad: PyReadonlyArrayDyn<'py, T>,
    out: PyReadonlyArrayDyn<'py, T>,
    lse: PyReadonlyArrayDyn<'py, T>,
}

impl<'py, T: Element + Float> BorrowedResults<'py, T> {
    fn new(
        grad: &Floats<'py>,
        out: &Floats<'py>,
        lse: &Floats<'py>,
        sums: &[usize],
    ) -> PyResult<Self> {
        let (grad, out, lse) = (
            grad.read_any("grad")?,
            out.read_any("out")?,
            lse.read("lse", sums)?,
        );
        Ok(Self { grad, out, lse })
    }

    fn borrow(&self, shape: [usize; 4]) -> PyResult<AttentionResults<'_, T>> {
        let (grad, out) = (
            strided::heads(&self.grad, "grad")?,
            strided::heads(&self.out, "out")?,
        );
        check_shape("grad", grad.shape(), shape)?;
        check_shape("out", out.shape(), shape)?;
        let lse = self.lse.as_slice()?;
        Ok(AttentionResults { grad, out, lse })
    }
}

/// The borrowed arrays of the gradients.
enum BorrowedGrads<'py, T: Element> {
    Joined(PyReadwriteArrayDyn<'py, T>),
    Apart([PyReadwriteArrayDyn<'py, T>; 3]),
}

impl<'py, T: Element + Float> BorrowedGrads<'py, T> {
    fn new(q: &Floats<'py>, others: Option<(&Floats<'py>, &Floats<'py>)>) -> PyResult<Self> {
        let first = q.write_any("out_q")?;
        Ok(match others {
            None => Self::Joined(first),
            Some((k, v)) => Self::Apart([first, k.write_any("out_k")?, v.write_any("out_v")?]),
        })
    }

    fn heads(&mut self, shapes: [[usize; 4]; 3]) -> PyResult<[HeadsMut<'_, T>; 3]> {
        let outs = match self {
            Self::Joined(all) => strided::heads_mut(all, "out_q")?.split_in_three(),
            Self::Apart([q, k, v]) => [
                strided::heads_mut(q, "out_q")?,
                strided::heads_mut(k, "out_k")?,
                strided::heads_mut(v, "out_v")?,
            ],
        };
        for ((out, name), shape) in outs.iter().zip(["out_q", "out_k", "out_v"]).zip(shapes) {
            check_shape(name, out.shape(), shape)?;
        }
        Ok(outs)
    }
}

fn rule<T: Float>(scale: f64, causal: bool, dropout: Option<(u32, u32, f64)>) -> AttentionRule<T> {
    let dropout = dropout.map(|(key0, key1, rate)| Dropout::new(Key([key0, key1]), rate));
    AttentionRule {
        scale: T::from_f64(scale),
        causal,
        dropout,
    }
}

/// Returns the shape of the output.
fn output_shape<T: Float>(inputs: &AttentionInputs<'_, T>) -> [usize; 4] {
    let [n, h, l, _] = inputs.queries.shape();
    [n, h, l, inputs.values.shape()[3]]
}

/// Returns the estimated time of one thread in nanoseconds.
fn estimated_nanoseconds<T: Float>(inputs: &AttentionInputs<'_, T>) -> usize {
    let [n, h, l, d] = inputs.queries.shape();
    n * h * l * inputs.keys.shape()[2] * (d + 16) / 32
}

/// Returns the shape of the array of logarithms, or an error if the bounds do not
/// increase from 0 to the number of positions.
fn logarithms_shape<'a, T: Float>(
    q: &'a Floats<'_>,
    bounds: Option<&[usize]>,
    inputs: &AttentionInputs<'_, T>,
) -> PyResult<&'a [usize]> {
    let Some(bounds) = bounds else {
        return Ok(&q.shape()[..3]);
    };
    let total = inputs.queries.shape()[2];
    let ends = (bounds.first(), bounds.last()) == (Some(&0), Some(&total));
    if ends && bounds.is_sorted() && inputs.keys.shape()[2] == total {
        return Ok(&q.shape()[1..3]);
    }
    Err(PyValueError::new_err(format!(
        "cu_seqlens: expected numbers that rise from 0 to the {total} positions, got {bounds:?}"
    )))
}

fn check_shape(name: &str, found: [usize; 4], expected: [usize; 4]) -> PyResult<()> {
    if found == expected {
        return Ok(());
    }
    let message = format!("{name}: expected shape {expected:?}, got {found:?}");
    Err(PyValueError::new_err(message))
}
