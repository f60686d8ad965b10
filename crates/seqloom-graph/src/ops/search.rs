//! The operation `searchsorted`.

use super::call::{ArgValue, Call};
use super::take::take_positions;
use super::walk::Element;
use crate::Dtype;
use crate::memory::{Outcome, Read, Write};
use crate::plan::{Builder, View};

pub(crate) fn add_search(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let (row, x) = (call.array("x")?, call.array("y")?);
    if row.rank() != 1 {
        return Err(format!("x: expected one axis, got {:?}", row.shape()));
    }
    let row = match call.opt_array("sorter")? {
        Some(order) => take_positions(b, &row, &order, 0, true)?,
        None => row,
    };
    let is_right = match call.get("side")? {
        None => false,
        Some(ArgValue::Text(side)) if side == "left" || side == "right" => side == "right",
        Some(_) => return Err("side: expected left or right".to_owned()),
    };
    let dtype = row.dtype.result_type(x.dtype);
    let dtype = if dtype.is_float() {
        dtype
    } else {
        Dtype::Int64
    };
    let (row, x) = (b.cast(&row, dtype)?, b.cast(&x, dtype)?);
    let (row, x) = (b.contiguous(&row)?, b.contiguous(&x)?);
    let made = b.allocate(Dtype::Int64, x.shape())?;
    let kernel = Box::new(move |reads: &[Read<'_>], writes: &mut [Write<'_>], _| {
        let ([row, x], [write]) = (reads, writes) else {
            return Ok(());
        };
        match dtype {
            Dtype::Float32 => search::<f32>(*row, *x, is_right, write),
            Dtype::Float64 => search::<f64>(*row, *x, is_right, write),
            _ => search::<i64>(*row, *x, is_right, write),
        }
    });
    b.add_step(vec![row, x], &[&made], kernel)?;
    Ok(made)
}

fn search<T: Element>(row: Read<'_>, x: Read<'_>, is_right: bool, out: &mut Write<'_>) -> Outcome {
    let row = row.slice::<T>()?;
    for (&x, place) in x.slice::<T>()?.iter().zip(out.slice::<i64>()?) {
        let found = row.partition_point(|&known| known < x || (is_right && known == x));
        *place = found.cast_signed() as i64;
    }
    Ok(())
}
