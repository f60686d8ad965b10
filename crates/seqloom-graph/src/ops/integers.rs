//! Elementwise functions of integers and booleans.

use super::elementwise::Operands;
use super::fused::{Operand, broadcast_shape};
use crate::Dtype;
use crate::memory::{Outcome, Read, Write};
use crate::plan::{Builder, View};

/// A function of up to three integers.
type IntegerFunction = fn([i64; 3]) -> i64;

/// Adds the integer function with this name to the plan.
pub(crate) fn add_integers(b: &mut Builder, name: &str, inputs: &Operands) -> Outcome<View> {
    let (function, is_bool) = find_function(name, inputs.dtype)
        .ok_or_else(|| format!("not defined for {}, only for floats", inputs.dtype))?;
    let shape = broadcast_shape(&inputs.all)?;
    let mut reads = Vec::new();
    let mut numbers = [None; 3];
    for (slot, operand) in numbers.iter_mut().zip(&inputs.all) {
        match operand {
            Operand::Number(number) => *slot = Some(integer_value(*number)),
            Operand::Array(view) => {
                let view = b.cast(view, Dtype::Int64)?;
                let layout = view.layout.broadcast_to(&shape);
                let view = view.with_layout(layout.ok_or("the shapes do not broadcast")?);
                reads.push(b.contiguous(&view)?);
            }
        }
    }
    let dtype = if is_bool { Dtype::Bool } else { Dtype::Int64 };
    let made = b.allocate(dtype, &shape)?;
    let (arity, is_power) = (inputs.all.len(), name == "pow");
    let kernel = Box::new(move |reads: &[Read<'_>], writes: &mut [Write<'_>], _| {
        let [write] = writes else { return Ok(()) };
        let slots = operand_slots(&numbers[..arity], reads)?;
        if is_power && slots[1].minimum() < 0 {
            return Err(
                "negative powers of integers are not integers: cast them to floats first"
                    .to_owned(),
            );
        }
        fill_integers(function, slots, write, is_bool)
    });
    b.add_step(reads, &[&made], kernel)?;
    if is_bool {
        Ok(made)
    } else {
        b.cast(&made, inputs.dtype)
    }
}

/// Returns the integer value of a float.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a number with a fraction is not an integer"
)]
fn integer_value(number: f64) -> i64 {
    number as i64
}

/// Returns the operands, each as a number or an array.
fn operand_slots<'a>(numbers: &[Option<i64>], reads: &[Read<'a>]) -> Outcome<[Slot<'a>; 3]> {
    let mut arrays = reads.iter();
    let mut slots: [Slot<'_>; 3] = [Slot::Number(0); 3];
    for (slot, number) in slots.iter_mut().zip(numbers) {
        *slot = match (number, number.is_none().then(|| arrays.next()).flatten()) {
            (Some(number), _) => Slot::Number(*number),
            (None, Some(read)) => Slot::Array(read.slice()?),
            (None, None) => Slot::Number(0),
        };
    }
    Ok(slots)
}

fn fill_integers(
    function: IntegerFunction,
    slots: [Slot<'_>; 3],
    write: &mut Write<'_>,
    is_bool: bool,
) -> Outcome {
    let value = |at: usize| function(slots.map(|slot| slot.value_at(at)));
    if is_bool {
        let out = write.slice::<u8>()?;
        out.iter_mut()
            .enumerate()
            .for_each(|(at, out)| *out = u8::from(value(at) != 0));
    } else {
        let out = write.slice::<i64>()?;
        out.iter_mut()
            .enumerate()
            .for_each(|(at, out)| *out = value(at));
    }
    Ok(())
}

/// An operand of an integer function: a number, or an array of integers.
#[derive(Clone, Copy)]
enum Slot<'a> {
    Number(i64),
    Array(&'a [i64]),
}

impl Slot<'_> {
    fn minimum(&self) -> i64 {
        match self {
            Self::Number(number) => *number,
            Self::Array(numbers) => numbers.iter().copied().min().unwrap_or(0),
        }
    }

    fn value_at(&self, position: usize) -> i64 {
        match self {
            Self::Number(number) => *number,
            Self::Array(numbers) => numbers.get(position).copied().unwrap_or(0),
        }
    }
}

/// Returns true if there is an integer function with this name.
pub(crate) fn is_integer_function(name: &str, dtype: Dtype) -> bool {
    find_function(name, dtype).is_some()
}

/// Returns true if the function with this name compares numbers.
pub(crate) fn is_comparison(name: &str) -> bool {
    find_comparison(name).is_some()
}

/// Returns the function with this name, and whether it returns booleans.
fn find_function(name: &str, dtype: Dtype) -> Option<(IntegerFunction, bool)> {
    let is_bool = dtype == Dtype::Bool;
    if let Some(function) = find_comparison(name) {
        return Some((function, true));
    }
    let function: IntegerFunction = match name {
        "add" if is_bool => |[x, y, _]| x | y,
        "multiply" if is_bool => |[x, y, _]| x & y,
        "bitwise_invert" | "logical_not" if is_bool => |[x, ..]| 1 - x,
        "add" => |[x, y, _]| x.wrapping_add(y),
        "subtract" => |[x, y, _]| x.wrapping_sub(y),
        "multiply" => |[x, y, _]| x.wrapping_mul(y),
        "floor_divide" => |[x, y, _]| floor_divide(x, y),
        "remainder" => |[x, y, _]| x.wrapping_sub(y.wrapping_mul(floor_divide(x, y))),
        "pow" => |[x, y, _]| integer_power(x, y),
        "maximum" => |[x, y, _]| x.max(y),
        "minimum" => |[x, y, _]| x.min(y),
        "negative" => |[x, ..]| x.wrapping_neg(),
        "abs" => |[x, ..]| x.wrapping_abs(),
        "sign" => |[x, ..]| x.signum(),
        "square" => |[x, ..]| x.wrapping_mul(x),
        "relu" => |[x, ..]| x.max(0),
        "floor" | "ceil" | "trunc" | "round" | "positive" => |[x, ..]| x,
        "bitwise_invert" => |[x, ..]| !x,
        "bitwise_and" => |[x, y, _]| x & y,
        "bitwise_or" => |[x, y, _]| x | y,
        "bitwise_xor" => |[x, y, _]| x ^ y,
        "bitwise_left_shift" => |[x, y, _]| shift_bits(x, y, i64::checked_shl, 0),
        "bitwise_right_shift" => |[x, y, _]| shift_bits(x, y, i64::checked_shr, x >> 63),
        "where" => |[chosen, x, y]| if chosen != 0 { x } else { y },
        "clip" => |[x, low, high]| x.max(low).min(high),
        _ => return None,
    };
    Some((function, false))
}

fn find_comparison(name: &str) -> Option<IntegerFunction> {
    Some(match name {
        "equal" => |[x, y, _]| (x == y).into(),
        "not_equal" => |[x, y, _]| (x != y).into(),
        "less" => |[x, y, _]| (x < y).into(),
        "less_equal" => |[x, y, _]| (x <= y).into(),
        "greater" => |[x, y, _]| (x > y).into(),
        "greater_equal" => |[x, y, _]| (x >= y).into(),
        _ => return None,
    })
}

/// Returns an integer power with a non-negative exponent.
fn integer_power(x: i64, y: i64) -> i64 {
    let (mut found, mut square, mut left) = (1_i64, x, y.cast_unsigned());
    while left > 0 {
        if left & 1 == 1 {
            found = found.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        left >>= 1;
    }
    found
}

/// Returns a quotient, rounded down; division by 0 gives 0, as in NumPy.
fn floor_divide(x: i64, y: i64) -> i64 {
    if y == 0 {
        return 0;
    }
    let quotient = x.wrapping_div(y);
    let is_below = x.wrapping_rem(y) != 0 && (x < 0) != (y < 0);
    quotient - i64::from(is_below)
}

fn shift_bits(x: i64, y: i64, shift: fn(i64, u32) -> Option<i64>, beyond: i64) -> i64 {
    let by = u32::try_from(y).ok();
    by.and_then(|by| shift(x, by)).unwrap_or(beyond)
}
