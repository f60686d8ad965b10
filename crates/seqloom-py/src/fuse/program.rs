//! Bindings of `seqloom_fuse::Program`.

use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyTuple};
use seqloom_core::Result;
use seqloom_fuse::shape::{broadcast_shape, broadcast_strides, contiguous_strides};
use seqloom_fuse::{
    Fold, InputData, Op, OutputTarget, Program, ProgramDescription, ProgramInput, ProgramOutput,
    run_program,
};
use seqloom_macros::python_export;

use super::arrays::{ReadArray, WrittenArray, start_address};
use crate::{error, pool};

/// An elementwise program, checked once and run many times.
///
/// Values are numbered in this order: inputs, constants, results of steps. A step is an
/// operation and its arguments. An output is a value, the reduction applied to it (or
/// `None`), and the axes of the reduction.
#[python_export(frozen)]
pub(crate) struct ElementwiseProgram {
    program: Program,
    double: bool,
    /// The axes over which each output is reduced.
    axes: Vec<Vec<usize>>,
}

/// An input of a program: a number, an array, or an array that is also an output.
enum InputValue<'py> {
    Number(f64),
    Array(ReadArray<'py>, Vec<usize>),
    Output(usize, Vec<usize>),
}

#[python_export]
impl ElementwiseProgram {
    #[new]
    fn new(
        py: Python<'_>,
        double: bool,
        inputs: usize,
        constants: Vec<f64>,
        steps: Vec<(String, Vec<usize>)>,
        outputs: Vec<(usize, Option<String>, Vec<usize>)>,
    ) -> PyResult<Self> {
        let mut axes = Vec::with_capacity(outputs.len());
        let mut description = ProgramDescription {
            inputs,
            constants,
            steps: steps.into_iter().map(parse_step).collect::<PyResult<_>>()?,
            outputs: Vec::with_capacity(outputs.len()),
        };
        for (value, fold, along) in outputs {
            let fold = fold.as_deref().map(parse_fold).transpose()?;
            description.outputs.push(ProgramOutput { value, fold });
            axes.push(along);
        }
        let program = error::raise(py, Program::new(&description))?;
        Ok(Self {
            program,
            double,
            axes,
        })
    }

    /// Computes `outputs` from `inputs`, which are numbers or arrays that broadcast. An
    /// output may be the same array as an input if both have the same memory layout.
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyTuple>,
        outputs: &Bound<'py, PyTuple>,
        threads: usize,
    ) -> PyResult<()> {
        let results = extract_arrays(outputs)?;
        let values = self.input_values(inputs, &results)?;
        let shape = error::raise(py, self.common_shape(&values, &results))?;
        let operands: Vec<ProgramInput<'_>> =
            values.iter().map(|value| value.operand(&shape)).collect();
        let mut writings = results
            .iter()
            .map(WrittenArray::new)
            .collect::<PyResult<Vec<_>>>()?;
        let mut targets = Vec::with_capacity(results.len());
        for (number, writing) in writings.iter_mut().enumerate() {
            targets.push(OutputTarget {
                numbers: writing.numbers()?,
                strides: contiguous_strides(&shape, &self.axes[number]),
            });
        }
        let nanoseconds = self.program.nanoseconds(shape.iter().product());
        let threads = seqloom_kernels::useful_threads(threads, nanoseconds);
        let work = || {
            let run = if self.double {
                run_program::<f64>
            } else {
                run_program::<f32>
            };
            run(&self.program, &shape, &operands, targets, threads)
        };
        let outcome = if nanoseconds < MAX_ATTACHED_NANOSECONDS {
            work()
        } else {
            let mut outcome = Ok(());
            pool::run_kernel(py, threads, || outcome = work())?;
            outcome
        };
        error::raise(py, outcome)
    }
}

/// The GIL is not released for a computation that takes less than this number of
/// nanoseconds.
const MAX_ATTACHED_NANOSECONDS: usize = 10_000;

impl ElementwiseProgram {
    fn input_values<'py>(
        &self,
        inputs: &Bound<'py, PyTuple>,
        results: &[Bound<'py, PyUntypedArray>],
    ) -> PyResult<Vec<InputValue<'py>>> {
        if inputs.len() != self.program.input_count() || results.len() != self.axes.len() {
            return Err(PyValueError::new_err("wrong number of arrays"));
        }
        inputs
            .iter()
            .map(|input| self.input_value(&input, results))
            .collect()
    }

    fn input_value<'py>(
        &self,
        input: &Bound<'py, PyAny>,
        results: &[Bound<'py, PyUntypedArray>],
    ) -> PyResult<InputValue<'py>> {
        let Ok(array) = input.cast::<PyUntypedArray>() else {
            return extract_number(input).map(InputValue::Number);
        };
        let shape = array.shape().to_vec();
        let over = |(result, output): (&Bound<'py, PyUntypedArray>, &ProgramOutput)| {
            output.fold.is_none() && shares_elements(array, result)
        };
        let outputs = self.program.outputs();
        match results.iter().zip(outputs).position(over) {
            Some(output) => Ok(InputValue::Output(output, shape)),
            None => Ok(InputValue::Array(ReadArray::new(array)?, shape)),
        }
    }

    /// Returns the shape that all inputs and outputs broadcast to.
    fn common_shape(
        &self,
        values: &[InputValue<'_>],
        results: &[Bound<'_, PyUntypedArray>],
    ) -> Result<Vec<usize>> {
        let mut shape = Vec::new();
        for value in values {
            if let InputValue::Array(_, own) | InputValue::Output(_, own) = value {
                broadcast_shape(&mut shape, own)?;
            }
        }
        for (result, output) in results.iter().zip(self.program.outputs()) {
            if output.fold.is_none() {
                broadcast_shape(&mut shape, result.shape())?;
            }
        }
        Ok(shape)
    }
}

impl InputValue<'_> {
    fn operand(&self, shape: &[usize]) -> ProgramInput<'_> {
        let (source, strides) = match self {
            Self::Number(number) => (InputData::Scalar(*number), vec![0; shape.len()]),
            Self::Output(output, _) => (InputData::Output(*output), contiguous_strides(shape, &[])),
            Self::Array(array, own) => (
                InputData::Numbers(array.numbers()),
                broadcast_strides(shape, own, &array.strides),
            ),
        };
        ProgramInput { source, strides }
    }
}

fn parse_step((name, args): (String, Vec<usize>)) -> PyResult<(Op, Vec<usize>)> {
    let op = Op::from_name(&name);
    let op = op.ok_or_else(|| PyValueError::new_err(format!("no operation is called {name}")))?;
    Ok((op, args))
}

fn parse_fold(name: &str) -> PyResult<Fold> {
    Fold::from_name(name).ok_or_else(|| PyValueError::new_err(format!("no reduction named {name}")))
}

fn extract_number(input: &Bound<'_, PyAny>) -> PyResult<f64> {
    if input.is_instance_of::<PyFloat>() || input.is_instance_of::<PyInt>() {
        return input.extract();
    }
    Err(PyTypeError::new_err(
        "an input is neither an array nor a number",
    ))
}

fn extract_arrays<'py>(values: &Bound<'py, PyTuple>) -> PyResult<Vec<Bound<'py, PyUntypedArray>>> {
    let each = values.iter();
    each.map(|array| Ok(array.cast_into::<PyUntypedArray>()?))
        .collect()
}

/// Returns true if two arrays share the same elements in the same order.
fn shares_elements(one: &Bound<'_, PyUntypedArray>, other: &Bound<'_, PyUntypedArray>) -> bool {
    start_address(one).is_some_and(|here| Some(here) == start_address(other))
        && one.shape() == other.shape()
        && one.is_c_contiguous()
        && other.is_c_contiguous()
        && one.dtype().is_equiv_to(&other.dtype())
}
