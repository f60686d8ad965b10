//! Memory allocation of a plan: unused steps are removed, and each storage is assigned an
//! offset.

use std::ops::Range;

use super::arena::{StorageNeed, assign_offsets};
use super::builder::{Builder, Kernel, Step, StepWork, Storage, StorageOrigin, View};
use super::elementwise::fuse_groups;
use super::run::Sources;
use crate::{Dtype, layout::Layout, memory::Memory};

/// The memory that contains a storage during a run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Region {
    Input(usize),
    Weights,
    /// The memory for the results of steps that run only once.
    Constants,
    /// The arena: one block of memory that every run reuses.
    Arena,
}

/// An array that a step reads.
#[derive(Clone, Debug)]
pub(crate) struct PlacedView {
    pub(crate) region: Region,
    pub(crate) range: Range<usize>,
    pub(crate) layout: Layout,
    pub(crate) dtype: Dtype,
}

/// A step with memory offsets.
pub(crate) struct PlacedStep {
    pub(crate) reads: Vec<PlacedView>,
    /// The byte ranges in the arena that the step writes, in the order of the kernel's
    /// outputs.
    pub(crate) writes: Vec<Range<usize>>,
    pub(crate) kernel: Kernel,
    pub(crate) operation: usize,
    /// The byte ranges that no later step reads. In a poisoned run, these ranges are filled
    /// with NaN.
    pub(crate) freed: Vec<Range<usize>>,
}

/// A plan: the steps of a graph for inputs of given shapes.
pub(crate) struct Plan {
    pub(crate) steps: Vec<PlacedStep>,
    pub(crate) outputs: Vec<PlacedView>,
    pub(crate) kept: Memory,
    /// The size of the arena in bytes.
    pub(crate) arena: usize,
}

impl Plan {
    /// Allocates all memory, and executes the steps that are independent of the inputs.
    pub(crate) fn new(
        builder: Builder,
        outputs: &[View],
        weights: &[u8],
        limit: usize,
    ) -> Result<Self, (Option<usize>, String)> {
        let Builder {
            storages, steps, ..
        } = builder;
        let steps = remove_unread_steps(steps, outputs, storages.len());
        let (once, each): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(|step| {
            let mut written = step.writes.iter();
            written.any(|&storage| storages[storage].origin == StorageOrigin::Once)
        });
        let each = fuse_groups(each, outputs, storages.len());
        let kept = allocate(&once, &storages, StorageOrigin::Once, None);
        let arena = allocate(&each, &storages, StorageOrigin::Step, Some(outputs));
        let both = kept.zip(arena).ok_or((None, MEMORY_OVERFLOW.to_owned()))?;
        let ((kept_places, kept_size), (places, size)) = both;
        let results = outputs.iter().map(|view| storages[view.storage].bytes);
        let results = results.fold(0, usize::saturating_add);
        check_size([kept_size, size, results], limit).map_err(|message| (None, message))?;
        let mut placer = Placer {
            storages: &storages,
            kept: &kept_places,
            arena: &places,
            is_once: true,
        };
        let once = placer.place_steps(once, &[])?;
        let kept = run_once(&once, kept_size, weights)?;
        placer.is_once = false;
        Ok(Self {
            steps: placer.place_steps(each, outputs)?,
            outputs: outputs.iter().map(|view| placer.view(view)).collect(),
            kept,
            arena: size,
        })
    }
}

/// Returns an error if a plan needs more memory than the limit.
fn check_size(sizes: [usize; 3], limit: usize) -> Result<(), String> {
    let all = sizes.into_iter().fold(0, usize::saturating_add);
    if all <= limit {
        return Ok(());
    }
    let [kept, arena, results] = sizes;
    Err(format!(
        "the model needs {kept} bytes for constants, {arena} for values and {results} for results \
         in addition to its weights, more than the {limit} that may be used: give a larger limit \
         (--memory), or export the model with a smaller batch_size"
    ))
}

/// Returns the memory with the results of the steps that run once.
fn run_once(
    steps: &[PlacedStep],
    size: usize,
    weights: &[u8],
) -> Result<Memory, (Option<usize>, String)> {
    let mut memory = Memory::default();
    memory.resize(size).map_err(|message| (None, message))?;
    let sources = Sources {
        inputs: &[],
        weights,
        kept: &[],
    };
    super::run::run_steps(steps, &sources, memory.bytes_mut(), 1, false)
        .map_err(|(operation, message)| (Some(operation), message))?;
    Ok(memory)
}

const MEMORY_OVERFLOW: &str = "the graph needs more memory than can be addressed";

/// Removes steps whose results are never read.
fn remove_unread_steps(steps: Vec<Step>, outputs: &[View], storages: usize) -> Vec<Step> {
    let mut is_read = vec![false; storages];
    for view in outputs {
        is_read[view.storage] = true;
    }
    let mut kept = Vec::with_capacity(steps.len());
    for step in steps.into_iter().rev() {
        if step.writes.iter().any(|&storage| is_read[storage]) {
            step.reads
                .iter()
                .for_each(|view| is_read[view.storage] = true);
            kept.push(step);
        }
    }
    kept.reverse();
    kept
}

/// Assigns an offset to each storage that steps fill. If `outputs` is given, the memory
/// of a storage is reused after the last step that reads it. Without `outputs`, storages
/// never overlap.
fn allocate(
    steps: &[Step],
    storages: &[Storage],
    origin: StorageOrigin,
    outputs: Option<&[View]>,
) -> Option<(Vec<usize>, usize)> {
    let spans = lifetimes(steps, storages, origin, outputs);
    let numbers: Vec<usize> = (0..storages.len())
        .filter(|&number| spans[number].is_some())
        .collect();
    let needs: Vec<StorageNeed> = numbers
        .iter()
        .filter_map(|&number| {
            let (first, last) = spans[number]?;
            let bytes = storages[number].bytes;
            Some(StorageNeed { bytes, first, last })
        })
        .collect();
    let (found, size) = assign_offsets(&needs)?;
    let mut places = vec![0; storages.len()];
    for (number, start) in numbers.into_iter().zip(found) {
        places[number] = start;
    }
    Some((places, size))
}

/// Returns the first and last step that use each storage with the given origin. If the
/// last step is `usize::MAX`, the storage is used until the end of the run.
fn lifetimes(
    steps: &[Step],
    storages: &[Storage],
    origin: StorageOrigin,
    outputs: Option<&[View]>,
) -> Vec<Option<(usize, usize)>> {
    let mut spans: Vec<Option<(usize, usize)>> = vec![None; storages.len()];
    let mut touch = |storage: usize, step: usize| {
        if storages[storage].origin == origin {
            let (_, last) = spans[storage].get_or_insert((step, step));
            *last = if outputs.is_some() { step } else { usize::MAX };
        }
    };
    for (number, step) in steps.iter().enumerate() {
        step.storages().for_each(|storage| touch(storage, number));
    }
    for view in outputs.unwrap_or_default() {
        touch(view.storage, usize::MAX);
    }
    spans
}

/// Converts a view to a memory region and a layout with offsets.
struct Placer<'a> {
    storages: &'a [Storage],
    kept: &'a [usize],
    arena: &'a [usize],
    /// True while steps that run only once use the arena.
    is_once: bool,
}

impl Placer<'_> {
    fn place_steps(
        &self,
        steps: Vec<Step>,
        outputs: &[View],
    ) -> Result<Vec<PlacedStep>, (Option<usize>, String)> {
        let mut last = vec![0; self.storages.len()];
        for (number, step) in steps.iter().enumerate() {
            step.storages().for_each(|storage| last[storage] = number);
        }
        for view in outputs {
            last[view.storage] = usize::MAX;
        }
        let steps = steps.into_iter().enumerate();
        steps
            .map(|(number, step)| {
                let freed = step
                    .storages()
                    .filter(|&storage| self.is_freed(storage, last[storage] == number));
                let freed = freed.map(|storage| self.storage_range(storage)).collect();
                let kernel = match step.work {
                    StepWork::Kernel(kernel) => kernel,
                    StepWork::Elementwise(program) => {
                        let kernel = program.into_kernel();
                        kernel.map_err(|message| (Some(step.operation), message))?
                    }
                };
                Ok(PlacedStep {
                    reads: step.reads.iter().map(|view| self.view(view)).collect(),
                    writes: step
                        .writes
                        .iter()
                        .map(|&storage| self.storage_range(storage))
                        .collect(),
                    kernel,
                    operation: step.operation,
                    freed,
                })
            })
            .collect()
    }

    fn is_freed(&self, storage: usize, is_last: bool) -> bool {
        is_last && !self.is_once && self.storages[storage].origin == StorageOrigin::Step
    }

    fn view(&self, view: &View) -> PlacedView {
        let region = match self.storages[view.storage].origin {
            StorageOrigin::Input(number) => Region::Input(number),
            StorageOrigin::Weight(_) => Region::Weights,
            StorageOrigin::Once if !self.is_once => Region::Constants,
            StorageOrigin::Once | StorageOrigin::Step => Region::Arena,
        };
        PlacedView {
            region,
            range: self.storage_range(view.storage),
            layout: view.layout.clone(),
            dtype: view.dtype,
        }
    }

    fn storage_range(&self, storage: usize) -> Range<usize> {
        let Storage { origin, bytes } = self.storages[storage];
        let start = match origin {
            StorageOrigin::Input(_) => 0,
            StorageOrigin::Weight(start) => start,
            StorageOrigin::Once => self.kept[storage],
            StorageOrigin::Step => self.arena[storage],
        };
        start..start + bytes
    }
}
