//! Reductions along axes, such as sums, maxima and means.

use super::call::Call;
use super::elementwise::{Operands, add_function};
use super::fused::Operand;
use super::walk::{Element, Reduce, Reduction};
use crate::Dtype;
use crate::layout::Layout;
use crate::memory::{Outcome, Read, Write};
use crate::plan::{Builder, View};

pub(crate) fn add_reduction(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    let axes = call.axes("axis", x.rank())?;
    let keeps = call.flag("keepdims")?;
    let dtype = call.dtype("dtype")?;
    let found = match call.name() {
        "sum" => sum(b, &x, &axes, dtype)?,
        "prod" => {
            let dtype = dtype.map_or_else(|| sum_type(x.dtype), Ok)?;
            let x = b.cast(&x, dtype)?;
            add_fold(b, Reduce::Prod, &x, &axes)?
        }
        "mean" => mean(b, &x, &axes)?,
        "max" => min_max(b, Reduce::Max, &x, &axes)?,
        "min" => min_max(b, Reduce::Min, &x, &axes)?,
        "any" | "all" => {
            let booleans = b.cast(&x, Dtype::Bool)?;
            let which = if call.name() == "any" {
                Reduce::Max
            } else {
                Reduce::Min
            };
            any_or_all(b, which, &booleans, &axes)?
        }
        name => moment(b, call, name, &x, &axes)?,
    };
    Ok(if keeps {
        keep_axes(&found, &axes)
    } else {
        found
    })
}

/// Adds a sum to the plan; the sum of integers is an integer.
pub(crate) fn sum(
    b: &mut Builder,
    x: &View,
    axes: &[usize],
    dtype: Option<Dtype>,
) -> Outcome<View> {
    let dtype = dtype.map_or_else(|| sum_type(x.dtype), Ok)?;
    let x = b.cast(x, dtype)?;
    add_fold(b, Reduce::Sum, &x, axes)
}

/// Returns the element type of a sum.
fn sum_type(dtype: Dtype) -> Outcome<Dtype> {
    match dtype {
        Dtype::Float32 | Dtype::Float64 => Ok(dtype),
        Dtype::Bool | Dtype::Int32 | Dtype::Int64 => Ok(Dtype::Int64),
        Dtype::Uint8 | Dtype::Uint32 => Err(format!(
            "a sum of {dtype} has type uint64, which this format lacks; cast to int64"
        )),
    }
}

/// Adds a mean to the plan; the mean of integers is a `float32`.
pub(crate) fn mean(b: &mut Builder, x: &View, axes: &[usize]) -> Outcome<View> {
    if !x.dtype.is_float() {
        let wide = b.cast(x, Dtype::Float64)?;
        let found = mean(b, &wide, axes)?;
        return b.cast(&found, Dtype::Float32);
    }
    let total = add_fold(b, Reduce::Sum, x, axes)?;
    divide_by_count(b, total, reduced_count(x, axes))
}

fn divide_by_count(b: &mut Builder, total: View, count: f64) -> Outcome<View> {
    let dtype = total.dtype;
    let all = vec![Operand::Array(total), Operand::Number(count)];
    add_function(b, "divide", &Operands::new(all, dtype))
}

/// Returns the number of elements that are reduced to one element.
#[expect(clippy::cast_precision_loss, reason = "no array has 2^53 elements")]
fn reduced_count(x: &View, axes: &[usize]) -> f64 {
    axes.iter().map(|&axis| x.shape()[axis]).product::<usize>() as f64
}

/// Adds a maximum or a minimum to the plan.
pub(crate) fn min_max(b: &mut Builder, which: Reduce, x: &View, axes: &[usize]) -> Outcome<View> {
    if axes.iter().any(|&axis| x.shape()[axis] == 0) {
        return Err("an axis of length 0 has no maximum or minimum".to_owned());
    }
    let wide = if x.dtype.is_float() {
        x.dtype
    } else {
        Dtype::Int64
    };
    let numbers = b.cast(x, wide)?;
    let found = add_fold(b, which, &numbers, axes)?;
    b.cast(&found, x.dtype)
}

/// Adds the operation `any` or `all` to the plan.
fn any_or_all(b: &mut Builder, which: Reduce, x: &View, axes: &[usize]) -> Outcome<View> {
    if axes.iter().any(|&axis| x.shape()[axis] == 0) {
        let kept: Vec<usize> = (0..x.rank()).filter(|axis| !axes.contains(axis)).collect();
        let shape: Vec<usize> = kept.iter().map(|&axis| x.shape()[axis]).collect();
        let value = f64::from(u8::from(which == Reduce::Min));
        return super::create::add_full(b, Dtype::Bool, &shape, value);
    }
    min_max(b, which, x, axes)
}

/// Adds the variance, the standard deviation, or the number of non-zero elements to the
/// plan.
fn moment(b: &mut Builder, call: &Call<'_>, name: &str, x: &View, axes: &[usize]) -> Outcome<View> {
    if name == "count_nonzero" {
        let booleans = b.cast(x, Dtype::Bool)?;
        return sum(b, &booleans, axes, None);
    }
    if !x.dtype.is_float() {
        return Err("defined for floats only".to_owned());
    }
    let total = add_fold(b, Reduce::Sum, x, axes)?;
    let mean = divide_by_count(b, keep_axes(&total, axes), reduced_count(x, axes))?;
    let both = vec![Operand::Array(x.clone()), Operand::Array(mean)];
    let off = add_function(b, "subtract", &Operands::new(both, x.dtype))?;
    let both = vec![Operand::Array(off.clone()), Operand::Array(off)];
    let square = add_function(b, "multiply", &Operands::new(both, x.dtype))?;
    let total = add_fold(b, Reduce::Sum, &square, axes)?;
    let correction = call.float("correction")?.unwrap_or(0.0);
    let found = divide_by_count(b, total, (reduced_count(x, axes) - correction).max(0.0))?;
    if name == "var" {
        return Ok(found);
    }
    add_function(
        b,
        "sqrt",
        &Operands::new(vec![Operand::Array(found)], x.dtype),
    )
}

/// Reduces an array along axes and removes these axes.
pub(crate) fn add_fold(b: &mut Builder, which: Reduce, x: &View, axes: &[usize]) -> Outcome<View> {
    let walk = Reduction::new(which, &x.layout, axes);
    let kept: Vec<usize> = (0..x.rank()).filter(|axis| !axes.contains(axis)).collect();
    let shape: Vec<usize> = kept.iter().map(|&axis| x.shape()[axis]).collect();
    let places = walk
        .order
        .iter()
        .filter_map(|axis| kept.iter().position(|kept| kept == axis));
    let order: Vec<usize> = places.collect();
    let made = b.allocate_in_order(x.dtype, &shape, &order)?;
    let kernel = Box::new(move |reads: &[Read<'_>], writes: &mut [Write<'_>], _| {
        let ([read, ..], [write]) = (reads, writes) else {
            return Ok(());
        };
        match read.dtype {
            Dtype::Float32 => run_reduction::<f32>(&walk, *read, write),
            Dtype::Float64 => run_reduction::<f64>(&walk, *read, write),
            _ => run_reduction::<i64>(&walk, *read, write),
        }
    });
    b.add_step(vec![x.clone()], &[&made], kernel)?;
    Ok(made)
}

fn run_reduction<T: Element>(walk: &Reduction, read: Read<'_>, write: &mut Write<'_>) -> Outcome {
    walk.run::<T>(read.memory()?, write.slice()?);
    Ok(())
}

/// Inserts the reduced axes again, with length 1.
pub(crate) fn keep_axes(found: &View, axes: &[usize]) -> View {
    let mut axes = axes.to_vec();
    axes.sort_unstable();
    let unsqueeze = |layout: Layout, &axis: &usize| layout.unsqueezed(axis);
    found.with_layout(axes.iter().fold(found.layout.clone(), unsqueeze))
}
