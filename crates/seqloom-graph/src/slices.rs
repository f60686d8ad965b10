//! Runs the operations that process records independently on slices of a few records.

use std::sync::Mutex;

use seqloom_core::{Error, Result};
use seqloom_kernels::run_tasks;

use crate::graph::Graph;
use crate::memory::Memory;
use crate::model::{Runner, collect_outputs};
use crate::plan::{Plan, Sources};
use crate::planned_graph::{PlannedGraph, lock_data};
use crate::records::split_graph;
use crate::{Array, Dtype, Elements, Input};

/// A graph in two halves; the first half runs on a few records at a time.
pub(crate) struct Slices {
    records: PlannedGraph,
    rest: PlannedGraph,
}

impl Slices {
    /// Splits a graph in two halves, or returns `None` if splitting would not save time.
    pub(crate) fn new(graph: &Graph, planned: impl Fn(Graph) -> PlannedGraph) -> Option<Self> {
        let (records, rest) = split_graph(graph)?;
        Some(Self {
            records: planned(records),
            rest: planned(rest),
        })
    }

    /// Computes the outputs slice by slice, or returns `None` if there are too few
    /// records for several slices.
    pub(crate) fn run(&self, by: Runner<'_>, inputs: &[Input<'_>]) -> Result<Option<Vec<Array>>> {
        let Some(count) = count_records(inputs) else {
            return Ok(None);
        };
        let Some(some) = self.slice_size(by, inputs, count) else {
            return Ok(None);
        };
        let mut intermediates = self.intermediates(by, inputs, count)?;
        self.run_slices(by, inputs, some, &mut intermediates)?;
        let found = intermediates
            .iter()
            .map(Intermediate::input)
            .collect::<Option<Vec<_>>>();
        let found = found.ok_or_else(|| Error::argument("an array of records has gaps"))?;
        let all: Vec<Input<'_>> = inputs.iter().copied().chain(found).collect();
        let graph = &self.rest.graph;
        by.run_graph(&self.rest, &all, |plan, sources, arena| {
            collect_outputs(graph, plan, sources, arena)
        })
        .map(Some)
    }

    /// Returns the number of records of a slice, such that its arrays fit in a cache and
    /// all threads process the same number of slices. Returns `None` if one slice is
    /// enough, or if no plan can be created; a run of the whole graph then reports the
    /// error.
    fn slice_size(&self, by: Runner<'_>, inputs: &[Input<'_>], count: usize) -> Option<usize> {
        let few = count.min(TRIAL_RECORDS);
        let shapes = input_shapes(inputs, few);
        let plan = by.plan(&self.records, &slice(inputs, &shapes, 0)).ok()?;
        let most = SLICE_BYTES / (plan.arena / few.max(1)).max(1);
        let slices = count.div_ceil(most.max(1));
        let slices = slices.next_multiple_of(by.threads.max(1));
        let is_several = 1 < slices && slices <= count;
        is_several.then(|| count.div_ceil(slices))
    }

    /// Allocates the outputs of the first half of the graph for all records.
    fn intermediates(
        &self,
        by: Runner<'_>,
        inputs: &[Input<'_>],
        count: usize,
    ) -> Result<Vec<Intermediate>> {
        let shapes = input_shapes(inputs, 1);
        let plan = by.plan(&self.records, &slice(inputs, &shapes, 0))?;
        let names = self.records.graph.outputs.iter();
        let mut left = by.memory_limit();
        let each = names.zip(&plan.outputs).map(|((name, _), output)| {
            let row = output.layout.count() * output.dtype.size();
            let size = row.checked_mul(count).filter(|&size| size <= left);
            left -= size.unwrap_or(0);
            let mut memory = Memory::default();
            let resized = size.ok_or_else(|| {
                let limit = by.memory_limit();
                format!(
                    "{count} records need more memory than the {limit} bytes that may be used: give \
                     a larger limit (--memory), or export the model with a smaller batch_size"
                )
            });
            resized
                .and_then(|size| memory.resize(size))
                .map_err(Error::full)?;
            let mut shape = output.layout.shape.clone();
            shape.iter_mut().take(1).for_each(|first| *first = count);
            Ok(Intermediate {
                name: name.clone(),
                dtype: output.dtype,
                shape,
                row,
                memory,
            })
        });
        each.collect()
    }

    /// Runs the first half of the graph on all records, slice by slice.
    fn run_slices(
        &self,
        by: Runner<'_>,
        inputs: &[Input<'_>],
        some: usize,
        intermediates: &mut [Intermediate],
    ) -> Result<()> {
        let count = intermediates.first().map_or(0, |array| array.shape[0]);
        let mut slices: Vec<(usize, Vec<&mut [u8]>)> = Vec::new();
        slices.extend((0..count).step_by(some).map(|first| (first, Vec::new())));
        for array in intermediates {
            let size = (array.row * some).max(1);
            let rows = array.memory.bytes_mut().chunks_mut(size);
            slices
                .iter_mut()
                .zip(rows)
                .for_each(|(slice, rows)| slice.1.push(rows));
        }
        let failed = Mutex::new(None);
        run_tasks(slices, by.threads, |(first, outs)| {
            let shapes = input_shapes(inputs, some.min(count - first));
            let inputs = slice(inputs, &shapes, first);
            let done =
                by.single_threaded()
                    .run_graph(&self.records, &inputs, |plan, sources, arena| {
                        copy_outputs(plan, sources, arena, outs)
                    });
            if let Err(error) = done {
                lock_data(&failed).get_or_insert(error);
            }
        });
        lock_data(&failed).take().map_or(Ok(()), Err)
    }
}

/// The maximum size in bytes of the arrays of a slice, which must fit in an L2 cache.
/// When fuzzing, the limit is lower, so that small arrays are split as well.
const SLICE_BYTES: usize = if cfg!(fuzzing) { 64 } else { 3 << 18 };

/// The number of records in the trial plan, from which the bytes per record are
/// estimated.
const TRIAL_RECORDS: usize = 8;

/// An output of the first half of the graph, for all records.
struct Intermediate {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    /// The size of one record in bytes.
    row: usize,
    memory: Memory,
}

impl Intermediate {
    fn input(&self) -> Option<Input<'_>> {
        Some(Input {
            name: &self.name,
            shape: &self.shape,
            data: Elements::from_bytes(self.dtype, self.memory.bytes())?,
        })
    }
}

/// Returns the number of records, or `None` if the number differs between inputs.
fn count_records(inputs: &[Input<'_>]) -> Option<usize> {
    let mut counts = inputs.iter().map(|input| input.shape.first().copied());
    let first = counts.next()??;
    counts.all(|count| count == Some(first)).then_some(first)
}

/// Returns the shapes of inputs of `count` records.
fn input_shapes(inputs: &[Input<'_>], count: usize) -> Vec<Vec<usize>> {
    let shapes = inputs.iter().map(|input| input.shape.to_vec());
    let shapes = shapes.map(|mut shape| {
        shape.iter_mut().take(1).for_each(|first| *first = count);
        shape
    });
    shapes.collect()
}

/// Returns `count` records of each input, starting with record `first`.
fn slice<'a>(inputs: &[Input<'a>], shapes: &'a [Vec<usize>], first: usize) -> Vec<Input<'a>> {
    let each = inputs.iter().zip(shapes).filter_map(|(input, shape)| {
        let mut sizes = shape.iter().skip(1);
        let row = sizes.try_fold(1_usize, |all, &size| all.checked_mul(size))?;
        let data = input
            .data
            .slice(first * row, shape.first()?.checked_mul(row)?)?;
        Some(Input {
            shape,
            data,
            ..*input
        })
    });
    each.collect()
}

/// Copies the results of a slice to the rows of its records in the outputs.
fn copy_outputs(
    plan: &Plan,
    sources: &Sources<'_>,
    arena: &[u8],
    outs: Vec<&mut [u8]>,
) -> Result<()> {
    for (operand, out) in plan.outputs.iter().zip(outs) {
        let start = operand.layout.start * operand.dtype.size();
        let found = sources.memory(operand, arena);
        let found = found.and_then(|bytes| bytes.get(start..)?.get(..out.len()));
        out.copy_from_slice(found.ok_or_else(|| Error::argument("an output has no memory"))?);
    }
    Ok(())
}
