//! Scalar functions of floats, which are computed element by element.

use super::elementwise::Operands;
use super::fused::{Operand, broadcast_shape};
use crate::Dtype;
use crate::memory::{Outcome, Read, Write};
use crate::plan::{Builder, View};

/// A scalar function of one or two numbers.
type FloatFunction = fn(f64, f64) -> f64;

/// Adds the scalar function with this name to the plan. The result is computed in
/// double precision and then rounded.
pub(crate) fn add_scalars(b: &mut Builder, name: &str, inputs: &Operands) -> Outcome<View> {
    let function = find_function(name).ok_or("not defined for floats")?;
    apply_elementwise(b, function, inputs, inputs.dtype)
}

/// Adds the operation `signbit` to the plan.
pub(crate) fn signbit(b: &mut Builder, inputs: &Operands) -> Outcome<View> {
    apply_elementwise(
        b,
        |x, _| f64::from(u8::from(x.is_sign_negative())),
        inputs,
        Dtype::Bool,
    )
}

fn apply_elementwise(
    b: &mut Builder,
    function: FloatFunction,
    inputs: &Operands,
    dtype: Dtype,
) -> Outcome<View> {
    let shape = broadcast_shape(&inputs.all)?;
    let mut reads = Vec::new();
    let mut numbers = [0.0, 0.0];
    let mut is_array = [false, false];
    for (slot, operand) in inputs.all.iter().take(2).enumerate() {
        match operand {
            Operand::Number(number) => numbers[slot] = round_to_dtype(*number, dtype),
            Operand::Array(view) => {
                let view = b.cast(view, Dtype::Float64)?;
                let layout = view.layout.broadcast_to(&shape);
                let view = view.with_layout(layout.ok_or("the shapes do not broadcast")?);
                reads.push(b.contiguous(&view)?);
                is_array[slot] = true;
            }
        }
    }
    let made = b.allocate(Dtype::Float64, &shape)?;
    let kernel = Box::new(move |reads: &[Read<'_>], writes: &mut [Write<'_>], _| {
        let [write] = writes else { return Ok(()) };
        let mut arrays = reads.iter();
        let mut next = |is_array: bool| match arrays.next().filter(|_| is_array) {
            Some(read) => read.slice::<f64>().map(Some),
            None => Ok(None),
        };
        let first = if is_array[0] { next(true)? } else { None };
        let second = if is_array[1] { next(true)? } else { None };
        let at = |array: Option<&[f64]>, number: f64, at: usize| {
            array.map_or(number, |array| array.get(at).copied().unwrap_or(number))
        };
        for (position, out) in write.slice::<f64>()?.iter_mut().enumerate() {
            let x = at(first, numbers[0], position);
            *out = function(x, at(second, numbers[1], position));
        }
        Ok(())
    });
    b.add_step(reads, &[&made], kernel)?;
    b.cast(&made, dtype)
}

/// Rounds a number to the precision of the dtype.
#[expect(clippy::cast_possible_truncation, reason = "this function rounds")]
fn round_to_dtype(number: f64, dtype: Dtype) -> f64 {
    if dtype == Dtype::Float64 {
        number
    } else {
        f64::from(number as f32)
    }
}

fn find_function(name: &str) -> Option<FloatFunction> {
    Some(match name {
        "log2" => |x, _| x.log2(),
        "log10" => |x, _| x.log10(),
        "tan" => |x, _| x.tan(),
        "sinh" => |x, _| x.sinh(),
        "cosh" => |x, _| x.cosh(),
        "asin" => |x, _| x.asin(),
        "acos" => |x, _| x.acos(),
        "atan" => |x, _| x.atan(),
        "asinh" => |x, _| x.asinh(),
        "acosh" => |x, _| x.acosh(),
        "atanh" => |x, _| x.atanh(),
        "trunc" => |x, _| x.trunc(),
        "positive" => |x, _| x,
        "hypot" => f64::hypot,
        "floor_divide" => floor_divide,
        "logaddexp" => logaddexp,
        "erfc" => |x, _| libm::erfc(x),
        _ => return None,
    })
}

/// Returns a quotient, rounded down as in Python.
fn floor_divide(x: f64, y: f64) -> f64 {
    let rest = x % y;
    if y == 0.0 || rest.is_nan() {
        return x / y;
    }
    let quotient = (x - rest) / y;
    let quotient = if rest != 0.0 && (y < 0.0) != (rest < 0.0) {
        quotient - 1.0
    } else {
        quotient
    };
    quotient.round()
}

fn logaddexp(x: f64, y: f64) -> f64 {
    let (high, low) = (x.max(y), x.min(y));
    if high.is_infinite() || x.is_nan() || y.is_nan() {
        return if x.is_nan() || y.is_nan() {
            f64::NAN
        } else {
            high
        };
    }
    high + (low - high).exp().ln_1p()
}
