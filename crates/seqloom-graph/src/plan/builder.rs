//! Steps as operations add them, on arrays whose places in memory are not known yet.

use super::elementwise::Elementwise;
use crate::Dtype;
use crate::layout::{Layout, extent};
use crate::memory::{Outcome, Read, Write};

/// An array while a plan is made: which memory it lies in, and how.
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

    /// The same storage with another layout.
    pub(crate) fn with_layout(&self, layout: Layout) -> Self {
        Self {
            layout,
            ..self.clone()
        }
    }
}

/// Where memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// An array of the caller's, by its number.
    Input(usize),
    /// The weights, from this byte on.
    Weight(usize),
    /// A step that depends on weights and sizes alone, and runs once.
    Once,
    /// A step that runs each time.
    Step,
}

/// Some memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storage {
    pub(crate) origin: Origin,
    pub(crate) bytes: usize,
}

/// A computation of a step: reads, writes, and how many threads it may use.
pub(crate) type Kernel = Box<dyn Fn(&[Read<'_>], &mut [Write<'_>], usize) -> Outcome + Send + Sync>;

/// What a step computes.
pub(crate) enum Work {
    Kernel(Kernel),
    /// A program, which may be joined with the programs of its group.
    Elementwise(Elementwise),
}

/// What a step computes, and what it reads and fills.
pub(crate) struct Step<W = Work> {
    pub(crate) reads: Vec<View>,
    pub(crate) writes: Vec<usize>,
    pub(crate) work: W,
    /// The operation that it belongs to.
    pub(crate) operation: usize,
    /// The group of this operation.
    pub(crate) group: Option<usize>,
}

impl<W> Step<W> {
    /// The step with another computation, and the one that it had.
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

    /// The storages that it reads or fills.
    pub(crate) fn storages(&self) -> impl Iterator<Item = usize> {
        let reads = self.reads.iter().map(|view| view.storage);
        reads.chain(self.writes.iter().copied())
    }
}

/// A plan that grows, step by step.
#[derive(Default)]
pub(crate) struct Builder {
    pub(crate) storages: Vec<Storage>,
    pub(crate) steps: Vec<Step>,
    /// The operation whose steps are being added.
    pub(crate) operation: usize,
    pub(crate) group: Option<usize>,
    /// Bytes of all storages together, which bounds what a plan may ask for.
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

    /// Adds a storage, and returns the contiguous array that fills it.
    pub(crate) fn add_storage(
        &mut self,
        origin: Origin,
        dtype: Dtype,
        shape: &[usize],
    ) -> Outcome<View> {
        let bytes = self.bytes(dtype, shape)?;
        self.storages.push(Storage { origin, bytes });
        Ok(View {
            storage: self.storages.len() - 1,
            dtype,
            layout: Layout::new(shape),
        })
    }

    /// An array to be filled, in C order.
    pub(crate) fn allocate(&mut self, dtype: Dtype, shape: &[usize]) -> Outcome<View> {
        self.add_storage(Origin::Step, dtype, shape)
    }

    /// An array to be filled, whose axes lie in this order in memory.
    pub(crate) fn ordered(
        &mut self,
        dtype: Dtype,
        shape: &[usize],
        order: &[usize],
    ) -> Outcome<View> {
        let view = self.allocate(dtype, shape)?;
        Ok(view.with_layout(Layout::ordered(shape, order)))
    }

    /// Bytes of an array; an error where they are more than may be used. An axis of length 0
    /// counts as one of length 1, because kernels reserve memory by the other axes.
    pub(crate) fn bytes(&self, dtype: Dtype, shape: &[usize]) -> Outcome<usize> {
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

    /// Adds a step; it runs once where all that it reads is there before.
    pub(crate) fn step(&mut self, reads: Vec<View>, writes: &[&View], kernel: Kernel) -> Outcome {
        self.add(reads, writes, Work::Kernel(kernel))
    }

    /// Adds a step of any kind.
    pub(crate) fn add(&mut self, reads: Vec<View>, writes: &[&View], work: Work) -> Outcome {
        let is_once = reads.iter().all(|read| self.is_constant(read));
        let writes: Vec<usize> = writes.iter().map(|view| view.storage).collect();
        for &storage in &writes {
            if is_once {
                self.storages[storage].origin = Origin::Once;
            }
            self.total += self.storages[storage].bytes as u128;
        }
        if self.steps.len() >= STEPS || self.total > MANY * self.limit as u128 {
            return Err("the graph is too large for the memory that may be used".to_owned());
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

    /// Whether an array is the same in every run of the plan.
    pub(crate) fn is_constant(&self, view: &View) -> bool {
        !matches!(
            self.storages[view.storage].origin,
            Origin::Input(_) | Origin::Step
        )
    }
}

/// Steps of a plan, at most.
const STEPS: usize = 1 << 20;
/// How many times the memory all steps together may fill.
const MANY: u128 = 1 << 12;
