//! Tasks that run a program on a range of blocks, one block after the other. Each
//! thread keeps the values of a block in buffers, which are called registers.

use std::{mem, ops::Range};

use crate::Number;
use crate::array::{Elements, ElementsMut};
use crate::fold::RunningTotals;
use crate::layout::{BlockLayout, Strides};
use crate::program::{Program, ProgramStep};

/// The data that all tasks read.
pub(crate) struct BlockJob<'a, T> {
    pub(crate) program: &'a Program,
    pub(crate) layout: BlockLayout,
    pub(crate) inputs: Vec<BlockInput<'a, T>>,
    /// The strides of each output; only reductions use them.
    pub(crate) strides: Vec<Strides>,
}

/// The method by which a block reads an input.
pub(crate) enum BlockInput<'a, T> {
    /// The input is read directly from memory.
    Direct(&'a [T]),
    /// The input has the same value at all positions.
    Scalar(T),
    /// The input is copied into a register with broadcasting or conversion.
    Loaded(Elements<'a>, Strides),
    /// The input is identical in all blocks, and is copied into a register once.
    Repeated(Elements<'a>, Strides),
    /// The input is the previous content of an output.
    Output(usize),
}

/// A range of blocks, and the sections of the outputs that these blocks fill.
pub(crate) struct BlockTask<'a, T> {
    pub(crate) blocks: Range<usize>,
    /// The index of the first element of the first block.
    pub(crate) start: usize,
    pub(crate) pieces: Vec<OutputSection<'a, T>>,
}

/// The section of an output that one task fills.
pub(crate) enum OutputSection<'a, T> {
    /// The results of each block are stored.
    Whole(ElementsMut<'a>),
    /// The results of each block are added to running totals.
    Folded(RunningTotals<T>),
}

/// The alignment of registers in bytes: a cache line, so that no vector crosses the
/// boundary between two cache lines.
const ALIGNMENT: usize = 64;

impl<T: Number> BlockJob<'_, T> {
    pub(crate) fn run_task(&self, task: &mut BlockTask<'_, T>) {
        let (count, size) = (self.program.registers, self.layout.block);
        let padded = size.next_multiple_of(ALIGNMENT / size_of::<T>());
        T::with_scratch(count * padded + ALIGNMENT, |space| {
            let skipped = space.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
            let space = &mut space[skipped..][..count * padded];
            let mut registers: Vec<&mut [T]> = space.chunks_exact_mut(padded).collect();
            self.fill_constants(&mut registers);
            for block in task.blocks.clone() {
                let start = self.layout.start(block);
                let span = start..self.layout.start(block + 1);
                self.run_block(&mut registers, task, &span);
            }
        });
    }

    fn fill_constants(&self, registers: &mut [&mut [T]]) {
        for (register, &number) in registers[self.program.inputs..]
            .iter_mut()
            .zip(&self.program.constants)
        {
            register.fill(T::from_f64(number));
        }
        for (register, input) in registers.iter_mut().zip(&self.inputs) {
            match input {
                BlockInput::Scalar(number) => register.fill(*number),
                BlockInput::Repeated(numbers, strides) => {
                    let length = self.layout.block.min(self.layout.total);
                    self.copy_block(*numbers, strides, 0, &mut register[..length]);
                }
                _ => {}
            }
        }
    }

    fn run_block(
        &self,
        registers: &mut [&mut [T]],
        task: &mut BlockTask<'_, T>,
        span: &Range<usize>,
    ) {
        for (input, register) in self.inputs.iter().zip(registers.iter_mut()) {
            self.load_input(input, register, task, span);
        }
        for step in &self.program.steps {
            self.run_step(step, registers, task, span);
        }
        for (number, output) in self.program.outputs.iter().enumerate() {
            let written = self.is_written(number, task);
            if !written {
                let values = self.block_values(output.value, registers, span);
                self.store(number, values, task, span);
            }
        }
    }

    fn load_input(
        &self,
        input: &BlockInput<'_, T>,
        out: &mut [T],
        task: &BlockTask<'_, T>,
        span: &Range<usize>,
    ) {
        let (start, length) = (span.start, span.len());
        match input {
            BlockInput::Direct(_) | BlockInput::Scalar(_) | BlockInput::Repeated(..) => {}
            BlockInput::Loaded(numbers, strides) => {
                self.copy_block(*numbers, strides, start, &mut out[..length]);
            }
            BlockInput::Output(number) => {
                if let OutputSection::Whole(numbers) = &task.pieces[*number] {
                    let numbers = numbers.as_elements();
                    numbers.copy_strided(start - task.start, 1, &mut out[..length]);
                }
            }
        }
    }

    /// Copies the elements of an array that belong to the block into `out`.
    fn copy_block(&self, numbers: Elements<'_>, strides: &Strides, start: usize, out: &mut [T]) {
        let step = strides[strides.len() - 1];
        self.layout
            .for_each_run(strides, start, out.len(), |at, range| {
                numbers.copy_strided(at, step, &mut out[range]);
            });
    }

    fn run_step(
        &self,
        step: &ProgramStep,
        registers: &mut [&mut [T]],
        task: &mut BlockTask<'_, T>,
        span: &Range<usize>,
    ) {
        let position = span.start - task.start;
        if let Some(out) = step.output.and_then(|number| task.pieces[number].cast()) {
            let out = &mut out[position..][..span.len()];
            let args = step.args.map(|arg| self.block_values(arg, registers, span));
            step.op.fill_results(args, out);
            return;
        }
        let out = mem::take(&mut registers[step.out]);
        let args = step.args.map(|arg| self.block_values(arg, registers, span));
        step.op.fill_results(args, &mut out[..span.len()]);
        registers[step.out] = out;
    }

    /// Returns the values of a block from a register or directly from the input. An
    /// operation with fewer than three arguments ignores the remaining entries of `args`,
    /// which may be any register numbers.
    fn block_values<'r>(
        &'r self,
        value: usize,
        registers: &'r [&mut [T]],
        span: &Range<usize>,
    ) -> &'r [T] {
        match self.inputs.get(value) {
            Some(BlockInput::Direct(numbers)) => &numbers[span.clone()],
            _ => registers[value].get(..span.len()).unwrap_or_default(),
        }
    }

    /// Returns true if the step that computed an output has already stored it in the
    /// array.
    fn is_written(&self, number: usize, task: &mut BlockTask<'_, T>) -> bool {
        let mut steps = self.program.steps.iter();
        steps.any(|step| step.output == Some(number)) && task.pieces[number].cast().is_some()
    }

    fn store(&self, number: usize, values: &[T], task: &mut BlockTask<'_, T>, span: &Range<usize>) {
        match &mut task.pieces[number] {
            OutputSection::Whole(numbers) => match numbers.cast::<T>() {
                Some(out) => out[span.start - task.start..][..values.len()].copy_from_slice(values),
                None => numbers.store_converted(span.start - task.start, values),
            },
            OutputSection::Folded(totals) => {
                let strides = &self.strides[number];
                let step = strides[strides.len() - 1];
                let (start, length) = (span.start, span.len());
                self.layout
                    .for_each_run(strides, start, length, |at, range| {
                        totals.add_row(at, step, &values[range]);
                    });
            }
        }
    }
}

impl<T: Number> OutputSection<'_, T> {
    /// Returns the output as a slice of `T`, or `None` if it has another type or is a
    /// reduction.
    fn cast(&mut self) -> Option<&mut [T]> {
        match self {
            OutputSection::Whole(numbers) => numbers.cast::<T>(),
            OutputSection::Folded(_) => None,
        }
    }
}
