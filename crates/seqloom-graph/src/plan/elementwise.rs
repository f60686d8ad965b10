//! Elementwise programs of steps, and how those of one group become one program.
//!
//! A joined program keeps values in registers that separate programs write to memory and read
//! again. It computes the same operations on the same numbers, so it gives the same bits.

use seqloom_fuse::shape::contiguous_strides;
use seqloom_fuse::{Description, Numbers, NumbersMut, Op, Program, ProgramInput, ProgramOutput};
use seqloom_fuse::{InputData, Target, run};

use super::builder::{Kernel, Step, View, Work};
use crate::Dtype;
use crate::layout::Layout;
use crate::memory::{Outcome, Read, Write};

/// A program over arrays, whose axes are in the order of the results' memory.
#[derive(Clone, Debug)]
pub(crate) struct Elementwise {
    pub(crate) description: Description,
    /// The axes of the results, the slowest in memory first.
    pub(crate) order: Vec<usize>,
    /// The sizes of these axes.
    pub(crate) shape: Vec<usize>,
    /// How each input is read along these axes.
    pub(crate) inputs: Vec<Layout>,
    /// The type of each output.
    pub(crate) outputs: Vec<Dtype>,
    /// Whether it computes in double precision.
    pub(crate) is_double: bool,
}

impl Elementwise {
    /// The computation of a step.
    pub(crate) fn into_kernel(self) -> Outcome<Kernel> {
        let program = Program::new(&self.description).map_err(|error| error.to_string())?;
        Ok(Box::new(move |reads, writes, threads| {
            match self.is_double {
                false => self.run::<f32>(&program, reads, writes, threads),
                #[cfg(feature = "float64")]
                true => self.run::<f64>(&program, reads, writes, threads),
                #[cfg(not(feature = "float64"))]
                true => Err("float64 is not computed by this program".to_owned()),
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
                source: InputData::Numbers(numbers(*read)?),
                strides: layout.strides.clone(),
            });
        }
        let strides = contiguous_strides(&self.shape, &[]);
        let mut targets = Vec::with_capacity(writes.len());
        for (write, dtype) in writes.iter_mut().zip(&self.outputs) {
            targets.push(Target {
                numbers: numbers_mut(write, *dtype)?,
                strides: strides.clone(),
            });
        }
        let count = self.shape.iter().product();
        let threads = seqloom_kernels::worth_waking(threads, program.nanoseconds(count));
        let done = run::<T>(program, &self.shape, &inputs, targets, threads);
        done.map_err(|error| error.to_string())
    }

    /// Whether storing the only output and reading it back gives the same values.
    fn is_exact(&self) -> bool {
        let Description {
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
            // The operations that give 0 or 1.
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

/// Maximum number of steps in a joined program: 32 registers of 4 KiB fit in an L2 cache.
const MAX_STEPS: usize = 32;

/// A step without its computation, and the program that computes it.
type OpenStep = (Step<()>, Elementwise);

/// Joins the programs of each group, where they follow each other and run over the same axes.
pub(crate) fn join(steps: Vec<Step>, outputs: &[View], storages: usize) -> Vec<Step> {
    let mut uses = vec![0_usize; storages];
    let read = steps.iter().flat_map(|step| &step.reads);
    read.chain(outputs).for_each(|view| uses[view.storage] += 1);
    let mut joined = Vec::with_capacity(steps.len());
    let mut open: Vec<OpenStep> = Vec::new();
    for step in steps {
        let (step, work) = step.replace(());
        match work {
            Work::Elementwise(program) => {
                if !fits(&open, &step, &program) {
                    joined.extend(close(std::mem::take(&mut open), &uses));
                }
                open.push((step, program));
            }
            Work::Kernel(_) => {
                joined.extend(close(std::mem::take(&mut open), &uses));
                joined.push(step.replace(work).0);
            }
        }
    }
    joined.extend(close(open, &uses));
    joined
}

/// Whether a step can be computed by one program with the steps before it.
fn fits(open: &[OpenStep], step: &Step<()>, program: &Elementwise) -> bool {
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

/// One step for several that fit, or the only one. `uses` counts how often each storage is read.
fn close(mut open: Vec<OpenStep>, uses: &[usize]) -> Option<Step> {
    if open.len() < 2 {
        let (step, program) = open.pop()?;
        return Some(step.replace(Work::Elementwise(program)).0);
    }
    let joined = JoinedProgram::of(&open);
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
        description: Description {
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
    Some(step.replace(Work::Elementwise(program)).0)
}

/// The program of several steps, while it is written.
#[derive(Default)]
struct JoinedProgram {
    inputs: Vec<(View, Layout)>,
    constants: Vec<f64>,
    steps: Vec<(Op, Vec<usize>)>,
    made: Vec<StepResult>,
}

/// A result of one of the steps.
struct StepResult {
    storage: usize,
    dtype: Dtype,
    output: ProgramOutput,
}

impl JoinedProgram {
    fn of(steps: &[OpenStep]) -> Self {
        let mut joined = Self::default();
        for (step, program) in steps {
            joined.add_inputs(step, program, steps);
        }
        for (step, program) in steps {
            joined.add_steps(step, program);
        }
        joined
    }

    /// Adds the arrays and the constants that a step reads and none of `all` makes.
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

    /// Adds what a step computes.
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

    /// The value of an array that is read.
    fn input(&self, view: &View, layout: &Layout) -> Option<usize> {
        let is_same = |(known, how): &(View, Layout)| {
            known.storage == view.storage && known.dtype == view.dtype && how == layout
        };
        self.inputs.iter().position(is_same)
    }

    /// The value of a constant.
    fn constant(&self, constant: f64) -> Option<usize> {
        let mut known = self.constants.iter();
        let at = known.position(|known| known.to_bits() == constant.to_bits())?;
        Some(self.inputs.len() + at)
    }
}

/// The memory of an array from its first number on.
fn numbers(read: Read<'_>) -> Outcome<Numbers<'_>> {
    // Booleans are read as bytes, which need no check of each.
    let dtype = match read.dtype {
        Dtype::Bool => Dtype::Uint8,
        dtype => dtype,
    };
    let bytes = read.bytes.get(read.layout.start * dtype.size()..);
    let numbers = Numbers::of(dtype, bytes.unwrap_or_default());
    numbers.ok_or_else(|| "memory of an array is not aligned".to_owned())
}

/// The memory of a result.
fn numbers_mut<'a>(write: &'a mut Write<'_>, dtype: Dtype) -> Outcome<NumbersMut<'a>> {
    Ok(match dtype {
        Dtype::Float32 => NumbersMut::F32(write.slice()?),
        Dtype::Float64 => NumbersMut::F64(write.slice()?),
        Dtype::Int64 => NumbersMut::I64(write.slice()?),
        Dtype::Int32 => NumbersMut::I32(write.slice()?),
        Dtype::Uint32 => NumbersMut::U32(write.slice()?),
        Dtype::Uint8 | Dtype::Bool => NumbersMut::U8(write.slice()?),
    })
}
