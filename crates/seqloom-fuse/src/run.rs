//! Execution of a program over arrays.

use std::ops::Range;

use rayon::prelude::*;
use seqloom_core::{Error, Result};
use seqloom_kernels::{Float, Instances};
use seqloom_macros::compiled_once;

use crate::Number;
use crate::array::{Elements, ElementsMut};
use crate::block::{BlockInput, BlockJob, BlockTask, OutputSection};
use crate::fold::{Fold, RunningTotals};
use crate::layout::{BlockLayout, Strides};
use crate::program::Program;

/// An input of a program: its elements, and its stride along each axis of the shape (0 if
/// broadcast).
#[derive(Clone, Debug)]
pub struct ProgramInput<'a> {
    /// The array or number that is read.
    pub source: InputData<'a>,
    /// The stride of each axis.
    pub strides: Vec<usize>,
}

/// The array or number that an input reads.
#[derive(Clone, Copy, Debug)]
pub enum InputData<'a> {
    /// The elements are read from a separate array.
    Numbers(Elements<'a>),
    /// The input has the same value at all positions.
    Scalar(f64),
    /// The input is the previous content of the output with this index. The input and
    /// the output have the same memory layout.
    Output(usize),
}

/// An output of a program: an array, and its stride along each axis (0 if the axis is
/// reduced). An output without reduction must be in C order of the shape.
#[derive(Debug)]
pub struct OutputTarget<'a> {
    /// The array to fill.
    pub numbers: ElementsMut<'a>,
    /// The stride of each axis.
    pub strides: Vec<usize>,
}

/// The size of a block in bytes: ten registers of this size fit in an L1 cache.
const BLOCK_BYTES: usize = 4096;

/// Runs a program on all elements of arrays with shape `shape`.
///
/// # Errors
/// Returns an error if there are too few arrays, or if an array is too short for the
/// shape.
#[compiled_once]
pub fn run_program<T: Number>(
    program: &Program,
    shape: &[usize],
    inputs: &[ProgramInput<'_>],
    outputs: Vec<OutputTarget<'_>>,
    threads: usize,
) -> Result<()> {
    if inputs.len() != program.inputs || outputs.len() != program.outputs.len() {
        return Err(Error::argument("program: wrong number of arrays"));
    }
    let arrays = inputs.iter().map(|input| &input.strides[..]);
    let arrays: Vec<&[usize]> = arrays
        .chain(outputs.iter().map(|output| &output.strides[..]))
        .collect();
    let (layout, mut strides) = BlockLayout::new(shape, &arrays, BLOCK_BYTES / size_of::<T>());
    let output_strides = strides.split_off(inputs.len());
    let job = BlockJob {
        program,
        inputs: block_inputs::<T>(&layout, inputs, strides)?,
        strides: output_strides,
        layout,
    };
    let arrays: Vec<ElementsMut<'_>> = outputs.into_iter().map(|output| output.numbers).collect();
    check_outputs(&job, &arrays)?;
    run_tasks(&job, arrays, threads);
    Ok(())
}

fn block_inputs<'a, T: Number>(
    layout: &BlockLayout,
    inputs: &[ProgramInput<'a>],
    strides: Vec<Strides>,
) -> Result<Vec<BlockInput<'a, T>>> {
    let each = inputs.iter().zip(strides);
    each.map(|(input, strides)| match input.source {
        InputData::Scalar(number) => Ok(BlockInput::Scalar(T::from_f64(number))),
        InputData::Output(number) => Ok(BlockInput::Output(number)),
        InputData::Numbers(numbers) => {
            if layout.total > 0 && numbers.len() < layout.extent(&strides) {
                return Err(Error::argument("program: an input is too short"));
            }
            Ok(block_input(layout, numbers, strides))
        }
    })
    .collect()
}

/// Returns the fastest way to read an input.
fn block_input<'a, T: Number>(
    layout: &BlockLayout,
    numbers: Elements<'a>,
    strides: Strides,
) -> BlockInput<'a, T> {
    if layout.total > 0 && strides.iter().all(|&stride| stride == 0) {
        let mut number = [T::ZERO];
        numbers.copy_strided(0, 0, &mut number);
        return BlockInput::Scalar(number[0]);
    }
    match numbers.cast::<T>() {
        Some(direct) if layout.is_contiguous(&strides) => BlockInput::Direct(direct),
        _ if layout.is_repeated(&strides) => BlockInput::Repeated(numbers, strides),
        _ => BlockInput::Loaded(numbers, strides),
    }
}

fn check_outputs<T>(job: &BlockJob<'_, T>, arrays: &[ElementsMut<'_>]) -> Result<()> {
    let outputs = job.program.outputs.iter();
    for ((output, array), strides) in outputs.zip(arrays).zip(&job.strides) {
        let whole = array.len() == job.layout.total && job.layout.is_contiguous(strides);
        let folded = output.fold.is_some() && array.len() >= job.layout.extent(strides);
        if job.layout.total > 0 && !whole && !folded {
            return Err(Error::argument("program: an output does not fit the shape"));
        }
    }
    let own = |input: &BlockInput<'_, T>| match input {
        BlockInput::Output(number) => {
            let output = job.program.outputs.get(*number);
            output.is_none_or(|output| output.fold.is_some())
        }
        _ => false,
    };
    if job.inputs.iter().any(own) {
        return Err(Error::argument(
            "program: an input refers to an output that is reduced",
        ));
    }
    Ok(())
}

/// Runs the tasks, and combines their reductions.
fn run_tasks<T: Number>(job: &BlockJob<'_, T>, arrays: Vec<ElementsMut<'_>>, threads: usize) {
    let shares = task_count(job);
    let mut rests: Vec<Option<ElementsMut<'_>>> = arrays.into_iter().map(Some).collect();
    let mut tasks: Vec<BlockTask<'_, T>> = Vec::with_capacity(shares);
    for share in 0..shares {
        let blocks = job.layout.blocks();
        let range = blocks * share / shares..blocks * (share + 1) / shares;
        tasks.push(make_task(job, range, &mut rests));
    }
    if job.layout.total == 0 {
        tasks.clear();
    }
    if seqloom_kernels::is_single_threaded(threads) || tasks.len() < 2 {
        for task in &mut tasks {
            job.run_task(task);
        }
    } else {
        tasks.par_iter_mut().for_each(|task| job.run_task(task));
    }
    for (number, array) in rests.into_iter().enumerate() {
        let fold = job.program.outputs[number].fold;
        if let (Some(fold), Some(array)) = (fold, array) {
            combine_totals(job, fold, number, &mut tasks, array);
        }
    }
}

/// Returns the number of tasks, which depends on the shape only.
fn task_count<T>(job: &BlockJob<'_, T>) -> usize {
    let mut most = job.layout.blocks().div_ceil(MIN_BLOCKS).clamp(1, MAX_TASKS);
    for (output, strides) in job.program.outputs.iter().zip(&job.strides) {
        if output.fold.is_some() && !job.layout.is_one_per_row(strides) {
            let kept = job.layout.extent(strides);
            most = most
                .min(MAX_FOLDED_TASKS)
                .min(job.layout.total / (4 * kept))
                .max(1);
        }
    }
    most
}

/// The minimum number of blocks per task.
const MIN_BLOCKS: usize = 16;
/// The maximum number of tasks per program.
const MAX_TASKS: usize = 256;
/// The maximum number of tasks for a program with reductions, which is low because each
/// task stores separate totals.
const MAX_FOLDED_TASKS: usize = 16;

/// Returns the task for the given blocks, with the sections of the outputs that it fills.
fn make_task<'a, T: Number>(
    job: &BlockJob<'_, T>,
    blocks: Range<usize>,
    rests: &mut [Option<ElementsMut<'a>>],
) -> BlockTask<'a, T> {
    let (start, end) = (job.layout.start(blocks.start), job.layout.start(blocks.end));
    let mut pieces = Vec::with_capacity(rests.len());
    for (number, rest) in rests.iter_mut().enumerate() {
        let piece = match (job.program.outputs[number].fold, rest.take()) {
            (None, Some(array)) => {
                let (part, after) = array.split_at(end - start);
                *rest = Some(after);
                OutputSection::Whole(part)
            }
            (fold, array) => {
                *rest = array;
                empty_totals(
                    job,
                    fold.unwrap_or(Fold::Sum),
                    &job.strides[number],
                    start..end,
                )
            }
        };
        pieces.push(piece);
    }
    BlockTask {
        blocks,
        start,
        pieces,
    }
}

fn empty_totals<T: Number>(
    job: &BlockJob<'_, T>,
    fold: Fold,
    strides: &Strides,
    span: Range<usize>,
) -> OutputSection<'static, T> {
    let layout = &job.layout;
    let kept = if layout.is_one_per_row(strides) {
        span.start / layout.row..span.end.div_ceil(layout.row)
    } else {
        0..layout.extent(strides)
    };
    OutputSection::Folded(RunningTotals::new(fold, kept))
}

/// Combines the totals of all tasks in order, and stores the result.
fn combine_totals<T: Number>(
    job: &BlockJob<'_, T>,
    fold: Fold,
    number: usize,
    tasks: &mut [BlockTask<'_, T>],
    mut array: ElementsMut<'_>,
) {
    let mut all = vec![fold.empty_result(); array.len()];
    for task in tasks {
        if let OutputSection::Folded(totals) = &mut task.pieces[number] {
            totals.add_to_output(&mut all);
        }
    }
    if fold == Fold::Mean {
        let count = to_float(job.layout.total / array.len().max(1));
        for total in &mut all {
            *total /= count;
        }
    }
    array.store_converted(0, &all);
}

#[expect(clippy::cast_precision_loss, reason = "no array has 2^53 elements")]
fn to_float(things: usize) -> f64 {
    things as f64
}
