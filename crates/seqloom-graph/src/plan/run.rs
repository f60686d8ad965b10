//! Execution of steps.

use std::ops::Range;

use super::place::{PlacedStep, PlacedView, Plan, Region};
use crate::memory::{Outcome, Read, Write};

/// The memory that steps read but do not write.
pub(crate) struct Sources<'a> {
    pub(crate) inputs: &'a [&'a [u8]],
    pub(crate) weights: &'a [u8],
    pub(crate) kept: &'a [u8],
}

impl Plan {
    /// Runs all steps. An error includes the index of the operation that failed.
    pub(crate) fn run(
        &self,
        sources: &Sources<'_>,
        arena: &mut [u8],
        threads: usize,
        is_poisoned: bool,
    ) -> Result<(), (usize, String)> {
        run_steps(&self.steps, sources, arena, threads, is_poisoned)
    }
}

impl Sources<'_> {
    /// Returns the memory of an array after all steps have run.
    pub(crate) fn memory<'a>(&'a self, operand: &PlacedView, arena: &'a [u8]) -> Option<&'a [u8]> {
        match operand.region {
            Region::Input(number) => self.inputs.get(number).copied(),
            Region::Weights => self.weights.get(operand.range.clone()),
            Region::Constants => self.kept.get(operand.range.clone()),
            Region::Arena => arena.get(operand.range.clone()),
        }
    }
}

/// Runs steps in order. An error includes the index of the operation that failed. If
/// memory is
/// `poisoned`, values are overwritten with NaN after their last use.
pub(crate) fn run_steps(
    steps: &[PlacedStep],
    sources: &Sources<'_>,
    arena: &mut [u8],
    threads: usize,
    is_poisoned: bool,
) -> Result<(), (usize, String)> {
    for step in steps {
        let done = run_step(step, sources, arena, threads);
        done.map_err(|message| (step.operation, message))?;
        if is_poisoned {
            for range in &step.freed {
                arena[range.clone()].fill(u8::MAX);
            }
        }
    }
    Ok(())
}

fn run_step(step: &PlacedStep, sources: &Sources<'_>, arena: &mut [u8], threads: usize) -> Outcome {
    let mut pieces = SplitArena::split_ranges(arena, &step.writes)?;
    let mut writes: Vec<Write<'_>> = Vec::with_capacity(step.writes.len());
    for bytes in pieces.written.iter_mut().map(std::mem::take) {
        writes.push(Write { bytes });
    }
    let reads: Vec<Read<'_>> = step
        .reads
        .iter()
        .map(|operand| pieces.read(operand, sources))
        .collect::<Outcome<_>>()?;
    (step.kernel)(&reads, &mut writes, threads)
}

/// The memory of a plan, divided into the ranges that a step writes and the remaining
/// ranges.
struct SplitArena<'a> {
    /// The byte ranges that the step writes, in order.
    written: Vec<&'a mut [u8]>,
    /// The remaining ranges of the arena, each with the offset of its first byte.
    rest: Vec<(usize, &'a [u8])>,
}

impl<'a> SplitArena<'a> {
    fn split_ranges(arena: &'a mut [u8], ranges: &[Range<usize>]) -> Outcome<Self> {
        let mut order: Vec<usize> = (0..ranges.len()).collect();
        order.sort_by_key(|&number| (ranges[number].start, ranges[number].end));
        let mut written: Vec<&mut [u8]> = Vec::with_capacity(ranges.len());
        written.resize_with(ranges.len(), Default::default);
        let mut rest = Vec::with_capacity(ranges.len() + 1);
        let (mut left, mut at) = (arena, 0);
        for number in order {
            let Range { start, end } = ranges[number];
            let cut = start
                .checked_sub(at)
                .filter(|_| end >= start && end - at <= left.len());
            let before = cut.ok_or("two outputs of a step overlap in memory")?;
            let (unused, after) = left.split_at_mut(before);
            let (bytes, after) = after.split_at_mut(end - start);
            rest.push((at, &*unused));
            written[number] = bytes;
            (left, at) = (after, end);
        }
        rest.push((at, left));
        Ok(Self { written, rest })
    }

    fn read<'s>(&self, operand: &'s PlacedView, sources: &Sources<'s>) -> Outcome<Read<'s>>
    where
        'a: 's,
    {
        let range = operand.range.clone();
        let bytes = match operand.region {
            Region::Input(number) => sources.inputs.get(number).copied(),
            Region::Weights => sources.weights.get(range),
            Region::Constants => sources.kept.get(range),
            Region::Arena => self.rest.iter().rev().find_map(|(start, piece)| {
                let first = range.start.checked_sub(*start)?;
                piece.get(first..first + range.len())
            }),
        };
        let bytes = bytes.ok_or("an input and an output of a step overlap in memory")?;
        Ok(Read {
            bytes,
            layout: &operand.layout,
            dtype: operand.dtype,
        })
    }
}
