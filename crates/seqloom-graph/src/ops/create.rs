//! Operations that create arrays from sizes and constants only.

use super::call::{ArgValue, Call, to_float};
use crate::Dtype;
use crate::memory::{Outcome, Read, Write};
use crate::plan::{Builder, View};

pub(crate) fn add_creation(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let shape = call.shape("shape")?;
    let dtype = call.dtype("dtype")?;
    match call.name() {
        "ones" => add_full(b, dtype.unwrap_or(Dtype::Float32), &shape, 1.0),
        "full" => full(b, call, dtype, &shape),
        _ => add_full(b, dtype.unwrap_or(Dtype::Float32), &shape, 0.0),
    }
}

fn full(b: &mut Builder, call: &Call<'_>, dtype: Option<Dtype>, shape: &[usize]) -> Outcome<View> {
    match call.required("value")? {
        ArgValue::Float(number) => add_full(b, dtype.unwrap_or(Dtype::Float32), shape, number),
        ArgValue::Int(number) => ints(b, dtype.unwrap_or(Dtype::Int64), shape, number),
        ArgValue::Bool(boolean) => ints(b, dtype.unwrap_or(Dtype::Bool), shape, boolean.into()),
        ArgValue::Array(view) => {
            let view = b.cast(&view, dtype.unwrap_or(view.dtype))?;
            let layout = view.layout.broadcast_to(shape);
            let wide = view.with_layout(layout.ok_or("value: does not broadcast to the shape")?);
            b.add_copy(&wide)
        }
        _ => Err("value: expected a number".to_owned()),
    }
}

/// Returns an array filled with one integer.
pub(crate) fn ints(b: &mut Builder, dtype: Dtype, shape: &[usize], number: i64) -> Outcome<View> {
    if dtype == Dtype::Int64 {
        return from_fn(b, dtype, shape, move |write| {
            write.slice::<i64>()?.fill(number);
            Ok(())
        });
    }
    add_full(b, dtype, shape, to_float(number))
}

/// Returns an array filled with one number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast to a narrower type truncates, as in NumPy"
)]
pub(crate) fn add_full(b: &mut Builder, dtype: Dtype, shape: &[usize], fill: f64) -> Outcome<View> {
    from_fn(b, dtype, shape, move |write| {
        match dtype {
            Dtype::Float32 => write.slice::<f32>()?.fill(fill as f32),
            Dtype::Float64 => write.slice::<f64>()?.fill(fill),
            Dtype::Int32 => write.slice::<i32>()?.fill(fill as i64 as i32),
            Dtype::Int64 => write.slice::<i64>()?.fill(fill as i64),
            Dtype::Uint32 => write.slice::<u32>()?.fill(fill as i64 as u32),
            Dtype::Uint8 => write.slice::<u8>()?.fill(fill as i64 as u8),
            Dtype::Bool => write.slice::<u8>()?.fill(u8::from(fill != 0.0)),
        }
        Ok(())
    })
}

/// Returns an array that the given function fills.
fn from_fn(
    b: &mut Builder,
    dtype: Dtype,
    shape: &[usize],
    fill: impl Fn(&mut Write<'_>) -> Outcome + Send + Sync + 'static,
) -> Outcome<View> {
    let made = b.allocate(dtype, shape)?;
    let kernel = Box::new(move |_: &[Read<'_>], writes: &mut [Write<'_>], _| {
        let [write] = writes else { return Ok(()) };
        fill(write)
    });
    b.add_step(Vec::new(), &[&made], kernel)?;
    Ok(made)
}

pub(crate) fn arange(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let (start, stop) = (call.required("start")?, call.get("stop")?);
    let (start, stop) = match stop {
        None => (ArgValue::Int(0), start),
        Some(stop) => (start, stop),
    };
    let step = call.get("step")?.unwrap_or(ArgValue::Int(1));
    let dtype = call.dtype("dtype")?;
    if let (ArgValue::Int(start), ArgValue::Int(stop), ArgValue::Int(step)) = (&start, &stop, &step)
    {
        let numbers = integer_span(*start, *stop, *step)?;
        let made = integer_range(b, numbers)?;
        return b.cast(&made, dtype.unwrap_or(Dtype::Int64));
    }
    let number = |value: &ArgValue| match value {
        ArgValue::Int(number) => Ok(to_float(*number)),
        ArgValue::Float(number) => Ok(*number),
        _ => Err("arange: expected numbers".to_owned()),
    };
    let (start, stop, step) = (number(&start)?, number(&stop)?, number(&step)?);
    float_range(b, dtype.unwrap_or(Dtype::Float32), start, stop, step)
}

/// Returns the start, the step and the number of elements of a range.
fn integer_span(start: i64, stop: i64, step: i64) -> Outcome<(i64, i64, usize)> {
    if step == 0 {
        return Err("step: expected a number other than 0, got 0".to_owned());
    }
    let way = i128::from(stop) - i128::from(start);
    let step_wide = i128::from(step);
    let count = (way + step_wide - step_wide.signum()) / step_wide;
    let count = usize::try_from(count.max(0)).map_err(|_| "the range is too long")?;
    Ok((start, step, count))
}

/// Returns an array of integers, from the start, the step and the number of elements.
pub(crate) fn integer_range(
    b: &mut Builder,
    (start, step, count): (i64, i64, usize),
) -> Outcome<View> {
    from_fn(b, Dtype::Int64, &[count], move |write| {
        let mut next = start;
        for out in write.slice::<i64>()? {
            *out = next;
            next = next.wrapping_add(step);
        }
        Ok(())
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "numbers are rounded to the requested type"
)]
fn float_range(b: &mut Builder, dtype: Dtype, start: f64, stop: f64, step: f64) -> Outcome<View> {
    let count = ((stop - start) / step).ceil();
    if !count.is_finite() {
        return Err("step: expected a number other than 0, got 0".to_owned());
    }
    let count = count.max(0.0) as usize;
    match dtype {
        Dtype::Float32 => from_fn(b, dtype, &[count], move |write| {
            let first = start as f32;
            let delta = (start + step) as f32 - first;
            let numbers = write.slice::<f32>()?.iter_mut().enumerate();
            numbers.for_each(|(at, out)| *out = first + at as f32 * delta);
            Ok(())
        }),
        Dtype::Float64 => from_fn(b, dtype, &[count], move |write| {
            let delta = (start + step) - start;
            let numbers = write.slice::<f64>()?.iter_mut().enumerate();
            numbers.for_each(|(at, out)| *out = start + at as f64 * delta);
            Ok(())
        }),
        other => {
            let made = float_range(b, Dtype::Float64, start, stop, step)?;
            b.cast(&made, other)
        }
    }
}

pub(crate) fn eye(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let rows = call
        .shape("rows")?
        .first()
        .copied()
        .ok_or("rows is missing")?;
    let columns = if call.get("columns")?.is_some() {
        call.shape("columns")?.first().copied().unwrap_or(rows)
    } else {
        rows
    };
    let k = call.int("k")?.unwrap_or(0);
    let booleans = boolean_matrix(b, rows, columns, move |row, column| column - row == k)?;
    b.cast(&booleans, call.dtype("dtype")?.unwrap_or(Dtype::Float32))
}

/// Returns a boolean matrix that is true on and below the k-th diagonal.
pub(crate) fn tril(b: &mut Builder, rows: usize, columns: usize, k: i64) -> Outcome<View> {
    boolean_matrix(b, rows, columns, move |row, column| column - row <= k)
}

fn boolean_matrix(
    b: &mut Builder,
    rows: usize,
    columns: usize,
    holds: impl Fn(i64, i64) -> bool + Send + Sync + 'static,
) -> Outcome<View> {
    from_fn(b, Dtype::Bool, &[rows, columns], move |write| {
        let all = write.slice::<u8>()?.chunks_mut(columns.max(1));
        for (row, out) in (0_i64..).zip(all) {
            for (column, out) in (0_i64..).zip(out) {
                *out = holds(row, column).into();
            }
        }
        Ok(())
    })
}
