//! Attention, with the kernels of the NumPy backend.

use seqloom_kernels::Float;
use seqloom_kernels::attention::{
    AttentionInputs, AttentionMask, AttentionRule, BroadcastArray, Heads, HeadsMut, forward, varlen,
};

use super::{call::Call, windows::require_one_type};
use crate::Dtype;
use crate::graph::{Argument, Dim};
use crate::layout::Layout;
use crate::memory::{Outcome, Read, Write, by_float};
use crate::plan::{Builder, View};

/// The numbers of samples, heads, queries and keys, and the widths of queries and
/// values.
#[derive(Clone, Copy)]
struct AttentionSizes {
    n: usize,
    h: usize,
    queries: usize,
    keys: usize,
    d: usize,
    e: usize,
}

impl AttentionSizes {
    /// Returns the sizes of queries, keys and values (n, h, l, d), or an error if they
    /// do not match.
    fn new(queries: &View, keys: &View, values: &View) -> Outcome<Self> {
        let all = [queries, keys, values].map(|view| <[usize; 4]>::try_from(view.shape()));
        let [Ok(q), Ok(k), Ok(v)] = all else {
            return Err("q, k and v: expected (n, h, l, d)".to_owned());
        };
        if [q[0], q[1], q[3]] != [k[0], k[1], k[3]] || k[..3] != v[..3] {
            return Err(format!(
                "q, k and v do not fit together: {q:?}, {k:?} and {v:?}"
            ));
        }
        Ok(Self {
            n: q[0],
            h: q[1],
            queries: q[2],
            keys: k[2],
            d: q[3],
            e: v[3],
        })
    }

    /// Returns the estimated time on one thread, in nanoseconds.
    fn cost(&self) -> usize {
        let pairs = self.n.saturating_mul(self.h).saturating_mul(self.queries);
        pairs.saturating_mul(self.keys).saturating_mul(self.d + 16) / 32
    }

    /// Returns the layout of an attention result with the axes (n, l, h, e).
    fn output_layout(&self) -> Layout {
        Layout::new(&[self.n, self.queries, self.h, self.e]).permuted(&[0, 2, 1, 3])
    }
}

pub(crate) fn attention(b: &mut Builder, call: &Call<'_>) -> Outcome<Vec<View>> {
    let dropout = call.float("dropout")?.unwrap_or(0.0);
    if dropout > 0.0 && call.get("key")?.is_some() {
        return Err("dropout: expected 0; an exported model does not drop values".to_owned());
    }
    let (q, k, v) = contiguous_inputs(b, call)?;
    let sizes = AttentionSizes::new(&q, &k, &v)?;
    let mask = call.opt_array("mask")?;
    let mask = mask
        .map(|mask| broadcast_mask(b, &mask, &sizes, q.dtype))
        .transpose()?;
    let rule = Scoring::new(call, sizes.d)?;
    let made = b.allocate(q.dtype, &[sizes.n, sizes.queries, sizes.h, sizes.e])?;
    let sums = b.allocate(q.dtype, &[sizes.n, sizes.h, sizes.queries])?;
    let dtype = q.dtype;
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| {
            let ([q, k, v, mask @ ..], [made, sums]) = (reads, writes) else {
                return Ok(());
            };
            let threads = seqloom_kernels::useful_threads(threads, sizes.cost());
            by_float!(dtype, T => {
                let inputs = AttentionInputs {
                    queries: read_heads::<T>(q)?,
                    keys: read_heads(k)?,
                    values: read_heads(v)?,
                    mask: mask.first().map(checked_mask).transpose()?,
                    rule: rule.to_rule(),
                };
                let out = write_heads(&sizes.output_layout(), made.slice()?)?;
                forward(&inputs, out, sums.slice()?, threads);
                Ok(())
            })
        },
    );
    let made_layout = sizes.output_layout();
    let reads = [q, k, v].into_iter().chain(mask).collect();
    b.add_step(reads, &[&made, &sums], kernel)?;
    Ok(vec![made.with_layout(made_layout), sums])
}

/// Returns queries, keys and values with contiguous rows, which the kernel requires.
fn contiguous_inputs(b: &mut Builder, call: &Call<'_>) -> Outcome<(View, View, View)> {
    let (q, k, v) = (call.array("q")?, call.array("k")?, call.array("v")?);
    require_one_type(&[Some(&q), Some(&k), Some(&v)])?;
    let mut side_by_side = |view: View| match view.layout.last_axis() {
        (0 | 1, _) | (_, 1) => Ok(view),
        _ => b.add_copy(&view),
    };
    Ok((side_by_side(q)?, side_by_side(k)?, side_by_side(v)?))
}

/// The scale of attention scores, and whether later keys are masked.
#[derive(Clone, Copy)]
struct Scoring {
    scale: f64,
    is_causal: bool,
}

impl Scoring {
    #[expect(clippy::cast_precision_loss, reason = "no row has 2^53 elements")]
    fn new(call: &Call<'_>, width: usize) -> Outcome<Self> {
        let default = (width.max(1) as f64).powf(-0.5);
        Ok(Self {
            scale: call.float("scale")?.unwrap_or(default),
            is_causal: call.flag("causal")?,
        })
    }

    fn to_rule<T: Float>(self) -> AttentionRule<T> {
        AttentionRule {
            scale: T::from_f64(self.scale),
            causal: self.is_causal,
            dropout: None,
        }
    }
}

/// Returns the mask, broadcast to all query-key pairs.
fn broadcast_mask(
    b: &mut Builder,
    mask: &View,
    sizes: &AttentionSizes,
    dtype: Dtype,
) -> Outcome<View> {
    let mask = if mask.dtype == Dtype::Bool {
        mask.clone()
    } else {
        b.cast(mask, dtype)?
    };
    let is_near = mask.layout.last_axis().1 == 1 || mask.rank() == 0;
    let mask = if is_near { mask } else { b.add_copy(&mask)? };
    let shape = [sizes.n, sizes.h, sizes.queries, sizes.keys];
    let layout = mask.layout.broadcast_to(&shape);
    let layout = layout.ok_or_else(|| format!("mask: does not broadcast to {shape:?}"))?;
    Ok(mask.with_layout(layout))
}

fn checked_mask<'a, T: Float>(mask: &Read<'a>) -> Outcome<AttentionMask<'a, T>> {
    let layout = mask.layout;
    let (Ok(shape), Ok(mut steps)) = (
        <[usize; 4]>::try_from(&layout.shape[..]),
        <[usize; 4]>::try_from(&layout.strides[..]),
    ) else {
        return Err("mask: expected four axes".to_owned());
    };
    if shape[3] == 1 {
        steps[3] = 1;
    }
    let found = if mask.dtype == Dtype::Bool {
        let bytes = mask.elements_onward::<u8>()?;
        let booleans =
            bytemuck::checked::try_cast_slice(bytes).map_err(|error| error.to_string())?;
        BroadcastArray::new(booleans, shape, steps).map(AttentionMask::Allowed)
    } else {
        BroadcastArray::new(mask.elements_onward::<T>()?, shape, steps).map(AttentionMask::Added)
    };
    found.ok_or_else(|| "mask: the rows are not contiguous".to_owned())
}

fn read_heads<'a, T: Float>(read: &Read<'a>) -> Outcome<Heads<'a, T>> {
    let (shape, steps) = sizes_and_strides(read.layout)?;
    let found = Heads::new(read.elements_onward()?, shape, steps);
    found.ok_or_else(|| "an array is too short".to_owned())
}

fn write_heads<'a, T: Float>(layout: &Layout, out: &'a mut [T]) -> Outcome<HeadsMut<'a, T>> {
    let (shape, steps) = sizes_and_strides(layout)?;
    HeadsMut::new(out, shape, steps).ok_or_else(|| "an array is too short".to_owned())
}

/// Returns the sizes of four axes, and the strides of the first three. An axis of length 1
/// gets the stride that it would have in a C-order array.
fn sizes_and_strides(layout: &Layout) -> Outcome<([usize; 4], [usize; 3])> {
    let shape = <[usize; 4]>::try_from(&layout.shape[..]);
    let shape = shape.map_err(|_| "expected four axes".to_owned())?;
    let mut steps = [1; 4];
    for axis in (0..4).rev() {
        let whole = steps.get(axis + 1).map_or(1, |step| step * shape[axis + 1]);
        let is_free = shape.contains(&0) || shape[axis] == 1;
        steps[axis] = if is_free { whole } else { layout.strides[axis] };
    }
    Ok((shape, [steps[0], steps[1], steps[2]]))
}

/// Returns a view of shape `(1, h, total, d)` of an array of shape `(total, h, d)`.
fn view_by_head(view: &View) -> Outcome<View> {
    if view.rank() != 3 {
        return Err(format!("expected (total, h, d), got {:?}", view.shape()));
    }
    Ok(view.with_layout(view.layout.permuted(&[1, 0, 2]).unsqueezed(0)))
}

pub(crate) fn packed_attention(b: &mut Builder, call: &Call<'_>) -> Outcome<Vec<View>> {
    let (q, k, v) = contiguous_inputs(b, call)?;
    let (q, k, v) = (view_by_head(&q)?, view_by_head(&k)?, view_by_head(&v)?);
    let sizes = AttentionSizes::new(&q, &k, &v)?;
    let bounds = call.array("cu_seqlens")?;
    super::take::require_ints(&bounds)?;
    let bounds = b.cast(&bounds, Dtype::Int64)?;
    let bounds = b.contiguous(&bounds)?;
    if bounds.rank() != 1 || sizes.queries != sizes.keys {
        return Err("cu_seqlens: expected the same number of queries and keys".to_owned());
    }
    let longest = max_length(call)?;
    let rule = Scoring::new(call, sizes.d)?;
    let made = b.allocate(q.dtype, &[sizes.queries, sizes.h, sizes.e])?;
    let sums = b.allocate(q.dtype, &[sizes.h, sizes.queries])?;
    let dtype = q.dtype;
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| {
            let ([q, k, v, bounds], [made, sums]) = (reads, writes) else {
                return Ok(());
            };
            let bounds = checked_bounds(bounds.slice()?, sizes.queries, longest)?;
            let threads = seqloom_kernels::useful_threads(threads, sizes.cost());
            by_float!(dtype, T => {
                let inputs = AttentionInputs {
                    queries: read_heads::<T>(q)?,
                    keys: read_heads(k)?,
                    values: read_heads(v)?,
                    mask: None,
                    rule: rule.to_rule(),
                };
                let out = write_heads(&sizes.output_layout(), made.slice()?)?;
                varlen::forward(&inputs, &bounds, out, sums.slice()?, threads);
                Ok(())
            })
        },
    );
    b.add_step(vec![q, k, v, bounds], &[&made, &sums], kernel)?;
    Ok(vec![made, sums])
}

/// Returns the largest allowed length of a sequence, from the argument `max_seqlen`.
/// Any length is allowed if the argument is the named size `longest`.
fn max_length(call: &Call<'_>) -> Outcome<i64> {
    if let Some(Argument::Size(size)) = call.operation.argument("max_seqlen")
        && size.factors == [Dim::Named("longest".to_owned())]
    {
        return Ok(i64::MAX);
    }
    let longest = call.int("max_seqlen")?;
    longest.ok_or_else(|| "max_seqlen is missing".to_owned())
}

/// Checks the bounds of packed sequences, which must increase from 0 to the total length.
fn checked_bounds(bounds: &[i64], total: usize, longest: i64) -> Outcome<Vec<usize>> {
    let found: Option<Vec<usize>> = bounds
        .iter()
        .map(|&bound| usize::try_from(bound).ok())
        .collect();
    let is_whole = |found: &Vec<usize>| {
        found.first() == Some(&0) && found.last() == Some(&total) && found.is_sorted()
    };
    let found = found.filter(is_whole);
    let found = found.ok_or_else(|| {
        format!(
            "cu_seqlens: expected numbers that increase from 0 to {total}, the number of positions"
        )
    })?;
    let widest = bounds
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .max()
        .unwrap_or(0);
    if widest > longest {
        return Err(format!(
            "max_seqlen is {longest}, but a sequence has {widest} positions"
        ));
    }
    Ok(found)
}
