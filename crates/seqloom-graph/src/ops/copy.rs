//! Copies and type conversions.

use bytemuck::Pod;
use seqloom_fuse::Op;

use super::fused::{Operand, add_op};
use crate::Dtype;
use crate::layout::{Layout, iteration_order};
use crate::memory::{Outcome, Read, Write};
use crate::plan::{Builder, View};

impl Builder {
    /// Returns the array in C order without gaps: the array itself, or a copy.
    pub(crate) fn contiguous(&mut self, view: &View) -> Outcome<View> {
        if view.layout.is_contiguous() {
            return Ok(view.clone());
        }
        self.add_copy(view)
    }

    /// Returns a copy in C order.
    pub(crate) fn add_copy(&mut self, view: &View) -> Outcome<View> {
        let made = self.allocate(view.dtype, view.shape())?;
        let kernel = Box::new(|reads: &[Read<'_>], writes: &mut [Write<'_>], _| {
            let ([read, ..], [write, ..]) = (reads, writes) else {
                return Ok(());
            };
            copy_array(*read, write)
        });
        self.add_step(vec![view.clone()], &[&made], kernel)?;
        Ok(made)
    }

    pub(crate) fn cast(&mut self, view: &View, dtype: Dtype) -> Outcome<View> {
        if view.dtype == dtype {
            return Ok(view.clone());
        }
        let operand = Operand::Array(view.clone());
        match dtype {
            Dtype::Bool => add_op(self, Op::NotEqual, &[operand, Operand::Number(0.0)], dtype),
            _ if dtype.is_float() || view.dtype.is_float() => {
                let order = iteration_order(view.shape(), &[&view.layout.strides]);
                super::fused::convert_floats(self, view, dtype, &order)
            }
            _ => self.cast_integers(view, dtype),
        }
    }

    fn cast_integers(&mut self, view: &View, dtype: Dtype) -> Outcome<View> {
        let view = self.contiguous(view)?;
        let made = self.allocate(dtype, view.shape())?;
        let kernel = Box::new(move |reads: &[Read<'_>], writes: &mut [Write<'_>], _| {
            let ([read, ..], [write, ..]) = (reads, writes) else {
                return Ok(());
            };
            convert_integers(*read, write, dtype)
        });
        self.add_step(vec![view], &[&made], kernel)?;
        Ok(made)
    }
}

pub(crate) fn copy_array(read: Read<'_>, write: &mut Write<'_>) -> Outcome {
    let layout = read.layout;
    match read.dtype.size() {
        1 => copy_rows(read.memory::<u8>()?, layout, write.slice()?),
        4 => copy_rows(read.memory::<u32>()?, layout, write.slice()?),
        _ => copy_rows(read.memory::<u64>()?, layout, write.slice()?),
    }
    Ok(())
}

/// Copies an array row by row.
pub(crate) fn copy_rows<T: Copy>(from: &[T], layout: &Layout, out: &mut [T]) {
    let (length, step) = layout.last_axis();
    if layout.is_contiguous() {
        let from = from.get(layout.start..).unwrap_or_default();
        out.iter_mut().zip(from).for_each(|(out, &x)| *out = x);
        return;
    }
    if length == 0 {
        return;
    }
    for (start, out) in layout.rows().zip(out.chunks_mut(length)) {
        let from = from.get(start..).unwrap_or_default();
        match step {
            0 => out.fill(from[0]),
            1 => out.copy_from_slice(&from[..length]),
            _ => {
                let from = from.iter().step_by(step);
                out.iter_mut().zip(from).for_each(|(out, &x)| *out = x);
            }
        }
    }
}

/// Converts integers to another type; values that do not fit are truncated to the low
/// bits.
fn convert_integers(read: Read<'_>, write: &mut Write<'_>, dtype: Dtype) -> Outcome {
    match read.dtype {
        Dtype::Int64 => convert_widened(read.slice::<i64>()?, write, dtype, |x| x),
        Dtype::Int32 => convert_widened(read.slice::<i32>()?, write, dtype, i64::from),
        Dtype::Uint32 => convert_widened(read.slice::<u32>()?, write, dtype, i64::from),
        _ => convert_widened(read.slice::<u8>()?, write, dtype, i64::from),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast to a narrower type truncates, as in NumPy"
)]
fn convert_widened<T: Copy>(
    from: &[T],
    write: &mut Write<'_>,
    dtype: Dtype,
    widen: impl Fn(T) -> i64,
) -> Outcome {
    match dtype {
        Dtype::Int64 => convert_each(from, write.slice::<i64>()?, widen),
        Dtype::Int32 => convert_each(from, write.slice::<i32>()?, |x| widen(x) as i32),
        Dtype::Uint32 => convert_each(from, write.slice::<u32>()?, |x| widen(x) as u32),
        _ => convert_each(from, write.slice::<u8>()?, |x| widen(x) as u8),
    }
    Ok(())
}

fn convert_each<T: Copy, U: Pod>(from: &[T], out: &mut [U], convert: impl Fn(T) -> U) {
    out.iter_mut()
        .zip(from)
        .for_each(|(out, &x)| *out = convert(x));
}
