//! A program, checked once, with registers assigned to its values.

use seqloom_core::{Error, Result};

use crate::{Fold, Op};

/// A program as it is described: values are numbered, first the inputs, then the
/// constants, then what each step makes.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// How many arrays it reads.
    pub inputs: usize,
    /// Numbers that are always the same.
    pub constants: Vec<f64>,
    /// Operations, each with the values that it takes.
    pub steps: Vec<(Op, Vec<usize>)>,
    /// What leaves it.
    pub outputs: Vec<ProgramOutput>,
}

/// A value that leaves a program: whole, or folded.
#[derive(Clone, Copy, Debug)]
pub struct ProgramOutput {
    /// Which value.
    pub value: usize,
    /// How it is folded.
    pub fold: Option<Fold>,
}

/// A list of operations on blocks of numbers, ready to be run.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) inputs: usize,
    pub(crate) constants: Vec<f64>,
    pub(crate) steps: Vec<ProgramStep>,
    /// Which register each output is in, and how it is folded.
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
    /// The output that alone takes what this step makes, whole.
    pub(crate) output: Option<usize>,
}

impl Program {
    /// Checks a description, and gives registers to its values: one that is not needed any
    /// more leaves its register to the next.
    ///
    /// # Errors
    /// A value that does not exist yet, or a wrong number of arguments.
    pub fn new(description: &Description) -> Result<Self> {
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

    /// How many arrays it reads.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// What leaves it.
    pub fn outputs(&self) -> &[ProgramOutput] {
        &self.outputs
    }

    /// About how many nanoseconds one thread takes for so many numbers.
    pub fn nanoseconds(&self, numbers: usize) -> usize {
        numbers.saturating_mul(self.cost) / 160
    }
}

/// What 16 numbers take, in tenths of a nanosecond, their way through memory included.
fn cost(description: &Description) -> usize {
    let steps = description.steps.iter().map(|(op, _)| op.cost());
    steps.sum::<usize>() + 20 * (description.inputs + description.outputs.len())
}

/// The step that needs each value last; outputs are needed for ever.
fn last_uses(description: &Description, fixed: usize) -> Result<Vec<usize>> {
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
            *known(&mut last, value, fixed + number)? = number;
        }
    }
    for output in &description.outputs {
        *known(&mut last, output.value, count)? = usize::MAX;
    }
    Ok(last)
}

fn known(last: &mut [usize], value: usize, count: usize) -> Result<&mut usize> {
    let message = format!("program: value {value} is not known where it is used");
    let slot = last.get_mut(value).filter(|_| value < count);
    slot.ok_or_else(|| Error::argument(message))
}

/// The output that takes a value whole, where nothing else needs it.
fn sole_output(description: &Description, value: usize) -> Option<usize> {
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

/// Registers that are free, and how many there are in all.
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
