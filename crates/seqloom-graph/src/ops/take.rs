//! Operations that select elements by index: `take`, `embedding`, `take_along_axis`.

use bytemuck::Pod;

use super::call::Call;
use super::shapes::{move_axis_last, move_last_axis, reshaped_view};
use crate::Dtype;
use crate::layout::Layout;
use crate::memory::{Outcome, Read, Write};
use crate::plan::{Builder, View};

pub(crate) fn take(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let (x, indices) = (call.array("x")?, call.array("indices")?);
    if call.get("axis")?.is_none() {
        let count = x.layout.count();
        let flat = reshaped_view(b, &x, &[count])?;
        return take_positions(b, &flat, &indices, 0, true);
    }
    let axis = call.axis("axis", x.rank())?.unwrap_or(0);
    take_positions(b, &x, &indices, axis, true)
}

/// Adds the embedding to the plan: the weight row of each id is selected. Negative ids
/// are not allowed.
pub(crate) fn embedding(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let (weight, ids) = (call.array("weight")?, call.array("ids")?);
    if weight.rank() == 0 {
        return Err("weight: expected rows".to_owned());
    }
    take_positions(b, &weight, &ids, 0, false)
}

/// Selects indices of an axis; if `from_end`, negative indices count from the end.
pub(crate) fn take_positions(
    b: &mut Builder,
    x: &View,
    indices: &View,
    axis: usize,
    from_end: bool,
) -> Outcome<View> {
    require_ints(indices)?;
    let x = b.contiguous(x)?;
    let places = b.cast(indices, Dtype::Int64)?;
    let places = b.contiguous(&places)?;
    let (before, after) = (&x.shape()[..axis], &x.shape()[axis + 1..]);
    let shape: Vec<usize> = [before, indices.shape(), after].concat();
    let blocks = AxisBlocks {
        size: x.shape()[axis],
        inner: after.iter().product(),
        from_end,
    };
    let made = b.allocate(x.dtype, &shape)?;
    let kernel = Box::new(move |reads: &[Read<'_>], writes: &mut [Write<'_>], _| {
        let ([x, places], [write]) = (reads, writes) else {
            return Ok(());
        };
        let places = places.slice::<i64>()?;
        match x.dtype.size() {
            1 => blocks.copy_blocks::<u8>(x.slice()?, places, write.slice()?),
            4 => blocks.copy_blocks::<u32>(x.slice()?, places, write.slice()?),
            _ => blocks.copy_blocks::<u64>(x.slice()?, places, write.slice()?),
        }
    });
    b.add_step(vec![x, places], &[&made], kernel)?;
    Ok(made)
}

pub(crate) fn require_ints(indices: &View) -> Outcome {
    if indices.dtype.is_float() || indices.dtype == Dtype::Bool {
        return Err(format!("indices: expected integers, got {}", indices.dtype));
    }
    Ok(())
}

/// An axis of an array, and the elements that each index of the axis selects.
struct AxisBlocks {
    size: usize,
    inner: usize,
    from_end: bool,
}

impl AxisBlocks {
    fn copy_blocks<T: Pod>(&self, x: &[T], places: &[i64], out: &mut [T]) -> Outcome {
        let (size, inner) = (self.size * self.inner, self.inner);
        if inner == 0 || places.is_empty() || out.is_empty() {
            return Ok(());
        }
        let outer = out.chunks_mut(places.len() * inner);
        for (out, x) in outer.zip(x.chunks(size.max(1))) {
            for (out, &place) in out.chunks_mut(inner).zip(places) {
                let place = self.checked_position(place)?;
                out.copy_from_slice(&x[place * inner..(place + 1) * inner]);
            }
        }
        if size == 0 {
            self.checked_position(places[0])?;
        }
        Ok(())
    }

    fn checked_position(&self, index: i64) -> Outcome<usize> {
        checked_index(index, self.size, self.from_end)
    }
}

/// Returns an index of the axis after a bounds check.
pub(crate) fn checked_index(index: i64, size: usize, from_end: bool) -> Outcome<usize> {
    let length = size.cast_signed() as i64;
    let found = if index < 0 && from_end {
        index.saturating_add(length)
    } else {
        index
    };
    let found = usize::try_from(found).ok().filter(|&found| found < size);
    found.ok_or_else(|| format!("index {index} is outside an axis of length {size}"))
}

pub(crate) fn take_along_axis(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let (x, indices) = (call.array("x")?, call.array("indices")?);
    require_ints(&indices)?;
    let rank = x.rank();
    if rank == 0 || indices.rank() != rank {
        return Err(format!(
            "indices: expected {rank} axes, got {}",
            indices.rank()
        ));
    }
    let axis = call.axis("axis", rank)?.unwrap_or(rank - 1);
    let places = b.cast(&indices, Dtype::Int64)?;
    let (x, places) = (move_axis_last(&x, axis), move_axis_last(&places, axis));
    let (outer, size) = (&x.shape()[..rank - 1], x.shape()[rank - 1]);
    let count = places.shape()[rank - 1];
    let shared = crate::layout::broadcast([outer, &places.shape()[..rank - 1]])?;
    let broadcast = |layout: &Layout, last: usize| {
        let shape: Vec<usize> = shared.iter().copied().chain([last]).collect();
        layout
            .broadcast_to(&shape)
            .ok_or("the shapes do not broadcast")
    };
    let x = x.with_layout(broadcast(&x.layout, size)?);
    let places = places.with_layout(broadcast(&places.layout, count)?);
    let places = b.contiguous(&places)?;
    let made = b.allocate(x.dtype, places.shape())?;
    let kernel = Box::new(move |reads: &[Read<'_>], writes: &mut [Write<'_>], _| {
        let ([x, places], [write]) = (reads, writes) else {
            return Ok(());
        };
        let places = places.slice::<i64>()?;
        match x.dtype.size() {
            1 => gather_elements::<u8>(*x, places, write.slice()?),
            4 => gather_elements::<u32>(*x, places, write.slice()?),
            _ => gather_elements::<u64>(*x, places, write.slice()?),
        }
    });
    b.add_step(vec![x, places], &[&made], kernel)?;
    Ok(move_last_axis(&made, axis))
}

/// Copies the indexed elements of each row of x.
fn gather_elements<T: Pod>(x: Read<'_>, places: &[i64], out: &mut [T]) -> Outcome {
    let (size, step) = x.layout.last_axis();
    let rows: usize = x.layout.shape.iter().rev().skip(1).product();
    let count = out.len().checked_div(rows).unwrap_or(0);
    if count == 0 {
        return Ok(());
    }
    let memory = x.memory::<T>()?;
    // The offset of the first element of a row is defined even if the row is empty.
    let column = x.layout.slice(x.layout.rank() - 1, 0, 1, 1);
    let rows = out.chunks_mut(count).zip(places.chunks(count));
    for ((out, places), start) in rows.zip(column.rows()) {
        for (out, &place) in out.iter_mut().zip(places) {
            *out = memory[start + checked_index(place, size, true)? * step];
        }
    }
    Ok(())
}
