//! Elementwise programs of steps, and the fusion of a group of steps into one program.
//!
//! Separate programs would write their results to memory and read them again; a fused
//! program keeps these values in registers. A fused program computes the same
//! operations on the same numbers, so its results are bitwise equal.

use seqloom_fuse::{
    Elements, ElementsMut, Op, Program, ProgramDescription, ProgramInput, ProgramOutput,
};
use seqloom_fuse::{InputData, OutputTarget, run_program, shape::contiguous_strides};

use super::builder::{Kernel, Step, StepWork, View};
use crate::Dtype;
use crate::layout::Layout;
use crate::memory::{Outcome, Read, Write};

/// An elementwise program; its axes are in the memory order of the results.
#[derive(Clone, Debug)]
pub(crate) struct Elementwise {
    pub(crate) description: ProgramDescription,
    /// The axes of the results, slowest in memory first.
    pub(crate) order: Vec<usize>,
    /// The size of each axis in `order`.
    pub(crate) shape: Vec<usize>,
    /// The memory layout of each input along the axes of the results.
    pub(crate) inputs: Vec<Layout>,
    /// The type of each output.
    pub(crate) outputs: Vec<Dtype>,
    /// True if the program computes in double precision.
    pub(crate) is_double: bool,
}

impl Elementwise {
    /// Converts the program to the computation of a step.
    pub(crate) fn into_kernel(self) -> Outcome<Kernel> {
        let program = Program::new(&self.description).map_err(|error| error.to_string())?;
        Ok(Box::new(move |reads, writes, threads| {
            match self.is_double {
                false => self.run::<f32>(&program, reads, writes, threads),
                #[cfg(feature = "float64")]
                true => self.run::<f64>(&program, reads, writes, threads),
                #[cfg(not(feature = "float64"))]
                true => Err("this program was built without float64".to_owned()),
            }
        }))
    }

    fn run<T: seqloom_fuse::Number>(
        &self,
        program: &Program,
        reads: &[Read<'_>],
        writes: &mut [Write<'_>],
        threads: usize,
    ) -> Outcome {
        let mut inputs = Vec::with_capacity(reads.len());
        for (read, layout) in reads.iter().zip(&self.inputs) {
            inputs.push(ProgramInput {
                source: InputData::Numbers(read_elements(*read)?),
                strides: layout.strides.clone(),
            });
        }
        let strides = contiguous_strides(&self.shape, &[]);
        let mut targets = Vec::with_capacity(writes.len());
        for (write, dtype) in writes.iter_mut().zip(&self.outputs) {
            targets.push(OutputTarget {
                numbers: write_elements(write, *dtype)?,
                strides: strides.clone(),
            });
        }
        let count = self.shape.iter().product();
        let threads = seqloom_kernels::useful_threads(threads, program.nanoseconds(count));
        let done = run_program::<T>(program, &self.shape, &inputs, targets, threads);
        done.map_err(|error| error.to_string())
    }

    /// Returns true if the program has one output, and storing it in memory does not round
    /// its values.
    fn is_exact(&self) -> bool {
        let ProgramDescription {
            inputs,
            constants,
            steps,
            outputs,
        } = &self.description;
        let fixed = inputs + constants.len();
        let [ProgramOutput { value, .. }] = outputs[..] else {
            return false;
        };
        match self.outputs[..] {
            [Dtype::Float32] => !self.is_double,
            [Dtype::Float64] => self.is_double,
            [Dtype::Bool] => value
                .checked_sub(fixed)
                .and_then(|step| steps.get(step))
                .is_some_and(|(op, _)| BOOLEAN_OPS.contains(op)),
            _ => false,
        }
    }
}

/// Operations whose results are 0 or 1.
const BOOLEAN_OPS: [Op; 11] = [
    Op::IsFinite,
    Op::IsNan,
    Op::Not,
    Op::Equal,
    Op::NotEqual,
    Op::Less,
    Op::LessEqual,
    Op::Greater,
    Op::GreaterEqual,
    Op::And,
    Op::Or,
];

/// The maximum number of steps in a fused program; 32 registers of 4 KiB fit in an L2
/// cache.
const MAX_STEPS: usize = 32;

/// A step that may be fused with the next one, and its program.
type OpenStep = (Step<()>, Elementwise);

/// Fuses the programs of each group of operations if the programs are consecutive and
/// have the same axes.
pub(crate) fn fuse_groups(steps: Vec<Step>, outputs: &[View], storages: usize) -> Vec<Step> {
    let mut uses = vec![0_usize; storages];
    let read = steps.iter().flat_map(|step| &step.reads);
    read.chain(outputs).for_each(|view| uses[view.storage] += 1);
    let mut joined = Vec::with_capacity(steps.len());
    let mut open: Vec<OpenStep> = Vec::new();
    for step in steps {
        let (step, work) = step.replace(());
        match work {
            StepWork::Elementwise(program) => {
                if !can_be_fused(&open, &step, &program) {
                    joined.extend(fuse_open_steps(std::mem::take(&mut open), &uses));
                }
                open.push((step, program));
            }
            StepWork::Kernel(_) => {
                joined.extend(fuse_open_steps(std::mem::take(&mut open), &uses));
                joined.push(step.replace(work).0);
            }
        }
    }
    joined.extend(fuse_open_steps(open, &uses));
    joined
}

/// Returns true if a step can be fused with the previous steps.
fn can_be_fused(open: &[OpenStep], step: &Step<()>, program: &Elementwise) -> bool {
    let Some((first, of_first)) = open.first() else {
        return false;
    };
    let is_alike = step.group.is_some()
        && step.group == first.group
        && program.is_double == of_first.is_double
        && (&program.order, &program.shape) == (&of_first.order, &of_first.shape);
    let is_readable = |view: &View, layout: &Layout| {
        let mut makers = open
            .iter()
            .filter(|(made, _)| made.writes.contains(&view.storage));
        makers.all(|(_, made)| made.is_exact() && layout.start == 0 && layout.is_contiguous())
    };
    let mut reads = step.reads.iter().zip(&program.inputs);
    is_alike && open.len() < MAX_STEPS && reads.all(|(view, layout)| is_readable(view, layout))
}

/// Fuses consecutive steps into one step. `uses` contains the number of steps that read
/// each storage.
fn fuse_open_steps(mut open: Vec<OpenStep>, uses: &[usize]) -> Option<Step> {
    if open.len() < 2 {
        let (step, program) = open.pop()?;
        return Some(step.replace(StepWork::Elementwise(program)).0);
    }
    let joined = JoinedProgram::new(&open);
    let reads = || open.iter().flat_map(|(step, _)| &step.reads);
    let is_stored = |made: &&StepResult| {
        let inner = reads().filter(|view| view.storage == made.storage);
        uses[made.storage] > inner.count()
    };
    let stored: Vec<&StepResult> = joined.made.iter().filter(is_stored).collect();
    let (first, of_first) = open.into_iter().next()?;
    let program = Elementwise {
        outputs: stored.iter().map(|made| made.dtype).collect(),
        inputs: joined
            .inputs
            .iter()
            .map(|(_, layout)| layout.clone())
            .collect(),
        description: ProgramDescription {
            inputs: joined.inputs.len(),
            outputs: stored.iter().map(|made| made.output).collect(),
            constants: joined.constants,
            steps: joined.steps,
        },
        ..of_first
    };
    let step = Step {
        writes: stored.iter().map(|made| made.storage).collect(),
        reads: joined.inputs.into_iter().map(|(view, _)| view).collect(),
        ..first
    };
    Some(step.replace(StepWork::Elementwise(program)).0)
}

/// A fused program under construction.
#[derive(Default)]
struct JoinedProgram {
    inputs: Vec<(View, Layout)>,
    constants: Vec<f64>,
    steps: Vec<(Op, Vec<usize>)>,
    made: Vec<StepResult>,
}

/// The result of a step in a fused program.
struct StepResult {
    storage: usize,
    dtype: Dtype,
    output: ProgramOutput,
}

impl JoinedProgram {
    fn new(steps: &[OpenStep]) -> Self {
        let mut joined = Self::default();
        for (step, program) in steps {
            joined.add_inputs(step, program, steps);
        }
        for (step, program) in steps {
            joined.add_steps(step, program);
        }
        joined
    }

    /// Adds the arrays and constants that a step reads and that no other step of the group
    /// computes.
    fn add_inputs(&mut self, step: &Step<()>, program: &Elementwise, all: &[OpenStep]) {
        for (view, layout) in step.reads.iter().zip(&program.inputs) {
            let is_made = all
                .iter()
                .any(|(step, _)| step.writes.contains(&view.storage));
            if !is_made && self.input(view, layout).is_none() {
                self.inputs.push((view.clone(), layout.clone()));
            }
        }
        for constant in &program.description.constants {
            if self.constant(*constant).is_none() {
                self.constants.push(*constant);
            }
        }
    }

    /// Adds the operations of a step.
    fn add_steps(&mut self, step: &Step<()>, program: &Elementwise) {
        let description = &program.description;
        let reads = step.reads.iter().zip(&program.inputs);
        let mut values: Vec<usize> = reads
            .filter_map(|(view, layout)| {
                let mut made = self.made.iter();
                let made = made.find(|made| made.storage == view.storage);
                made.map_or_else(|| self.input(view, layout), |made| Some(made.output.value))
            })
            .collect();
        let constants = description.constants.iter();
        values.extend(constants.filter_map(|constant| self.constant(*constant)));
        debug_assert_eq!(
            values.len(),
            description.inputs + description.constants.len()
        );
        for (op, args) in &description.steps {
            values.push(self.inputs.len() + self.constants.len() + self.steps.len());
            let args = args.iter().map(|&arg| values[arg]).collect();
            self.steps.push((*op, args));
        }
        let outputs = description.outputs.iter().zip(&program.outputs);
        for ((output, dtype), &storage) in outputs.zip(&step.writes) {
            let value = values[output.value];
            self.made.push(StepResult {
                storage,
                dtype: *dtype,
                output: ProgramOutput { value, fold: None },
            });
        }
    }

    /// Returns the number of an input array in the program.
    fn input(&self, view: &View, layout: &Layout) -> Option<usize> {
        let is_same = |(known, how): &(View, Layout)| {
            known.storage == view.storage && known.dtype == view.dtype && how == layout
        };
        self.inputs.iter().position(is_same)
    }

    /// Returns the number of a constant in the program.
    fn constant(&self, constant: f64) -> Option<usize> {
        let mut known = self.constants.iter();
        let at = known.position(|known| known.to_bits() == constant.to_bits())?;
        Some(self.inputs.len() + at)
    }
}

/// Returns the memory of an array from its first element.
fn read_elements(read: Read<'_>) -> Outcome<Elements<'_>> {
    // Booleans are read as bytes, which avoids a check that each byte is 0 or 1.
    let dtype = match read.dtype {
        Dtype::Bool => Dtype::Uint8,
        dtype => dtype,
    };
    let bytes = read.bytes.get(read.layout.start * dtype.size()..);
    let numbers = Elements::from_bytes(dtype, bytes.unwrap_or_default());
    numbers.ok_or_else(|| "memory of an array is not aligned".to_owned())
}

/// Returns the memory of a result.
fn write_elements<'a>(write: &'a mut Write<'_>, dtype: Dtype) -> Outcome<ElementsMut<'a>> {
    Ok(match dtype {
        Dtype::Float32 => ElementsMut::F32(write.slice()?),
        Dtype::Float64 => ElementsMut::F64(write.slice()?),
        Dtype::Int64 => ElementsMut::I64(write.slice()?),
        Dtype::Int32 => ElementsMut::I32(write.slice()?),
        Dtype::Uint32 => ElementsMut::U32(write.slice()?),
        Dtype::Uint8 | Dtype::Bool => ElementsMut::U8(write.slice()?),
    })
}
