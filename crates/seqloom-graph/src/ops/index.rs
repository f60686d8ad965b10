//! Indexing, `x[key]`: integers, slices and new axes return views; integer arrays return
//! copies.

use super::call::{ArgValue, Call};
use super::fused::{Operand, broadcast_shape};
use super::take::{checked_index, require_ints};
use crate::Dtype;
use crate::graph::MAX_RANK;
use crate::layout::Layout;
use crate::memory::{Outcome, Read, Write};
use crate::plan::{Builder, View};

pub(crate) fn add_index(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let x = call.array("x")?;
    let key = match call.required("key")? {
        ArgValue::List(parts) => parts,
        part => vec![part],
    };
    let parts = expand_key(key, x.rank())?;
    let (view, arrays) = apply_key(b, &x, parts)?;
    if arrays.is_empty() {
        return Ok(view);
    }
    gather_elements(b, &view, &arrays)
}

/// Expands an index key to one element per axis, plus one for each new axis.
fn expand_key(key: Vec<ArgValue>, rank: usize) -> Outcome<Vec<ArgValue>> {
    use ArgValue::{Ellipsis, NewAxis, Null};
    if key.len() > 2 * MAX_RANK {
        return Err(format!("key: expected at most {} parts", 2 * MAX_RANK));
    }
    let is_axis = |part: &&ArgValue| !matches!(part, NewAxis | Null | Ellipsis);
    let named = key.iter().filter(is_axis).count();
    let rest = rank.checked_sub(named);
    let rest = rest.ok_or_else(|| format!("key: {named} parts, but only {rank} axes"))?;
    let mut parts = Vec::with_capacity(rank);
    let mut is_open = true;
    for part in key {
        if !matches!(part, ArgValue::Ellipsis) {
            parts.push(part);
        } else if std::mem::take(&mut is_open) {
            parts.extend((0..rest).map(|_| ArgValue::Slice([None; 3])));
        } else {
            return Err("key: expected at most one ellipsis".to_owned());
        }
    }
    if is_open {
        parts.extend((0..rest).map(|_| ArgValue::Slice([None; 3])));
    }
    Ok(parts)
}

/// An index array of a key, and the axis that it indexes. If a key contains arrays, its
/// integers are treated as arrays too.
struct IndexArray {
    axis: usize,
    view: View,
    /// The index of the array in the key.
    place: usize,
}

/// Applies the integers, slices and new axes of a key; returns the index arrays of the key.
fn apply_key(b: &mut Builder, x: &View, parts: Vec<ArgValue>) -> Outcome<(View, Vec<IndexArray>)> {
    let has_arrays = parts.iter().any(|part| matches!(part, ArgValue::Array(_)));
    let (mut view, mut axis, mut arrays) = (x.clone(), 0, Vec::new());
    for (place, part) in parts.into_iter().enumerate() {
        match part {
            ArgValue::NewAxis | ArgValue::Null => {
                view = view.with_layout(view.layout.unsqueezed(axis));
                axis += 1;
            }
            ArgValue::Int(number) if !has_arrays => {
                let at = checked_index(number, view.shape()[axis], true)?;
                view = view.with_layout(view.layout.select(axis, at));
            }
            ArgValue::Int(number) => {
                let view = super::create::ints(b, Dtype::Int64, &[], number)?;
                arrays.push(IndexArray { axis, view, place });
                axis += 1;
            }
            ArgValue::Slice(bounds) => {
                view = slice_axis(b, &view, axis, bounds)?;
                axis += 1;
            }
            ArgValue::Array(view) => {
                require_ints(&view)?;
                arrays.push(IndexArray { axis, view, place });
                axis += 1;
            }
            _ => return Err("key: expected numbers, slices and arrays of numbers".to_owned()),
        }
    }
    Ok((view, arrays))
}

/// Returns a slice of an axis, with the rules of Python.
fn slice_axis(b: &mut Builder, x: &View, axis: usize, bounds: [Option<i64>; 3]) -> Outcome<View> {
    let size = x.shape()[axis];
    let step = bounds[2].unwrap_or(1);
    let (first, count) = range(bounds[0], bounds[1], step, size)?;
    let stride = usize::try_from(step.unsigned_abs()).map_err(|_| "the step is too large")?;
    if step > 0 {
        return Ok(x.with_layout(x.layout.slice(axis, first, count, stride)));
    }
    let last = first.saturating_sub(count.saturating_sub(1).saturating_mul(stride));
    let part = x.with_layout(x.layout.slice(axis, last, count, stride));
    super::join::reverse_axis(b, &part, axis)
}

/// Returns the start and the length of a slice.
fn range(start: Option<i64>, stop: Option<i64>, step: i64, size: usize) -> Outcome<(usize, usize)> {
    let length = i128::from(u64::try_from(size).unwrap_or(u64::MAX));
    let (low, high) = if step > 0 {
        (0, length)
    } else {
        (-1, length - 1)
    };
    let bound = |bound: Option<i64>, default: i128| match bound {
        None => default,
        Some(bound) if bound < 0 => (i128::from(bound) + length).clamp(low, high),
        Some(bound) => i128::from(bound).clamp(low, high),
    };
    let step = i128::from(step);
    let (first, end) = match step.signum() {
        1 => (bound(start, 0), bound(stop, length)),
        -1 => (bound(start, length - 1), bound(stop, -1)),
        _ => return Err("key: the step of a slice is 0".to_owned()),
    };
    let count = ((end - first + step - step.signum()) / step).max(0);
    let number = |number: i128| usize::try_from(number).unwrap_or(0);
    Ok((number(first), number(count)))
}

/// Selects elements with index arrays along some axes.
fn gather_elements(b: &mut Builder, x: &View, arrays: &[IndexArray]) -> Outcome<View> {
    let operands: Vec<Operand> = arrays
        .iter()
        .map(|along| Operand::Array(along.view.clone()))
        .collect();
    let shared = broadcast_shape(&operands)?;
    let mut reads = vec![x.clone()];
    for along in arrays {
        let view = b.cast(&along.view, Dtype::Int64)?;
        let layout = view
            .layout
            .broadcast_to(&shared)
            .ok_or("the shapes do not broadcast")?;
        reads.push(b.contiguous(&view.with_layout(layout))?);
    }
    let axes: Vec<usize> = arrays.iter().map(|along| along.axis).collect();
    let others: Vec<usize> = (0..x.rank()).filter(|axis| !axes.contains(axis)).collect();
    let rest = x.layout.permuted(&others);
    let shape = [&shared[..], &rest.shape[..]].concat();
    let made = b.allocate(x.dtype, &shape)?;
    let chosen = IndexedAxes {
        axes: axes
            .iter()
            .map(|&axis| (x.shape()[axis], x.layout.strides[axis]))
            .collect(),
        rest,
    };
    let kernel = Box::new(move |reads: &[Read<'_>], writes: &mut [Write<'_>], _| {
        let ([x, places @ ..], [write]) = (reads, writes) else {
            return Ok(());
        };
        match x.dtype.size() {
            1 => chosen.gather::<u8>(x.memory()?, places, write.slice()?),
            4 => chosen.gather::<u32>(x.memory()?, places, write.slice()?),
            _ => chosen.gather::<u64>(x.memory()?, places, write.slice()?),
        }
    });
    b.add_step(reads, &[&made], kernel)?;
    Ok(move_index_axes(&made, arrays, shared.len()))
}

/// Moves the result axes of the index arrays to the position of the arrays in the key, if
/// the arrays are adjacent.
fn move_index_axes(made: &View, arrays: &[IndexArray], count: usize) -> View {
    let are_together = arrays
        .windows(2)
        .all(|pair| pair[1].place == pair[0].place + 1);
    let first = arrays.first().map_or(0, |along| along.axis);
    if !are_together || first == 0 {
        return made.clone();
    }
    let order: Vec<usize> = (count..count + first)
        .chain(0..count)
        .chain(count + first..made.rank())
        .collect();
    made.with_layout(made.layout.permuted(&order))
}

/// The size and stride of each indexed axis, and the layout of the elements that are copied
/// for each index.
struct IndexedAxes {
    axes: Vec<(usize, usize)>,
    rest: Layout,
}

impl IndexedAxes {
    fn gather<T: bytemuck::Pod>(&self, x: &[T], places: &[Read<'_>], out: &mut [T]) -> Outcome {
        let count: usize = self.rest.count();
        if count == 0 {
            return Ok(());
        }
        let places: Vec<&[i64]> = places
            .iter()
            .map(Read::slice::<i64>)
            .collect::<Outcome<_>>()?;
        for (number, out) in out.chunks_mut(count).enumerate() {
            let mut start = 0;
            for (&(size, step), places) in self.axes.iter().zip(&places) {
                start += checked_index(places[number], size, true)? * step;
            }
            let from = Layout {
                start: self.rest.start + start,
                ..self.rest.clone()
            };
            super::copy::copy_rows(x, &from, out);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_match_those_of_python() {
        assert_eq!(range(None, None, 1, 5), Ok((0, 5)));
        assert_eq!(range(Some(-3), Some(9), 1, 5), Ok((2, 3)));
        assert_eq!(range(None, None, -2, 5), Ok((4, 3)));
        assert_eq!(range(Some(1), Some(-9), -1, 5), Ok((1, 2)));
        assert_eq!(range(Some(4), Some(2), 1, 5).map(|found| found.1), Ok(0));
        assert_eq!(range(None, None, 2, 0).map(|found| found.1), Ok(0));
    }
}
