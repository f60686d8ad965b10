//! Operations that change the shape; they return views wherever NumPy returns views.

use super::call::{Call, unique_axes};
use crate::layout::Layout;
use crate::memory::Outcome;
use crate::plan::{Builder, View};

pub(crate) fn reshape(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    let wanted = call.ints("shape")?.ok_or("shape is missing")?;
    let shape = infer_size(&wanted, x.layout.count())?;
    reshaped_view(b, &x, &shape)
}

/// Returns the array in another shape, as a copy if necessary.
pub(crate) fn reshaped_view(b: &mut Builder, x: &View, shape: &[usize]) -> Outcome<View> {
    if let Some(layout) = x.layout.reshaped(shape) {
        return Ok(x.with_layout(layout));
    }
    let copy = b.add_copy(x)?;
    Ok(copy.with_layout(Layout::new(shape)))
}

/// Returns the sizes of a new shape, in which -1 is replaced by the remaining size.
fn infer_size(wanted: &[i64], count: usize) -> Outcome<Vec<usize>> {
    let bad = || format!("{count} elements do not fit into the shape {wanted:?}");
    let known = wanted.iter().filter(|&&size| size != -1);
    let known = known.map(|&size| usize::try_from(size).map_err(|_| bad()));
    let sizes = known.collect::<Outcome<Vec<usize>>>()?;
    let product = sizes
        .iter()
        .try_fold(1_usize, |all, &size| all.checked_mul(size));
    let product = product.ok_or_else(bad)?;
    let free = wanted.len() - sizes.len();
    let rest = if free == 1 {
        count.checked_div(product).ok_or_else(bad)?
    } else {
        1
    };
    if free > 1 || product.checked_mul(rest) != Some(count) {
        return Err(bad());
    }
    let mut sizes = sizes.into_iter();
    Ok(wanted
        .iter()
        .map(|&size| {
            if size == -1 {
                rest
            } else {
                sizes.next().unwrap_or(rest)
            }
        })
        .collect())
}

pub(crate) fn permute_dims(call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    let axes = call.axes("axes", x.rank())?;
    if axes.len() != x.rank() {
        return Err(format!(
            "axes: expected all {} axes, got {axes:?}",
            x.rank()
        ));
    }
    Ok(x.with_layout(x.layout.permuted(&axes)))
}

pub(crate) fn moveaxis(call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    let from = call.axes("source", x.rank())?;
    let to = call.axes("destination", x.rank())?;
    if from.len() != to.len() {
        return Err("source and destination: expected the same number of axes".to_owned());
    }
    let mut order: Vec<usize> = (0..x.rank()).filter(|axis| !from.contains(axis)).collect();
    let mut moves: Vec<(usize, usize)> = to.into_iter().zip(from).collect();
    moves.sort_unstable();
    for (to, from) in moves {
        order.insert(to, from);
    }
    Ok(x.with_layout(x.layout.permuted(&order)))
}

/// Moves an axis to the end.
pub(crate) fn move_axis_last(x: &View, axis: usize) -> View {
    let mut order: Vec<usize> = (0..x.rank()).filter(|other| *other != axis).collect();
    order.push(axis);
    x.with_layout(x.layout.permuted(&order))
}

/// Moves the last axis to another index.
pub(crate) fn move_last_axis(x: &View, axis: usize) -> View {
    let Some(last) = x.rank().checked_sub(1) else {
        return x.clone();
    };
    let mut order: Vec<usize> = (0..last).collect();
    order.insert(axis, last);
    x.with_layout(x.layout.permuted(&order))
}

pub(crate) fn matrix_transpose(call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    if x.rank() < 2 {
        return Err(format!(
            "expected a matrix, got an array of {} axes",
            x.rank()
        ));
    }
    Ok(x.with_layout(x.layout.transposed()))
}

pub(crate) fn broadcast_to(call: &Call<'_>) -> Outcome<View> {
    let (x, shape) = (call.array("x")?, call.shape("shape")?);
    let layout = x.layout.broadcast_to(&shape);
    let layout =
        layout.ok_or_else(|| format!("{:?} does not broadcast to {shape:?}", x.shape()))?;
    Ok(x.with_layout(layout))
}

pub(crate) fn expand_dims(call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    let numbers = call.ints("axis")?.unwrap_or_else(|| vec![0]);
    let rank = x.rank() + numbers.len();
    let axes = unique_axes(&numbers, rank, "axis")?;
    Ok(super::reduce::keep_axes(&x, &axes))
}

pub(crate) fn squeeze(call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    let axes = match call.get("axis")? {
        None => (0..x.rank()).filter(|&axis| x.shape()[axis] == 1).collect(),
        Some(_) => call.axes("axis", x.rank())?,
    };
    if axes.iter().any(|&axis| x.shape()[axis] != 1) {
        return Err(format!(
            "axis: {axes:?} of the shape {:?} are not all of length 1",
            x.shape()
        ));
    }
    let mut layout = x.layout.clone();
    for axis in (0..x.rank()).rev().filter(|axis| axes.contains(axis)) {
        layout = layout.select(axis, 0);
    }
    Ok(x.with_layout(layout))
}

pub(crate) fn unstack(call: &Call<'_>) -> Outcome<Vec<View>> {
    let x = call.array("x")?;
    let axis = call.axis("axis", x.rank())?.unwrap_or(0);
    let count = x
        .shape()
        .get(axis)
        .copied()
        .ok_or("expected an array with axes")?;
    if count > 4096 {
        return Err(format!("an operation cannot return {count} parts"));
    }
    Ok((0..count)
        .map(|at| x.with_layout(x.layout.select(axis, at)))
        .collect())
}
