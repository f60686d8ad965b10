//! Elementwise operations on floats, by the programs of `seqloom-fuse`.

use seqloom_fuse::{Description, Numbers, NumbersMut, Op, Operand as Taken, Output, Program};
use seqloom_fuse::{Source, Target, run};

use crate::Dtype;
use crate::layout::{Layout, broadcast, walking_order};
use crate::memory::{Outcome, Read, Write};
use crate::plan::{Builder, Item};

/// An array, or a number that takes the type of the arrays.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    Array(Item),
    Number(f64),
}

impl Operand {
    pub(crate) fn item(&self) -> Option<&Item> {
        match self {
            Self::Array(item) => Some(item),
            Self::Number(_) => None,
        }
    }
}

/// The arrays among operands.
pub(crate) fn items(operands: &[Operand]) -> impl Iterator<Item = &Item> {
    operands.iter().filter_map(Operand::item)
}

/// The shape that operands broadcast to.
pub(crate) fn shape_of(operands: &[Operand]) -> Outcome<Vec<usize>> {
    broadcast(items(operands).map(Item::shape))
}

/// The order of axes in which NumPy's result of these lies in memory.
pub(crate) fn order_of(operands: &[Operand], shape: &[usize]) -> Vec<usize> {
    let stretched: Vec<Layout> = items(operands)
        .filter_map(|item| item.layout.stretched(shape))
        .collect();
    let strides: Vec<&[usize]> = stretched.iter().map(|layout| &layout.strides[..]).collect();
    walking_order(shape, &strides)
}

/// Adds one operation; its result is of this type, and lies as NumPy's would.
pub(crate) fn fuse(b: &mut Builder, op: Op, operands: &[Operand], dtype: Dtype) -> Outcome<Item> {
    let order = order_of(operands, &shape_of(operands)?);
    fuse_ordered(b, op, operands, dtype, &order)
}

/// The same with axes in a given order of memory.
pub(crate) fn fuse_ordered(
    b: &mut Builder,
    op: Op,
    operands: &[Operand],
    dtype: Dtype,
    order: &[usize],
) -> Outcome<Item> {
    let description = describe(op, operands);
    add(b, &description, operands, dtype, order)
}

/// The numbers as another type, where either of both is a float.
pub(crate) fn convert(
    b: &mut Builder,
    item: &Item,
    dtype: Dtype,
    order: &[usize],
) -> Outcome<Item> {
    let description = Description {
        inputs: 1,
        outputs: vec![Output {
            value: 0,
            fold: None,
        }],
        ..Description::default()
    };
    add(
        b,
        &description,
        &[Operand::Array(item.clone())],
        dtype,
        order,
    )
}

/// A program of one operation: arrays are its inputs, numbers its constants.
fn describe(op: Op, operands: &[Operand]) -> Description {
    let inputs = items(operands).count();
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
    Description {
        inputs,
        constants,
        steps: vec![(op, values)],
        outputs: vec![Output { value, fold: None }],
    }
}

fn add(
    b: &mut Builder,
    description: &Description,
    operands: &[Operand],
    dtype: Dtype,
    order: &[usize],
) -> Outcome<Item> {
    let program = Program::new(description).map_err(|error| error.to_string())?;
    let shape = shape_of(operands)?;
    let made = b.ordered(dtype, &shape, order)?;
    let layouts: Option<Vec<Layout>> = items(operands)
        .map(|item| Some(item.layout.stretched(&shape)?.permuted(order)))
        .collect();
    let layouts = layouts.ok_or("the shapes do not broadcast")?;
    let is_double =
        items(operands).any(|item| item.dtype == Dtype::Float64) || dtype == Dtype::Float64;
    let walk = Walk {
        shape: order.iter().map(|&axis| shape[axis]).collect(),
        program,
        layouts,
        dtype,
    };
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| {
            let [write] = writes else { return Ok(()) };
            match is_double {
                false => walk.go::<f32>(reads, write, threads),
                #[cfg(feature = "float64")]
                true => walk.go::<f64>(reads, write, threads),
                #[cfg(not(feature = "float64"))]
                true => Err("float64 is not computed by this program".to_owned()),
            }
        },
    );
    let reads = items(operands).cloned().collect();
    b.step(reads, &[&made], kernel)?;
    Ok(made)
}

/// A program over arrays whose axes are in the order of the result's memory.
struct Walk {
    program: Program,
    shape: Vec<usize>,
    layouts: Vec<Layout>,
    dtype: Dtype,
}

impl Walk {
    fn go<T: seqloom_fuse::Number>(
        &self,
        reads: &[Read<'_>],
        write: &mut Write<'_>,
        threads: usize,
    ) -> Outcome {
        let mut inputs = Vec::with_capacity(reads.len());
        for (read, layout) in reads.iter().zip(&self.layouts) {
            inputs.push(Taken {
                source: Source::Numbers(numbers(*read)?),
                strides: layout.strides.clone(),
            });
        }
        let target = Target {
            numbers: numbers_mut(write, self.dtype)?,
            strides: seqloom_fuse::shape::plain_strides(&self.shape, &[]),
        };
        let count = self.shape.iter().product();
        let threads = seqloom_kernels::worth_waking(threads, self.program.nanoseconds(count));
        let done = run::<T>(&self.program, &self.shape, &inputs, vec![target], threads);
        done.map_err(|error| error.to_string())
    }
}

/// The memory of an array from its first number on.
pub(crate) fn numbers(read: Read<'_>) -> Outcome<Numbers<'_>> {
    Ok(match read.dtype {
        Dtype::Float32 => Numbers::F32(read.onward()?),
        Dtype::Float64 => Numbers::F64(read.onward()?),
        Dtype::Int64 => Numbers::I64(read.onward()?),
        Dtype::Int32 => Numbers::I32(read.onward()?),
        Dtype::Uint32 => Numbers::U32(read.onward()?),
        Dtype::Uint8 | Dtype::Bool => Numbers::U8(read.onward()?),
    })
}

/// The memory of a result.
pub(crate) fn numbers_mut<'a>(write: &'a mut Write<'_>, dtype: Dtype) -> Outcome<NumbersMut<'a>> {
    Ok(match dtype {
        Dtype::Float32 => NumbersMut::F32(write.plain()?),
        Dtype::Float64 => NumbersMut::F64(write.plain()?),
        Dtype::Int64 => NumbersMut::I64(write.plain()?),
        Dtype::Int32 => NumbersMut::I32(write.plain()?),
        Dtype::Uint32 => NumbersMut::U32(write.plain()?),
        Dtype::Uint8 | Dtype::Bool => NumbersMut::U8(write.plain()?),
    })
}
