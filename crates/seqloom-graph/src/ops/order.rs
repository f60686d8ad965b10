//! Operations along rows: sorting, argmax, cumulative sums.

use std::cmp::Ordering;

use super::call::Call;
use super::join::{concatenate, reverse_axis};
use super::reduce::keep_axes;
use super::shapes::{move_axis_last, move_last_axis, reshaped_view};
use super::walk::Element;
use crate::Dtype;
use crate::memory::{Outcome, Read, Write};
use crate::plan::{Builder, View};

/// The operation that is applied to each row.
#[derive(Clone, Copy)]
enum RowTask {
    Sort,
    Argsort,
    Greatest,
    Least,
    Add,
}

/// Returns the dtype in which rows of a given dtype are processed.
fn sort_type(dtype: Dtype) -> Dtype {
    if dtype.is_float() {
        dtype
    } else {
        Dtype::Int64
    }
}

pub(crate) fn sort(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let (x, axis, is_falling) = sort_arguments(call)?;
    let numbers = b.cast(&x, sort_type(x.dtype))?;
    let found = add_row_task(b, &move_axis_last(&numbers, axis), RowTask::Sort, None)?;
    let found = b.cast(&move_last_axis(&found, axis), x.dtype)?;
    if is_falling {
        reverse_axis(b, &found, axis)
    } else {
        Ok(found)
    }
}

pub(crate) fn argsort(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let (x, axis, is_falling) = sort_arguments(call)?;
    let numbers = b.cast(&x, sort_type(x.dtype))?;
    if !is_falling {
        let found = add_row_task(b, &move_axis_last(&numbers, axis), RowTask::Argsort, None)?;
        return Ok(move_last_axis(&found, axis));
    }
    let backwards = reverse_axis(b, &numbers, axis)?;
    let found = add_row_task(b, &move_axis_last(&backwards, axis), RowTask::Argsort, None)?;
    let found = reverse_axis(b, &move_last_axis(&found, axis), axis)?;
    let last = x.shape()[axis].cast_signed() as i64 - 1;
    let all = vec![
        super::fused::Operand::Number(super::call::to_float(last)),
        super::fused::Operand::Array(found),
    ];
    let operands = super::elementwise::Operands::new(all, Dtype::Int64);
    super::integers::add_integers(b, "subtract", &operands)
}

fn sort_arguments(call: &Call<'_>) -> Outcome<(View, usize, bool)> {
    let x = call.array("x")?;
    let last = x
        .rank()
        .checked_sub(1)
        .ok_or("expected an array with axes")?;
    let axis = call.axis("axis", x.rank())?.unwrap_or(last);
    Ok((x, axis, call.flag("descending")?))
}

/// Adds the operation `argmax` or `argmin` to the plan.
pub(crate) fn arg_extreme(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let mut x = call.array("x")?;
    let rank = x.rank();
    let axis = call.axis("axis", rank)?;
    if axis.is_none() {
        let count = x.layout.count();
        x = reshaped_view(b, &x, &[count])?;
    }
    let along = axis.unwrap_or(0);
    if x.shape()[along] == 0 {
        return Err("an axis of length 0 has no maximum or minimum".to_owned());
    }
    let numbers = b.cast(&x, sort_type(x.dtype))?;
    let task = if call.name() == "argmax" {
        RowTask::Greatest
    } else {
        RowTask::Least
    };
    let found = add_row_task(b, &move_axis_last(&numbers, along), task, Some(1))?;
    let found = found.with_layout(found.layout.select(found.rank() - 1, 0));
    if !call.flag("keepdims")? {
        return Ok(found);
    }
    let axes: Vec<usize> = axis.map_or_else(|| (0..rank).collect(), |axis| vec![axis]);
    Ok(keep_axes(&found, &axes))
}

pub(crate) fn cumulative_sum(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let mut x = call.array("x")?;
    if x.rank() == 0 {
        x = x.with_layout(x.layout.unsqueezed(0));
    }
    let axis = call.axis("axis", x.rank())?;
    if axis.is_none() && x.rank() > 1 {
        return Err("axis: required for an array with several axes".to_owned());
    }
    let axis = axis.unwrap_or(0);
    let dtype = call.dtype("dtype")?.unwrap_or_else(|| sort_type(x.dtype));
    let numbers = b.cast(&x, sort_type(dtype))?;
    let found = add_row_task(b, &move_axis_last(&numbers, axis), RowTask::Add, None)?;
    let found = move_last_axis(&found, axis);
    let found = b.cast(&found, dtype)?;
    if !call.flag("include_initial")? {
        return Ok(found);
    }
    let mut shape = found.shape().to_vec();
    shape[axis] = 1;
    let zero = super::create::add_full(b, dtype, &shape, 0.0)?;
    concatenate(b, &[zero, found], axis)
}

/// Applies an operation to each row. The rows of the result have the length `length`, by
/// default that of the rows of `x`.
fn add_row_task(b: &mut Builder, x: &View, task: RowTask, length: Option<usize>) -> Outcome<View> {
    let x = b.contiguous(x)?;
    let mut shape = x.shape().to_vec();
    let width = shape.pop().unwrap_or(1);
    shape.push(length.unwrap_or(width));
    let dtype = match task {
        RowTask::Sort | RowTask::Add => x.dtype,
        _ => Dtype::Int64,
    };
    let made = b.allocate(dtype, &shape)?;
    let kernel = Box::new(move |reads: &[Read<'_>], writes: &mut [Write<'_>], _| {
        let ([read], [write]) = (reads, writes) else {
            return Ok(());
        };
        match read.dtype {
            Dtype::Float32 => run_row::<f32>(task, width, *read, write),
            Dtype::Float64 => run_row::<f64>(task, width, *read, write),
            _ => run_row::<i64>(task, width, *read, write),
        }
    });
    b.add_step(vec![x], &[&made], kernel)?;
    Ok(made)
}

fn run_row<T: Element>(task: RowTask, width: usize, x: Read<'_>, write: &mut Write<'_>) -> Outcome {
    let rows = x.slice::<T>()?.chunks(width.max(1));
    match task {
        RowTask::Sort => {
            for (row, out) in rows.zip(write.slice::<T>()?.chunks_mut(width.max(1))) {
                out.copy_from_slice(row);
                out.sort_by(compare_values);
            }
        }
        RowTask::Add => {
            for (row, out) in rows.zip(write.slice::<T>()?.chunks_mut(width.max(1))) {
                accumulate(row, out);
            }
        }
        RowTask::Argsort => {
            for (row, out) in rows.zip(write.slice::<i64>()?.chunks_mut(width.max(1))) {
                let mut order: Vec<usize> = (0..row.len()).collect();
                order.sort_by(|&one, &other| compare_values(&row[one], &row[other]));
                let places = order.into_iter().map(|place| place.cast_signed() as i64);
                out.iter_mut()
                    .zip(places)
                    .for_each(|(out, place)| *out = place);
            }
        }
        RowTask::Greatest | RowTask::Least => {
            let is_greatest = matches!(task, RowTask::Greatest);
            for (row, out) in rows.zip(write.slice::<i64>()?) {
                *out = extreme_index(row, is_greatest).cast_signed() as i64;
            }
        }
    }
    Ok(())
}

/// Compares two values for sorting; NaN is greater than any number.
fn compare_values<T: Element>(one: &T, other: &T) -> Ordering {
    one.partial_cmp(other)
        .unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
}

fn accumulate<T: Element>(x: &[T], out: &mut [T]) {
    let mut total = None;
    for (&x, out) in x.iter().zip(out) {
        let sum = total.map_or(x, |total: T| total.plus(x));
        *out = sum;
        total = Some(sum);
    }
}

/// Returns the index of the first maximum or minimum, or of the first NaN.
fn extreme_index<T: Element>(x: &[T], is_greatest: bool) -> usize {
    let mut found = 0;
    for (place, &value) in x.iter().enumerate() {
        if value.is_nan() {
            return place;
        }
        let is_better = if is_greatest {
            value > x[found]
        } else {
            value < x[found]
        };
        found = if is_better { place } else { found };
    }
    found
}
