//! The steps of a plan before memory is assigned to their arrays.

use super::elementwise::Elementwise;
use crate::Dtype;
use crate::layout::{Layout, extent};
use crate::memory::{Outcome, Read, Write};

/// An array in an unfinished plan: its storage and its layout.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) storage: usize,
    pub(crate) dtype: Dtype,
    pub(crate) layout: Layout,
}

impl View {
    pub(crate) fn shape(&self) -> &[usize] {
        &self.layout.shape
    }

    pub(crate) fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// Returns a view of the same storage with another layout.
    pub(crate) fn with_layout(&self, layout: Layout) -> Self {
        Self {
            layout,
            ..self.clone()
        }
    }
}

/// The kind of data that a storage contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StorageOrigin {
    /// An input array of the caller, identified by its index.
    Input(usize),
    /// The memory of the weights, at the given byte offset.
    Weight(usize),
    /// The result of a step that depends only on weights and sizes, and is therefore
    /// run once.
    Once,
    /// The result of a step that is executed in every run.
    Step,
}

/// A block of memory in which one or more arrays are stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storage {
    pub(crate) origin: StorageOrigin,
    pub(crate) bytes: usize,
}

/// A computation: arrays to read, arrays to write, and the number of threads.
pub(crate) type Kernel = Box<dyn Fn(&[Read<'_>], &mut [Write<'_>], usize) -> Outcome + Send + Sync>;

/// The computation of a step.
pub(crate) enum StepWork {
    Kernel(Kernel),
    /// An elementwise program, which may be fused with other programs of its group.
    Elementwise(Elementwise),
}

/// A computation, and the arrays that it reads and writes.
pub(crate) struct Step<W = StepWork> {
    pub(crate) reads: Vec<View>,
    pub(crate) writes: Vec<usize>,
    pub(crate) work: W,
    /// The operation to which the step belongs.
    pub(crate) operation: usize,
    /// The group of elementwise operations to which the step belongs.
    pub(crate) group: Option<usize>,
}

impl<W> Step<W> {
    /// Replaces the computation of the step, and returns the old computation.
    pub(crate) fn replace<V>(self, work: V) -> (Step<V>, W) {
        let step = Step {
            reads: self.reads,
            writes: self.writes,
            work,
            operation: self.operation,
            group: self.group,
        };
        (step, self.work)
    }

    /// Returns the storages that the step reads or writes.
    pub(crate) fn storages(&self) -> impl Iterator<Item = usize> {
        let reads = self.reads.iter().map(|view| view.storage);
        reads.chain(self.writes.iter().copied())
    }
}

/// A plan under construction.
#[derive(Default)]
pub(crate) struct Builder {
    pub(crate) storages: Vec<Storage>,
    pub(crate) steps: Vec<Step>,
    /// The operation to which new steps belong.
    pub(crate) operation: usize,
    pub(crate) group: Option<usize>,
    /// The total size of all storages in bytes, which is compared with the memory
    /// limit.
    total: u128,
    limit: usize,
}

impl Builder {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Adds a storage, and returns a contiguous array for it.
    pub(crate) fn add_storage(
        &mut self,
        origin: StorageOrigin,
        dtype: Dtype,
        shape: &[usize],
    ) -> Outcome<View> {
        let bytes = self.array_bytes(dtype, shape)?;
        self.storages.push(Storage { origin, bytes });
        Ok(View {
            storage: self.storages.len() - 1,
            dtype,
            layout: Layout::new(shape),
        })
    }

    /// Adds an array in C order for the result of a step.
    pub(crate) fn allocate(&mut self, dtype: Dtype, shape: &[usize]) -> Outcome<View> {
        self.add_storage(StorageOrigin::Step, dtype, shape)
    }

    /// Adds an array for the result of a step, with the given axis order in memory.
    pub(crate) fn allocate_in_order(
        &mut self,
        dtype: Dtype,
        shape: &[usize],
        order: &[usize],
    ) -> Outcome<View> {
        let view = self.allocate(dtype, shape)?;
        Ok(view.with_layout(Layout::with_order(shape, order)))
    }

    /// Returns the size of an array in bytes, or an error if the size exceeds the
    /// limit. An axis of length 0 is counted as length 1, because kernels allocate
    /// memory for the other axes.
    pub(crate) fn array_bytes(&self, dtype: Dtype, shape: &[usize]) -> Outcome<usize> {
        let most = extent(shape).and_then(|count| count.checked_mul(dtype.size()));
        let most = most.filter(|&bytes| bytes <= self.limit);
        let is_empty = shape.contains(&0);
        most.map(|bytes| if is_empty { 0 } else { bytes })
            .ok_or_else(|| {
                format!(
                    "an array {shape:?} of {dtype} is larger than the {} bytes that may be used: \
                 give a larger limit (--memory), or export the model with a smaller batch_size",
                    self.limit
                )
            })
    }

    /// Adds a step, which runs only once if its inputs are constant.
    pub(crate) fn add_step(&mut self, reads: Vec<View>, writes: &[&View], work: Kernel) -> Outcome {
        self.push(reads, writes, StepWork::Kernel(work))
    }

    pub(crate) fn push(&mut self, reads: Vec<View>, writes: &[&View], work: StepWork) -> Outcome {
        let is_once = reads.iter().all(|read| self.is_constant(read));
        let writes: Vec<usize> = writes.iter().map(|view| view.storage).collect();
        for &storage in &writes {
            if is_once {
                self.storages[storage].origin = StorageOrigin::Once;
            }
            self.total += self.storages[storage].bytes as u128;
        }
        if self.steps.len() >= MAX_PLAN_STEPS || self.total > MAX_MEMORY_RATIO * self.limit as u128
        {
            return Err("the graph is too large for the memory limit".to_owned());
        }
        self.steps.push(Step {
            reads,
            writes,
            work,
            operation: self.operation,
            group: self.group,
        });
        Ok(())
    }

    /// Returns true if an array is the same in every run of the plan.
    pub(crate) fn is_constant(&self, view: &View) -> bool {
        !matches!(
            self.storages[view.storage].origin,
            StorageOrigin::Input(_) | StorageOrigin::Step
        )
    }
}

/// The maximum number of steps in a plan.
const MAX_PLAN_STEPS: usize = 1 << 20;
/// The maximum ratio of the total size of all storages to the memory limit.
const MAX_MEMORY_RATIO: u128 = 1 << 12;
