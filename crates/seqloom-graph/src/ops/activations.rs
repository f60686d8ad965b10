//! Softmax and logsumexp, with the kernels of the NumPy backend.

use seqloom_fuse::Op;
use seqloom_kernels::softmax;

use super::call::{Call, checked_axis};
use super::elementwise::{Operands, add_function, float_type};
use super::fused::Operand;
use super::reduce::{keep_axes, min_max, sum};
use super::shapes::{move_axis_last, move_last_axis};
use super::walk::Reduce;
use super::windows::require_one_type;
use crate::memory::{Outcome, Read, Write, by_float};
use crate::plan::{Builder, View};

pub(crate) fn softmax(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    require_one_type(&[Some(&x)])?;
    let rank = x.rank().max(1);
    let axis = checked_axis(call.int("axis")?.unwrap_or(-1), rank)?;
    let is_last = axis + 1 == rank;
    let rows = if is_last { x } else { move_axis_last(&x, axis) };
    let rows = b.contiguous(&rows)?;
    let width = rows.shape().last().copied().unwrap_or(1);
    let (dtype, count) = (rows.dtype, rows.layout.count());
    let is_logarithm = call.name() == "log_softmax";
    let made = b.allocate(dtype, rows.shape())?;
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| {
            let ([x], [write]) = (reads, writes) else {
                return Ok(());
            };
            let threads = seqloom_kernels::useful_threads(threads, count);
            by_float!(dtype, T => {
                let fill = if is_logarithm { softmax::log_softmax } else { softmax::softmax };
                fill(x.slice::<T>()?, width, write.slice()?, threads);
                Ok(())
            })
        },
    );
    b.add_step(vec![rows], &[&made], kernel)?;
    Ok(if is_last {
        made
    } else {
        move_last_axis(&made, axis)
    })
}

pub(crate) fn logsumexp(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    let x = b.cast(&x, float_type(x.dtype))?;
    let axes = call.axes("axis", x.rank())?;
    let is_one = matches!(call.get("axis")?, Some(super::call::ArgValue::Int(_)));
    let keeps = call.flag("keepdims")?;
    if !is_one || x.layout.count() == 0 {
        return stepwise_logsumexp(b, &x, &axes, keeps);
    }
    let rows = move_axis_last(&x, axes[0]);
    let rows = b.contiguous(&rows)?;
    let outer = &rows.shape()[..rows.rank() - 1];
    let width = rows.shape()[rows.rank() - 1];
    let made = b.allocate(x.dtype, outer)?;
    let (dtype, count) = (x.dtype, x.layout.count());
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| {
            let ([x], [write]) = (reads, writes) else {
                return Ok(());
            };
            let threads = seqloom_kernels::useful_threads(threads, count);
            by_float!(dtype, T => {
                softmax::logsumexp(x.slice::<T>()?, width, write.slice()?, threads);
                Ok(())
            })
        },
    );
    b.add_step(vec![rows], &[&made], kernel)?;
    Ok(if keeps { keep_axes(&made, &axes) } else { made })
}

/// Adds `logsumexp` over several axes to the plan, with the same sequence of operations as
/// in NumPy.
fn stepwise_logsumexp(b: &mut Builder, x: &View, axes: &[usize], keeps: bool) -> Outcome<View> {
    let one = |b: &mut Builder, name: &str, all: Vec<Operand>| {
        add_function(b, name, &Operands::new(all, x.dtype))
    };
    let total = |b: &mut Builder, x: &View| {
        let total = sum(b, x, axes, None)?;
        Ok::<View, String>(keep_axes(&total, axes))
    };
    let found = if x.layout.count() == 0 {
        let total = total(b, x)?;
        one(b, "log", vec![Operand::Array(total)])?
    } else {
        let peak = min_max(b, Reduce::Max, x, axes)?;
        let peak = keep_axes(&peak, axes);
        let is_finite = one(b, "isfinite", vec![Operand::Array(peak.clone())])?;
        let all = [
            Operand::Array(is_finite),
            Operand::Array(peak),
            Operand::Number(0.0),
        ];
        let peak = super::fused::add_op(b, Op::Where, &all, x.dtype)?;
        let both = vec![Operand::Array(x.clone()), Operand::Array(peak.clone())];
        let off = one(b, "subtract", both)?;
        let powers = one(b, "exp", vec![Operand::Array(off)])?;
        let total = total(b, &powers)?;
        let logarithm = one(b, "log", vec![Operand::Array(total)])?;
        one(
            b,
            "add",
            vec![Operand::Array(logarithm), Operand::Array(peak)],
        )?
    };
    if keeps {
        return Ok(found);
    }
    let mut layout = found.layout.clone();
    for axis in (0..x.rank()).rev().filter(|axis| axes.contains(axis)) {
        layout = layout.select(axis, 0);
    }
    Ok(found.with_layout(layout))
}
