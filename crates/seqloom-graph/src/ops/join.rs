//! Operations that copy arrays into a new array: concat, repeat, flip, roll, pad.

use super::call::{ArgValue, Call, checked_axis};
use super::create::{add_full, ints};
use crate::layout::{Layout, iteration_order};
use crate::memory::{Outcome, Read, Write};
use crate::plan::{Builder, View};

/// An array that is copied into a result, and its layout in the result.
struct Placement {
    layout: Layout,
    view: View,
}

pub(crate) fn concat(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let mut arrays = call.arrays("arrays")?;
    if matches!(
        call.operation.arguments.get(1),
        Some(Some(crate::graph::Argument::Null))
    ) {
        for view in &mut arrays {
            let count = view.layout.count();
            *view = super::shapes::reshaped_view(b, view, &[count])?;
        }
    }
    let rank = arrays.first().map_or(0, View::rank);
    let axis = call.axis("axis", rank)?.unwrap_or(0);
    concatenate(b, &arrays, axis)
}

pub(crate) fn stack(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let arrays = call.arrays("arrays")?;
    let rank = arrays.first().map_or(0, View::rank) + 1;
    let axis = checked_axis(call.int("axis")?.unwrap_or(0), rank)?;
    let first = arrays.first().map(|view| view.shape().to_vec());
    if arrays
        .iter()
        .any(|view| Some(view.shape()) != first.as_deref())
    {
        return Err("arrays: expected arrays of the same shape".to_owned());
    }
    let unsqueezed: Vec<View> = arrays
        .iter()
        .map(|view| view.with_layout(view.layout.unsqueezed(axis)))
        .collect();
    concatenate(b, &unsqueezed, axis)
}

pub(crate) fn concatenate(b: &mut Builder, arrays: &[View], axis: usize) -> Outcome<View> {
    let dtype = arrays
        .iter()
        .map(|view| view.dtype)
        .reduce(crate::Dtype::result_type);
    let dtype = dtype.ok_or("arrays: expected at least one")?;
    let shape = joined_shape(arrays, axis)?;
    let arrays: Vec<View> = arrays
        .iter()
        .map(|view| b.cast(view, dtype))
        .collect::<Outcome<_>>()?;
    let strides: Vec<&[usize]> = arrays.iter().map(|view| &view.layout.strides[..]).collect();
    let made = b.allocate_in_order(dtype, &shape, &iteration_order(&shape, &strides))?;
    let mut first = 0;
    let parts = arrays.into_iter().map(|view| {
        let size = view.shape()[axis];
        let layout = made.layout.slice(axis, first, size, 1);
        first += size;
        Placement { layout, view }
    });
    let parts = parts.collect();
    copy_arrays(b, made, parts, None)
}

fn joined_shape(arrays: &[View], axis: usize) -> Outcome<Vec<usize>> {
    let mut shape = arrays
        .first()
        .map_or(Vec::new(), |view| view.shape().to_vec());
    if axis >= shape.len() {
        return Err("arrays: expected arrays with axes".to_owned());
    }
    let mut total = 0_usize;
    for view in arrays {
        let mut own = view.shape().to_vec();
        let size = own.get(axis).copied().unwrap_or(0);
        total = total.checked_add(size).ok_or("the axis is too long")?;
        if let Some(slot) = own.get_mut(axis) {
            *slot = shape[axis];
        }
        if own != shape {
            return Err(format!(
                "the shape {:?} does not match the other arrays",
                view.shape()
            ));
        }
    }
    shape[axis] = total;
    Ok(shape)
}

/// Fills an array with an optional background array, and then with copies of other arrays.
fn copy_arrays(
    b: &mut Builder,
    made: View,
    parts: Vec<Placement>,
    ground: Option<View>,
) -> Outcome<View> {
    let (mut layouts, mut reads) = (Vec::new(), Vec::new());
    if let Some(view) = ground {
        layouts.push(made.layout.clone());
        reads.push(
            view.with_layout(
                view.layout
                    .broadcast_to(made.shape())
                    .ok_or("the shapes differ")?,
            ),
        );
    }
    for Placement { layout, view } in parts {
        layouts.push(layout);
        reads.push(view);
    }
    let kernel = Box::new(move |reads: &[Read<'_>], writes: &mut [Write<'_>], _| {
        let [write] = writes else { return Ok(()) };
        for (read, layout) in reads.iter().zip(&layouts) {
            copy_placed(*read, layout, write)?;
        }
        Ok(())
    });
    b.add_step(reads, &[&made], kernel)?;
    Ok(made)
}

fn copy_placed(read: Read<'_>, layout: &Layout, write: &mut Write<'_>) -> Outcome {
    match read.dtype.size() {
        1 => place_rows::<u8>(read.memory()?, read.layout, layout, write.slice()?),
        4 => place_rows::<u32>(read.memory()?, read.layout, layout, write.slice()?),
        _ => place_rows::<u64>(read.memory()?, read.layout, layout, write.slice()?),
    }
    Ok(())
}

/// Copies an array to a layout of the same shape; the inner loop runs along the fastest
/// axis of that layout.
pub(crate) fn place_rows<T: Copy>(from: &[T], read: &Layout, write: &Layout, out: &mut [T]) {
    let order = iteration_order(&write.shape, &[&write.strides]);
    let (read, write) = (read.permuted(&order), write.permuted(&order));
    let ((count, step), (_, out_step)) = (read.last_axis(), write.last_axis());
    for (offset, start) in read.rows().zip(write.rows()) {
        let from = from.get(offset..).unwrap_or_default();
        let out = out.get_mut(start..).unwrap_or_default();
        if step == 1 && out_step == 1 && count <= from.len() && count <= out.len() {
            out[..count].copy_from_slice(&from[..count]);
        } else if step == 0 {
            let out = out.iter_mut().step_by(out_step.max(1)).take(count);
            out.for_each(|out| *out = from[0]);
        } else {
            let out = out.iter_mut().step_by(out_step.max(1)).take(count);
            out.zip(from.iter().step_by(step))
                .for_each(|(out, &x)| *out = x);
        }
    }
}

pub(crate) fn flip(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    let axes = call.axes("axis", x.rank())?;
    let mut found = x;
    for axis in axes {
        found = reverse_axis(b, &found, axis)?;
    }
    Ok(found)
}

/// Adds `flip` to the plan: an axis is reversed.
pub(crate) fn reverse_axis(b: &mut Builder, x: &View, axis: usize) -> Outcome<View> {
    let count = x.shape()[axis];
    let made = b.allocate(x.dtype, x.shape())?;
    let parts = (0..count).map(|at| Placement {
        layout: made.layout.slice(axis, count - 1 - at, 1, 1),
        view: x.with_layout(x.layout.slice(axis, at, 1, 1)),
    });
    if count <= MAX_SINGLE_COPIES {
        let parts = parts.collect();
        return copy_arrays(b, made, parts, None);
    }
    let last = i64::try_from(count - 1).map_err(|_| "the axis is too long")?;
    let order = super::create::integer_range(b, (last, -1, count))?;
    super::take::take_positions(b, x, &order, axis, true)
}

/// The maximum axis length for which `flip` copies index by index.
const MAX_SINGLE_COPIES: usize = 4;

pub(crate) fn roll(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    let shifts = call.ints("shift")?.ok_or("shift is missing")?;
    if call.get("axis")?.is_none() {
        let (shape, count) = (x.shape().to_vec(), x.layout.count());
        let flat = super::shapes::reshaped_view(b, &x, &[count])?;
        let rolled = roll_axis(
            b,
            &flat,
            0,
            shifts.iter().map(|&shift| i128::from(shift)).sum(),
        )?;
        return Ok(rolled.with_layout(Layout::new(&shape)));
    }
    let axes = call.ints("axis")?.unwrap_or_default();
    let count = shifts.len().max(axes.len());
    if [shifts.len(), axes.len()]
        .iter()
        .any(|&size| size != 1 && size != count)
    {
        return Err(format!(
            "expected one shift, one axis, or the same number of both, got shift {shifts:?} and axis {axes:?}"
        ));
    }
    let mut found = x;
    for number in 0..count {
        let axis = checked_axis(axes[number % axes.len()], found.rank())?;
        let shift = shifts[number % shifts.len()];
        found = roll_axis(b, &found, axis, shift.into())?;
    }
    Ok(found)
}

fn roll_axis(b: &mut Builder, x: &View, axis: usize, shift: i128) -> Outcome<View> {
    let count = x.shape()[axis];
    let size = i128::try_from(count).map_err(|_| "the axis is too long")?;
    let by = usize::try_from(shift.rem_euclid(size.max(1))).unwrap_or(0);
    let (end, start) = (
        x.with_layout(x.layout.slice(axis, count - by, by, 1)),
        x.with_layout(x.layout.slice(axis, 0, count - by, 1)),
    );
    concatenate(b, &[end, start], axis)
}

pub(crate) fn repeat(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let mut x = call.array("x")?;
    if matches!(call.get("repeats")?, Some(ArgValue::Array(_))) {
        return Err("this version of seqloom-run supports one number of repeats only".to_owned());
    }
    let [times] = call.shape("repeats")?[..] else {
        return Err("repeats: expected one number".to_owned());
    };
    let axis = if call.get("axis")?.is_none() {
        let count = x.layout.count();
        x = super::shapes::reshaped_view(b, &x, &[count])?;
        0
    } else {
        call.axis("axis", x.rank())?.unwrap_or(0)
    };
    let mut shape = x.shape().to_vec();
    shape.insert(axis + 1, times);
    let wide = x.layout.unsqueezed(axis + 1).broadcast_to(&shape);
    let wide = x.with_layout(wide.ok_or("the shapes do not broadcast")?);
    let copy = b.add_copy(&wide)?;
    shape[axis] = shape[axis]
        .checked_mul(times)
        .ok_or("the axis is too long")?;
    shape.remove(axis + 1);
    Ok(copy.with_layout(Layout::new(&shape)))
}

pub(crate) fn tile(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    let mut times = call.shape("repetitions")?;
    let rank = times.len().max(x.rank());
    times.splice(0..0, vec![1; rank - times.len()]);
    let mut layout = x.layout.clone();
    while layout.rank() < rank {
        layout = layout.unsqueezed(0);
    }
    let (mut wide, mut shape) = (Vec::new(), Vec::new());
    for (axis, &size) in layout.shape.clone().iter().enumerate() {
        layout = layout.unsqueezed(2 * axis);
        wide.extend([times[axis], size]);
        shape.push(
            size.checked_mul(times[axis])
                .ok_or("the axis is too long")?,
        );
    }
    let layout = layout
        .broadcast_to(&wide)
        .ok_or("the shapes do not broadcast")?;
    let copy = b.add_copy(&x.with_layout(layout))?;
    Ok(copy.with_layout(Layout::new(&shape)))
}

pub(crate) fn pad(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    let ones = vec![1; x.rank()];
    let ground = match call.get("value")? {
        None => add_full(b, x.dtype, &ones, 0.0),
        Some(ArgValue::Int(number)) => ints(b, x.dtype, &ones, number),
        Some(ArgValue::Float(number)) => add_full(b, x.dtype, &ones, number),
        Some(_) => Err("value: expected a number".to_owned()),
    }?;
    let Padding {
        inner,
        shape,
        before,
    } = Padding::new(call, &x.layout)?;
    let made = b.allocate(x.dtype, &shape)?;
    let mut layout = made.layout.clone();
    for (axis, &before) in before.iter().enumerate() {
        layout = layout.slice(axis, before, inner.shape[axis], 1);
    }
    let part = Placement {
        layout,
        view: x.with_layout(inner),
    };
    copy_arrays(b, made, vec![part], Some(ground))
}

/// The range of an array that remains after negative padding, the shape of the result,
/// and the offset of the range in the result.
struct Padding {
    inner: Layout,
    shape: Vec<usize>,
    before: Vec<usize>,
}

impl Padding {
    fn new(call: &Call<'_>, layout: &Layout) -> Outcome<Self> {
        let ArgValue::List(widths) = call.required("widths")? else {
            return Err("widths: expected two numbers for each axis".to_owned());
        };
        if widths.len() != layout.rank() {
            let (expected, found) = (layout.rank(), widths.len());
            return Err(format!("widths: expected {expected} pairs, got {found}"));
        }
        let (mut inner, mut shape, mut all_before) = (layout.clone(), Vec::new(), Vec::new());
        for (axis, pair) in widths.iter().enumerate() {
            let [before, after] = pair.ints("widths")?[..] else {
                return Err("widths: expected two numbers for each axis".to_owned());
            };
            let (first, count) = remaining_range(layout.shape[axis], before, after)?;
            inner = inner.slice(axis, first, count, 1);
            let (before, after) = (positive_width(before), positive_width(after));
            let size = count
                .checked_add(before)
                .and_then(|size| size.checked_add(after));
            shape.push(size.ok_or("the axis is too long")?);
            all_before.push(before);
        }
        Ok(Self {
            inner,
            shape,
            before: all_before,
        })
    }
}

/// Returns the start and the length of an axis range that remains after negative padding.
fn remaining_range(size: usize, before: i64, after: i64) -> Outcome<(usize, usize)> {
    let (first, end) = (
        positive_width(before.saturating_neg()),
        positive_width(after.saturating_neg()),
    );
    let count = size
        .checked_sub(first)
        .and_then(|left| left.checked_sub(end));
    Ok((first, count.ok_or("widths: larger than the axis")?))
}

fn positive_width(width: i64) -> usize {
    usize::try_from(width).unwrap_or(0)
}

/// Adds `triu` or `tril` to the plan: zeros below or above a diagonal of each matrix.
pub(crate) fn add_triangle(b: &mut Builder, call: &Call<'_>, is_low: bool) -> Outcome<View> {
    let x = call.array("x")?;
    let k = call.int("k")?.unwrap_or(0);
    let [.., rows, columns] = *x.shape() else {
        return Err("expected a matrix".to_owned());
    };
    let booleans = super::create::tril(
        b,
        rows,
        columns,
        if is_low { k } else { k.saturating_sub(1) },
    )?;
    let (x, zero) = (
        super::fused::Operand::Array(x.clone()),
        super::fused::Operand::Number(0.0),
    );
    let dtype = call.array("x")?.dtype;
    let (first, second) = if is_low { (x, zero) } else { (zero, x) };
    let all = vec![super::fused::Operand::Array(booleans), first, second];
    if dtype.is_float() {
        super::fused::add_op(b, seqloom_fuse::Op::Where, &all, dtype)
    } else {
        let operands = super::elementwise::Operands::new(all, dtype);
        super::integers::add_integers(b, "where", &operands)
    }
}
