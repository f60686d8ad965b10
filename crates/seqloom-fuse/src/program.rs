//! A checked program, with a register assigned to each of its values.

use seqloom_core::{Error, Result};

use crate::{Fold, Op};

/// The description of a program. Values are numbered in this order: the inputs, the
/// constants, the results of the steps.
#[derive(Clone, Debug, Default)]
pub struct ProgramDescription {
    /// The number of input arrays.
    pub inputs: usize,
    /// The constants.
    pub constants: Vec<f64>,
    /// The operations, each with the value numbers of its arguments.
    pub steps: Vec<(Op, Vec<usize>)>,
    /// The outputs of the program.
    pub outputs: Vec<ProgramOutput>,
}

/// An output of a program, which is stored or reduced.
#[derive(Clone, Copy, Debug)]
pub struct ProgramOutput {
    /// The number of the value to return.
    pub value: usize,
    /// The reduction, if any.
    pub fold: Option<Fold>,
}

/// A list of operations on blocks of elements, ready to run.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) inputs: usize,
    pub(crate) constants: Vec<f64>,
    pub(crate) steps: Vec<ProgramStep>,
    /// The register and the optional reduction of each output.
    pub(crate) outputs: Vec<ProgramOutput>,
    pub(crate) registers: usize,
    cost: usize,
}

/// An operation on registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramStep {
    pub(crate) op: Op,
    pub(crate) args: [usize; 3],
    pub(crate) out: usize,
    /// The index of a stored output, if the result of this step is used only for that
    /// output.
    pub(crate) output: Option<usize>,
}

impl Program {
    /// Checks a description and assigns registers to its values. A register is reused
    /// after the last use of its value.
    ///
    /// # Errors
    /// Returns an error if a value is used before it is defined, or if the number of
    /// arguments is wrong.
    pub fn new(description: &ProgramDescription) -> Result<Self> {
        let fixed = description.inputs + description.constants.len();
        let last = last_uses(description, fixed)?;
        let mut registers = FreeRegisters::new(fixed);
        let mut positions: Vec<usize> = (0..fixed).collect();
        let mut steps = Vec::with_capacity(description.steps.len());
        for (number, (op, args)) in description.steps.iter().enumerate() {
            let out = registers.take();
            steps.push(ProgramStep {
                op: *op,
                args: [0, 1, 2].map(|at| args.get(at).map_or(0, |&value| positions[value])),
                out,
                output: sole_output(description, fixed + number),
            });
            positions.push(out);
            for (value, position) in positions.iter().enumerate().skip(fixed) {
                if last[value] == number {
                    registers.give_back(*position);
                }
            }
        }
        let placed = |output: &ProgramOutput| ProgramOutput {
            value: positions[output.value],
            ..*output
        };
        Ok(Self {
            inputs: description.inputs,
            constants: description.constants.clone(),
            steps,
            outputs: description.outputs.iter().map(placed).collect(),
            registers: registers.count,
            cost: cost(description),
        })
    }

    /// Returns the number of input arrays.
    pub fn input_count(&self) -> usize {
        self.inputs
    }

    /// Returns the outputs.
    pub fn outputs(&self) -> &[ProgramOutput] {
        &self.outputs
    }

    /// Returns the estimated time on one thread, in nanoseconds, for this number of
    /// elements.
    pub fn nanoseconds(&self, numbers: usize) -> usize {
        numbers.saturating_mul(self.cost) / 160
    }
}

/// Returns the time for 16 elements in tenths of a nanosecond, including memory access.
fn cost(description: &ProgramDescription) -> usize {
    let steps = description.steps.iter().map(|(op, _)| op.cost());
    steps.sum::<usize>() + 20 * (description.inputs + description.outputs.len())
}

/// Returns the index of the last step that uses each value; outputs are used until the
/// end.
fn last_uses(description: &ProgramDescription, fixed: usize) -> Result<Vec<usize>> {
    let count = fixed + description.steps.len();
    let mut last: Vec<usize> = (0..count)
        .map(|value| value.saturating_sub(fixed))
        .collect();
    for (number, (op, args)) in description.steps.iter().enumerate() {
        if args.len() != op.arity() {
            let (name, wanted, found) = (op.name(), op.arity(), args.len());
            return Err(Error::argument(format!(
                "{name}: expected {wanted} arguments, got {found}"
            )));
        }
        for &value in args {
            *last_use_slot(&mut last, value, fixed + number)? = number;
        }
    }
    for output in &description.outputs {
        *last_use_slot(&mut last, output.value, count)? = usize::MAX;
    }
    Ok(last)
}

fn last_use_slot(last: &mut [usize], value: usize, count: usize) -> Result<&mut usize> {
    let message = format!("program: value {value} is used before it is defined");
    let slot = last.get_mut(value).filter(|_| value < count);
    slot.ok_or_else(|| Error::argument(message))
}

/// Returns the index of a stored output if the value is used only for that output.
fn sole_output(description: &ProgramDescription, value: usize) -> Option<usize> {
    let read = description
        .steps
        .iter()
        .any(|(_, args)| args.contains(&value));
    let mut takers = description.outputs.iter().enumerate();
    let taker = takers.find(|(_, output)| output.value == value);
    let again = takers.any(|(_, output)| output.value == value);
    taker
        .filter(|(_, output)| !read && !again && output.fold.is_none())
        .map(|(number, _)| number)
}

/// The registers that are free, and the total number of registers.
struct FreeRegisters {
    free: Vec<usize>,
    count: usize,
}

impl FreeRegisters {
    fn new(count: usize) -> Self {
        let free = Vec::new();
        Self { free, count }
    }

    fn take(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }

    fn give_back(&mut self, register: usize) {
        self.free.push(register);
    }
}
