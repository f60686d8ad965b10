//! The runtime that executes an exported model.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use seqloom_core::{Error, Result, error::Fault, pool};
use seqloom_kernels::pool::{is_pool_member, run_in_pool};

use crate::graph::Graph;
use crate::memory::{ALIGNMENT, Memory, Outcome};
use crate::plan::{PlacedView, Plan, Sources};
use crate::planned_graph::{PlannedGraph, lock_data};
use crate::slices::Slices;
use crate::tensors::Tensors;
use crate::{Array, Dtype, Export, Input, Limits, Values};

/// A model that can be run on arrays.
///
/// If the export has a graph for batches without padding, that graph is run when the
/// input `mask` is omitted.
///
/// The model makes a plan for each set of input shapes. Constants are computed once,
/// and all other values share one block of memory. Several threads may run a model at
/// the same time.
///
/// # Examples
///
/// ```no_run
/// use seqloom_graph::{Elements, Export, Input, Limits, Model};
///
/// let export = Export::open("splice.seqloom".as_ref())?;
/// let model = Model::new(export, Limits::default())?;
/// let inputs = vec![0.0_f32; 2 * 4 * 60];
/// let input = Input { name: "inputs", shape: &[2, 4, 60], data: Elements::F32(&inputs) };
/// let outputs = model.run(&[input], 1)?;
/// assert_eq!(outputs[0].shape, [2, 3]);
/// # Ok::<(), seqloom_core::Error>(())
/// ```
pub struct Model {
    /// The general graph, and optionally one for batches without padding.
    graphs: Vec<(PlannedGraph, Option<Slices>)>,
    weights: Memory,
    limits: Limits,
    /// Blocks of memory that no run uses at the moment.
    spare: Mutex<Vec<Memory>>,
}

impl Model {
    /// Creates a model from an export, with memory limits.
    ///
    /// # Errors
    ///
    /// Returns an error if the weights are larger than the memory limit.
    pub fn new(export: Export, limits: Limits) -> Result<Self> {
        let (graphs, tensors) = export.into_parts();
        let (weights, starts) = copy_weights(&tensors, limits).map_err(Error::full)?;
        let planned = |graph: Graph| {
            let each = graph.weights.iter();
            let starts = each.map(|weight| starts.get(&weight.name).copied().unwrap_or(0));
            let starts = starts.collect();
            PlannedGraph::new(graph, starts)
        };
        let both = |graph: Graph| {
            let slices = Slices::new(&graph, planned);
            (planned(graph), slices)
        };
        Ok(Self {
            graphs: graphs.into_iter().map(both).collect(),
            weights,
            limits,
            spare: Mutex::default(),
        })
    }

    /// Computes the outputs, in the order of the graph's outputs.
    ///
    /// With one thread, the calling thread does all work, without a thread pool.
    ///
    /// # Errors
    ///
    /// Returns an error if inputs are missing, unknown or of a wrong type or shape.
    /// Also returns an error if an operation fails or the memory limit is exceeded.
    pub fn run(&self, inputs: &[Input<'_>], threads: usize) -> Result<Vec<Array>> {
        self.run_with_poison(inputs, threads, false)
    }

    /// Does the same as [`run`](Self::run). If `is_poisoned`, unused memory is filled with
    /// NaN to detect reads of unused memory in tests.
    pub(crate) fn run_with_poison(
        &self,
        inputs: &[Input<'_>],
        threads: usize,
        is_poisoned: bool,
    ) -> Result<Vec<Array>> {
        let mut graphs = self.graphs.iter();
        let taking = graphs.find(|(planned, _)| planned.has_inputs(inputs));
        let planned = taking.or(self.graphs.first());
        let (planned, slices) = planned.ok_or_else(|| internal_error("no graph".to_owned()))?;
        let inputs = planned.ordered_inputs(inputs).map_err(Error::argument)?;
        let is_joined = threads > 1 && is_pool_member(threads);
        let wanted = if is_joined { 1 } else { threads };
        let by = Runner {
            model: self,
            threads,
            is_poisoned,
        };
        let mut found = Err(Error::argument("nothing was computed"));
        let done = pool::run_on_threads(wanted, || {
            run_in_pool(is_joined, &mut || {
                found = by.compute_outputs(planned, slices.as_ref(), &inputs);
            });
            Ok(())
        });
        done.map_err(internal_error)??;
        found
    }
}

/// One run of a model, or of a part of a model.
#[derive(Clone, Copy)]
pub(crate) struct Runner<'a> {
    model: &'a Model,
    pub(crate) threads: usize,
    is_poisoned: bool,
}

impl Runner<'_> {
    fn compute_outputs(
        self,
        planned: &PlannedGraph,
        slices: Option<&Slices>,
        inputs: &[Input<'_>],
    ) -> Result<Vec<Array>> {
        if let Some(slices) = slices
            && let Some(found) = slices.run(self, inputs)?
        {
            return Ok(found);
        }
        self.run_graph(planned, inputs, |plan, sources, arena| {
            collect_outputs(&planned.graph, plan, sources, arena)
        })
    }

    /// Returns a copy of this run that uses one thread.
    pub(crate) fn single_threaded(self) -> Self {
        Self { threads: 1, ..self }
    }

    /// Returns the number of bytes of memory that may be used in addition to the
    /// weights.
    pub(crate) fn memory_limit(self) -> usize {
        let weights = self.model.weights.bytes().len();
        self.model.limits.memory_bytes.saturating_sub(weights)
    }

    /// Returns the plan of a graph for the shapes of these inputs.
    pub(crate) fn plan(self, planned: &PlannedGraph, inputs: &[Input<'_>]) -> Result<Arc<Plan>> {
        planned.plan(inputs, self.model.weights.bytes(), self.memory_limit())
    }

    /// Runs a graph and passes the outputs of its plan to `take`.
    pub(crate) fn run_graph<R>(
        self,
        planned: &PlannedGraph,
        inputs: &[Input<'_>],
        take: impl FnOnce(&Plan, &Sources<'_>, &[u8]) -> Result<R>,
    ) -> Result<R> {
        let plan = self.plan(planned, inputs)?;
        let mut arena = lock_data(&self.model.spare).pop().unwrap_or_default();
        arena.resize(plan.arena).map_err(Error::full)?;
        if self.is_poisoned {
            arena.bytes_mut().fill(u8::MAX);
        }
        let bytes: Vec<&[u8]> = inputs.iter().map(|input| input.data.bytes()).collect();
        let sources = Sources {
            inputs: &bytes,
            weights: self.model.weights.bytes(),
            kept: plan.kept.bytes(),
        };
        let done = plan.run(&sources, arena.bytes_mut(), self.threads, self.is_poisoned);
        let found = done
            .map_err(|(operation, message)| planned.operation_error(operation, &message))
            .and_then(|()| take(&plan, &sources, arena.bytes()));
        lock_data(&self.model.spare).push(arena);
        found
    }
}

/// Returns the outputs of a graph as arrays.
pub(crate) fn collect_outputs(
    graph: &Graph,
    plan: &Plan,
    sources: &Sources<'_>,
    arena: &[u8],
) -> Result<Vec<Array>> {
    let names = graph.outputs.iter().map(|(name, _)| name);
    let each = names.zip(&plan.outputs);
    each.map(|(name, operand)| {
        let bytes = sources.memory(operand, arena);
        let values = bytes.and_then(|bytes| output_values(operand, bytes));
        let values = values.ok_or_else(|| internal_error(format!("{name} has no place")))?;
        let (name, shape) = (name.clone(), operand.layout.shape.clone());
        Ok(Array {
            name,
            shape,
            values,
        })
    })
    .collect()
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// An error that indicates a bug.
fn internal_error(message: String) -> Error {
    Error::format("graph.json".as_ref(), Fault::of_file(message))
}

/// Copies all weights into one block of memory, each at the start of a cache line.
/// Returns the block, and the offset of each weight by name.
fn copy_weights(tensors: &Tensors, limits: Limits) -> Outcome<(Memory, HashMap<String, usize>)> {
    let mut starts = HashMap::new();
    let mut size = 0;
    for (name, bytes) in tensors.entries() {
        starts.insert(name.to_owned(), size);
        size += bytes.len().next_multiple_of(ALIGNMENT);
    }
    if size > limits.memory_bytes {
        let limit = limits.memory_bytes;
        return Err(format!(
            "the weights have {size} bytes, more than the {limit} that may be used: give a larger \
             limit (--memory)"
        ));
    }
    let mut memory = Memory::default();
    memory.resize(size)?;
    for (name, bytes) in tensors.entries() {
        let start = starts.get(name).copied().unwrap_or(0);
        memory.bytes_mut()[start..start + bytes.len()].copy_from_slice(bytes);
    }
    Ok((memory, starts))
}

/// Returns the elements of an output.
fn output_values(operand: &PlacedView, bytes: &[u8]) -> Option<Values> {
    let (start, size) = (operand.layout.start, operand.dtype.size());
    let count = operand.layout.count();
    let start = if count == 0 { 0 } else { start };
    let bytes = bytes.get(start * size..(start + count) * size)?;
    Some(match operand.dtype {
        Dtype::Float32 => Values::F32(to_vec(bytes)?),
        Dtype::Float64 => Values::F64(to_vec(bytes)?),
        Dtype::Int32 => Values::I32(to_vec(bytes)?),
        Dtype::Int64 => Values::I64(to_vec(bytes)?),
        Dtype::Uint32 => Values::U32(to_vec(bytes)?),
        Dtype::Uint8 => Values::U8(bytes.to_vec()),
        Dtype::Bool => Values::Bool(bytes.iter().map(|&byte| byte != 0).collect()),
    })
}

/// Copies bytes into a vector of elements.
fn to_vec<T: bytemuck::Pod>(bytes: &[u8]) -> Option<Vec<T>> {
    let numbers: &[T] = bytemuck::try_cast_slice(bytes).ok()?;
    Some(numbers.to_vec())
}
