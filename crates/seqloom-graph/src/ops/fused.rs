//! Elementwise operations on floats, compiled by `seqloom-fuse`.

use seqloom_fuse::{Op, ProgramDescription, ProgramOutput};

use crate::Dtype;
use crate::layout::{Layout, broadcast, iteration_order};
use crate::memory::Outcome;
use crate::plan::{Builder, Elementwise, StepWork, View};

/// An array, or a number that is converted to the dtype of the arrays.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    Array(View),
    Number(f64),
}

impl Operand {
    pub(crate) fn view(&self) -> Option<&View> {
        match self {
            Self::Array(view) => Some(view),
            Self::Number(_) => None,
        }
    }
}

/// Returns the arrays among operands.
pub(crate) fn array_operands(operands: &[Operand]) -> impl Iterator<Item = &View> {
    operands.iter().filter_map(Operand::view)
}

/// Returns the shape that operands broadcast to.
pub(crate) fn broadcast_shape(operands: &[Operand]) -> Outcome<Vec<usize>> {
    broadcast(array_operands(operands).map(View::shape))
}

/// Returns the axis order of the array that NumPy would return.
pub(crate) fn axis_order(operands: &[Operand], shape: &[usize]) -> Vec<usize> {
    let layouts: Vec<Layout> = array_operands(operands)
        .filter_map(|view| view.layout.broadcast_to(shape))
        .collect();
    let strides: Vec<&[usize]> = layouts.iter().map(|layout| &layout.strides[..]).collect();
    iteration_order(shape, &strides)
}

/// Adds one operation, whose result has the given dtype, and the same axis order in
/// memory as in NumPy.
pub(crate) fn add_op(b: &mut Builder, op: Op, operands: &[Operand], dtype: Dtype) -> Outcome<View> {
    let order = axis_order(operands, &broadcast_shape(operands)?);
    add_op_ordered(b, op, operands, dtype, &order)
}

/// Adds one operation, and stores its result with the given axis order in memory.
pub(crate) fn add_op_ordered(
    b: &mut Builder,
    op: Op,
    operands: &[Operand],
    dtype: Dtype,
    order: &[usize],
) -> Outcome<View> {
    let description = single_operation_program(op, operands);
    add_program(b, description, operands, dtype, order)
}

/// Converts the elements to another dtype if the old or the new dtype is a float.
pub(crate) fn convert_floats(
    b: &mut Builder,
    view: &View,
    dtype: Dtype,
    order: &[usize],
) -> Outcome<View> {
    let description = ProgramDescription {
        inputs: 1,
        outputs: vec![ProgramOutput {
            value: 0,
            fold: None,
        }],
        ..ProgramDescription::default()
    };
    add_program(
        b,
        description,
        &[Operand::Array(view.clone())],
        dtype,
        order,
    )
}

/// Returns a program of one operation, in which arrays are inputs and numbers are
/// constants.
fn single_operation_program(op: Op, operands: &[Operand]) -> ProgramDescription {
    let inputs = array_operands(operands).count();
    let (mut next, mut constants) = (0, Vec::new());
    let values = operands.iter().map(|operand| match operand {
        Operand::Array(_) => {
            next += 1;
            next - 1
        }
        Operand::Number(number) => {
            constants.push(*number);
            inputs + constants.len() - 1
        }
    });
    let values: Vec<usize> = values.collect();
    let value = inputs + constants.len();
    ProgramDescription {
        inputs,
        constants,
        steps: vec![(op, values)],
        outputs: vec![ProgramOutput { value, fold: None }],
    }
}

fn add_program(
    b: &mut Builder,
    description: ProgramDescription,
    operands: &[Operand],
    dtype: Dtype,
    order: &[usize],
) -> Outcome<View> {
    let shape = broadcast_shape(operands)?;
    let made = b.allocate_in_order(dtype, &shape, order)?;
    let inputs: Option<Vec<Layout>> = array_operands(operands)
        .map(|view| Some(view.layout.broadcast_to(&shape)?.permuted(order)))
        .collect();
    let is_double = array_operands(operands).any(|view| view.dtype == Dtype::Float64)
        || dtype == Dtype::Float64;
    let work = Elementwise {
        description,
        order: order.to_vec(),
        shape: order.iter().map(|&axis| shape[axis]).collect(),
        inputs: inputs.ok_or("the shapes do not broadcast")?,
        outputs: vec![dtype],
        is_double,
    };
    let reads = array_operands(operands).cloned().collect();
    b.push(reads, &[&made], StepWork::Elementwise(work))?;
    Ok(made)
}
