//! Elementwise functions of one, two or three arrays, with broadcasting.

use seqloom_fuse::Op;

use super::call::{ArgValue, Call, to_float};
use super::fused::{Operand, add_op, add_op_ordered, array_operands, axis_order, broadcast_shape};
use super::{create, integers, scalars};
use crate::Dtype;
use crate::graph::signature::{self, OperationKind};
use crate::memory::Outcome;
use crate::plan::{Builder, View};

/// The operands of an operation, and the type of the computation.
pub(crate) struct Operands {
    pub(crate) all: Vec<Operand>,
    pub(crate) dtype: Dtype,
}

/// Adds an elementwise function of one or two arrays to the plan.
pub(crate) fn add_elementwise(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let names = call.operation.signature.arguments;
    let mut inputs = Operands::from_call(b, call, names)?;
    let name = call.name();
    // If there is no integer function of this name, the result is a float.
    if boolean_op(name).is_none() && !integers::is_integer_function(name, inputs.dtype) {
        inputs.dtype = float_type(inputs.dtype);
    }
    add_function(b, name, &inputs)
}

/// Adds the elementwise function with this name to the plan.
pub(crate) fn add_function(b: &mut Builder, name: &str, inputs: &Operands) -> Outcome<View> {
    if !inputs.dtype.is_float() && integers::is_comparison(name) {
        return integers::add_integers(b, name, inputs);
    }
    if let Some(op) = boolean_op(name) {
        return add_op(b, op, &inputs.all, Dtype::Bool);
    }
    match name {
        "isinf" => return isinf(b, inputs),
        "logical_xor" => return xor(b, inputs),
        "signbit" => return scalars::signbit(b, inputs),
        _ if !inputs.dtype.is_float() => return integers::add_integers(b, name, inputs),
        _ => {}
    }
    match (name, inputs.all.get(1)) {
        ("pow", Some(Operand::Number(power))) => cheaper_power(b, inputs, *power),
        ("logaddexp", Some(Operand::Number(0.0))) => {
            float_op(b, name, Op::Softplus, &inputs.first())
        }
        _ => match fused_operation(name) {
            Some(op) => float_op(b, name, op, inputs),
            None => scalars::add_scalars(b, name, inputs),
        },
    }
}

fn float_op(b: &mut Builder, name: &str, op: Op, inputs: &Operands) -> Outcome<View> {
    let shape = broadcast_shape(&inputs.all)?;
    let order = if writes_in_c_order(name, &inputs.all, &shape) {
        (0..shape.len()).collect()
    } else {
        axis_order(&inputs.all, &shape)
    };
    add_op_ordered(b, op, &inputs.all, inputs.dtype, &order)
}

impl Operands {
    /// Returns the operands with these names, and their common type.
    pub(crate) fn from_call(b: &mut Builder, call: &Call<'_>, names: &[&str]) -> Outcome<Self> {
        let mut values = Vec::with_capacity(names.len());
        for name in names {
            values.push((*name, call.required(name)?));
        }
        let dtype = common_type(&values.iter().map(|(_, value)| value).collect::<Vec<_>>());
        let all = values
            .into_iter()
            .map(|(name, value)| to_operand(b, name, value, dtype));
        let all = all.collect::<Outcome<Vec<_>>>()?;
        if array_operands(&all).next().is_none() {
            return Err("expected at least one array".to_owned());
        }
        Ok(Self { all, dtype })
    }

    /// Returns a copy that contains only the first operand.
    fn first(&self) -> Self {
        Self {
            all: self.all.iter().take(1).cloned().collect(),
            dtype: self.dtype,
        }
    }

    pub(crate) fn new(all: Vec<Operand>, dtype: Dtype) -> Self {
        Self { all, dtype }
    }
}

/// Converts an operand to the dtype of the computation. In integer computations, an integer
/// above 2^53 becomes an array, because a scalar operand is stored as a float.
fn to_operand(b: &mut Builder, name: &str, value: ArgValue, dtype: Dtype) -> Outcome<Operand> {
    match value {
        ArgValue::Array(view) => Ok(Operand::Array(view)),
        ArgValue::Int(number) if !dtype.is_float() && number.unsigned_abs() > MAX_EXACT_INTEGER => {
            create::ints(b, Dtype::Int64, &[], number).map(Operand::Array)
        }
        ArgValue::Int(number) => Ok(Operand::Number(to_float(number))),
        ArgValue::Float(number) => Ok(Operand::Number(number)),
        ArgValue::Bool(boolean) => Ok(Operand::Number(f64::from(u8::from(boolean)))),
        _ => Err(format!("{name}: expected an array or a number")),
    }
}

/// The largest integer up to which an `f64` represents every integer exactly.
const MAX_EXACT_INTEGER: u64 = 1 << 53;

/// Returns the common dtype of arrays and numbers; integers are promoted to floats if one
/// operand is a float.
pub(crate) fn common_type(values: &[&ArgValue]) -> Dtype {
    let dtypes = values.iter().filter_map(|value| match value {
        ArgValue::Array(view) => Some(view.dtype),
        _ => None,
    });
    let arrays = dtypes.reduce(Dtype::result_type);
    let has_fraction = values.iter().any(|it| matches!(it, ArgValue::Float(_)));
    let has_whole = values.iter().any(|it| matches!(it, ArgValue::Int(_)));
    match arrays {
        Some(dtype) if dtype.is_float() => dtype,
        _ if has_fraction => Dtype::Float32,
        Some(Dtype::Bool) | None if has_whole => Dtype::Int64,
        found => found.unwrap_or(Dtype::Bool),
    }
}

/// Returns true if the NumPy backend writes a large result in C order, regardless of the
/// memory order of the operands.
fn writes_in_c_order(name: &str, operands: &[Operand], shape: &[usize]) -> bool {
    let Some(Operand::Array(x)) = operands.first() else {
        return false;
    };
    let is_large = x.layout.count() >= C_ORDER_ELEMENTS && x.dtype.is_float();
    if !C_ORDER_FUNCTIONS.contains(&name) || !is_large {
        return matches!(name, "gelu" | "relu" | "silu" | "sigmoid" | "erf");
    }
    match operands.get(1) {
        Some(Operand::Array(y)) => {
            y.dtype == x.dtype && x.shape() == shape && shape.ends_with(y.shape())
        }
        _ => true,
    }
}

/// The number of elements above which results are written in C order.
const C_ORDER_ELEMENTS: usize = 65_536;

/// Replaces powers by cheaper operations where possible.
fn cheaper_power(b: &mut Builder, inputs: &Operands, power: f64) -> Outcome<View> {
    let x = inputs.first();
    if power.to_bits() == 0.5_f64.to_bits() {
        float_op(b, "sqrt", Op::Sqrt, &x)
    } else if power.to_bits() == 2.0_f64.to_bits() {
        float_op(b, "square", Op::Square, &x)
    } else if power.to_bits() == 3.0_f64.to_bits() {
        let square = float_op(b, "multiply", Op::Square, &x)?;
        let all = vec![Operand::Array(square), x.all[0].clone()];
        let both = Operands::new(all, inputs.dtype);
        float_op(b, "multiply", Op::Multiply, &both)
    } else {
        float_op(b, "pow", Op::Power, inputs)
    }
}

fn isinf(b: &mut Builder, inputs: &Operands) -> Outcome<View> {
    let size = add_op(b, Op::Abs, &inputs.all, float_type(inputs.dtype))?;
    let all = [Operand::Array(size), Operand::Number(f64::INFINITY)];
    add_op(b, Op::Equal, &all, Dtype::Bool)
}

fn xor(b: &mut Builder, inputs: &Operands) -> Outcome<View> {
    let mut booleans = Vec::with_capacity(2);
    for operand in &inputs.all {
        let all = [operand.clone(), Operand::Number(0.0)];
        booleans.push(Operand::Array(add_op(b, Op::NotEqual, &all, Dtype::Bool)?));
    }
    add_op(b, Op::NotEqual, &booleans, Dtype::Bool)
}

/// Returns the type, or `float32` for an integer type.
pub(crate) fn float_type(dtype: Dtype) -> Dtype {
    if dtype.is_float() {
        dtype
    } else {
        Dtype::Float32
    }
}

/// Adds `where` to the plan: `x` where the condition is true, `y` elsewhere.
pub(crate) fn add_where(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let condition = call.array("condition")?;
    let (x, y) = (call.required("x")?, call.required("y")?);
    let dtype = match (&x, &y) {
        (ArgValue::Array(_), _) | (_, ArgValue::Array(_)) => common_type(&[&x, &y]),
        _ if matches!(x, ArgValue::Float(_)) || matches!(y, ArgValue::Float(_)) => Dtype::Float32,
        _ => Dtype::Int64,
    };
    let mut all = vec![Operand::Array(condition)];
    for (name, value) in [("x", x), ("y", y)] {
        all.push(match to_operand(b, name, value, dtype)? {
            Operand::Array(view) => Operand::Array(b.cast(&view, dtype)?),
            number @ Operand::Number(_) => number,
        });
    }
    let inputs = Operands::new(all, dtype);
    if dtype.is_float() {
        add_op(b, Op::Where, &inputs.all, dtype)
    } else {
        integers::add_integers(b, "where", &inputs)
    }
}

/// Adds `clip` to the plan: values are limited to a range.
pub(crate) fn clip(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let (low, high) = (call.get("min")?, call.get("max")?);
    let (op, names, name): (Op, &[&str], &str) = match (low, high) {
        (Some(_), Some(_)) => (Op::Clip, &["x", "min", "max"], "clip"),
        (Some(_), None) => (Op::Maximum, &["x", "min"], "maximum"),
        (None, Some(_)) => (Op::Minimum, &["x", "max"], "minimum"),
        (None, None) => return call.array("x"),
    };
    let inputs = Operands::from_call(b, call, names)?;
    if inputs.dtype.is_float() {
        add_op(b, op, &inputs.all, inputs.dtype)
    } else {
        integers::add_integers(b, name, &inputs)
    }
}

/// Functions for which the NumPy backend writes large results in C order.
const C_ORDER_FUNCTIONS: &[&str] = &[
    "abs", "add", "ceil", "cos", "divide", "exp", "expm1", "floor", "log", "log1p", "maximum",
    "minimum", "multiply", "negative", "pow", "sign", "sin", "sqrt", "square", "subtract", "tanh",
];

/// Returns the operation with this name if its result is boolean.
fn boolean_op(name: &str) -> Option<Op> {
    let known = signature::find_signature(name);
    let is_bool = known.is_some_and(|known| known.kind == OperationKind::Bool);
    Op::from_name(name).filter(|_| is_bool)
}

/// Returns the operation if both the NumPy backend and fused programs compute it
/// element by element.
fn fused_operation(name: &str) -> Option<Op> {
    Op::from_name(name).filter(|_| !matches!(name, "fma" | "where" | "clip"))
}
