//! A graph, with one plan for each set of input shapes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use seqloom_core::{Error, Result};

use crate::Input;
use crate::graph::{Dim, Graph, Operation, SizeBindings};
use crate::layout::extent;
use crate::memory::Outcome;
use crate::ops::{self, Call};
use crate::plan::{Builder, Plan, StorageOrigin, View};
use crate::reads::{OperationRole, StateSource, count_uses, find_roles};

/// A graph, and a plan for each set of input shapes used so far.
pub(crate) struct PlannedGraph {
    pub(crate) graph: Graph,
    /// The offset of each weight in memory.
    starts: Vec<usize>,
    /// The number of operations that read each value.
    uses: Vec<usize>,
    roles: Vec<OperationRole>,
    plans: Mutex<HashMap<Vec<Vec<usize>>, Arc<Plan>>>,
}

impl PlannedGraph {
    pub(crate) fn new(graph: Graph, starts: Vec<usize>) -> Self {
        let uses = count_uses(&graph);
        Self {
            roles: find_roles(&graph, &uses),
            uses,
            graph,
            starts,
            plans: Mutex::default(),
        }
    }

    /// Returns true if the names of the inputs are `names`.
    pub(crate) fn has_inputs(&self, inputs: &[Input<'_>]) -> bool {
        let mut wanted = self.graph.inputs.iter();
        wanted.len() == inputs.len()
            && wanted.all(|wanted| inputs.iter().any(|input| input.name == wanted.name))
    }

    /// Checks the inputs and returns them in the order of the graph.
    pub(crate) fn ordered_inputs<'a>(&self, inputs: &[Input<'a>]) -> Outcome<Vec<Input<'a>>> {
        let wanted = &self.graph.inputs;
        let names = || {
            let names: Vec<_> = wanted.iter().map(|input| &input.name).collect();
            format!("the inputs of this model are {names:?}")
        };
        let is_known = |input: &&Input<'_>| wanted.iter().all(|one| one.name != input.name);
        if let Some(input) = inputs.iter().find(is_known) {
            return Err(format!("{:?} is no input: {}", input.name, names()));
        }
        let mut found = Vec::with_capacity(inputs.len());
        for wanted in wanted {
            let name = &wanted.name;
            let mut each = inputs.iter().filter(|input| input.name == name);
            let (Some(input), None) = (each.next(), each.next()) else {
                return Err(format!("expected one array {name:?}: {}", names()));
            };
            let (expected, dtype) = (wanted.declared.dtype, input.data.dtype());
            if dtype != expected {
                return Err(format!("{name}: expected {expected}, got {dtype}"));
            }
            check_element_count(input)?;
            found.push(*input);
        }
        Ok(found)
    }

    /// Returns the plan for inputs of these shapes; creates it if necessary.
    pub(crate) fn plan(
        &self,
        inputs: &[Input<'_>],
        weights: &[u8],
        limit: usize,
    ) -> Result<Arc<Plan>> {
        let key: Vec<Vec<usize>> = inputs.iter().map(|input| input.shape.to_vec()).collect();
        if let Some(plan) = lock_data(&self.plans).get(&key) {
            return Ok(Arc::clone(plan));
        }
        let plan = Arc::new(self.make_plan(&key, weights, limit)?);
        let mut plans = lock_data(&self.plans);
        let held = plans.values().map(|plan| plan.kept.bytes().len());
        let held = held.fold(plan.kept.bytes().len(), usize::saturating_add);
        if plans.len() >= MAX_PLANS || held > limit {
            plans.clear();
        }
        plans.insert(key, Arc::clone(&plan));
        Ok(plan)
    }

    fn make_plan(&self, shapes: &[Vec<usize>], weights: &[u8], limit: usize) -> Result<Plan> {
        let mut builder = Builder::new(limit);
        let mut sizes = SizeBindings::default();
        let mut values: Vec<Option<View>> = vec![None; self.graph.values];
        self.add_inputs_and_weights(&mut builder, shapes, &mut sizes, &mut values)?;
        let mut state = PlanState {
            builder,
            sizes,
            values,
        };
        for (number, role) in self.roles.iter().enumerate() {
            match role {
                OperationRole::ComputedByReader => {}
                OperationRole::Computed => self.add_operation(&mut state, number)?,
                OperationRole::ReadsState(source) => self.add_reader(&mut state, number, source)?,
            }
        }
        let PlanState {
            mut builder,
            values,
            ..
        } = state;
        let outputs = self.graph.outputs.iter();
        let outputs = outputs.filter_map(|(_, value)| values[*value].clone());
        let outputs: Outcome<Vec<View>> = outputs.map(|view| builder.contiguous(&view)).collect();
        let plan = outputs.map_err(|message| (None, message));
        let plan = plan.and_then(|outputs| Plan::new(builder, &outputs, weights, limit));
        plan.map_err(|(operation, message)| match operation {
            Some(operation) => self.operation_error(operation, &message),
            None => Error::full(message),
        })
    }

    /// Adds the steps of operation `number` to the plan.
    fn add_operation(&self, state: &mut PlanState, number: usize) -> Result<()> {
        let operation = &self.graph.operations[number];
        (state.builder.operation, state.builder.group) = (number, operation.group);
        let call = Call::new(operation, &state.values, &state.sizes, &self.uses);
        let made = ops::add_operation(&mut state.builder, &call);
        self.store(state, number, made)
    }

    fn store(&self, state: &mut PlanState, number: usize, made: Outcome<Vec<View>>) -> Result<()> {
        let operation = &self.graph.operations[number];
        let checked = made.and_then(|made| {
            check_outputs(operation, &made, &mut state.sizes)?;
            Ok(made)
        });
        let made = checked.map_err(|message| self.operation_error(number, &message))?;
        for (view, declared) in made.into_iter().zip(&operation.outputs) {
            state.values[declared.value] = Some(view);
        }
        Ok(())
    }

    /// Adds the steps of an operation that reads one state of each sequence. If the
    /// operation reads only some elements of the state, all states are computed.
    fn add_reader(&self, state: &mut PlanState, reader: usize, source: &StateSource) -> Result<()> {
        (state.builder.operation, state.builder.group) = (reader, None);
        let call = |number| {
            Call::new(
                &self.graph.operations[number],
                &state.values,
                &state.sizes,
                &self.uses,
            )
        };
        let layers: Vec<Call<'_>> = source.layers.iter().map(|&number| call(number)).collect();
        let made = ops::read_states(&mut state.builder, &call(reader), &layers);
        if let Some(made) = made.map_err(|message| self.operation_error(reader, &message))? {
            return self.store(state, reader, Ok(vec![made]));
        }
        let all = source.layers.iter().chain(&source.join);
        let mut all = all.chain([&reader]);
        all.try_for_each(|&number| self.add_operation(state, number))
    }

    /// Adds the inputs and weights to the plan.
    fn add_inputs_and_weights(
        &self,
        builder: &mut Builder,
        shapes: &[Vec<usize>],
        sizes: &mut SizeBindings,
        values: &mut [Option<View>],
    ) -> Result<()> {
        for (number, (input, shape)) in self.graph.inputs.iter().zip(shapes).enumerate() {
            let declared = &input.declared;
            let bad = |message: String| Error::argument(format!("{}: {message}", input.name));
            sizes.bind_shape(&declared.shape, shape).map_err(bad)?;
            let ends = shape.first().filter(|_| input.name == "cu_seqlens");
            if let Some(sequences) = ends.and_then(|ends| ends.checked_sub(1)) {
                let name = Dim::Named("sequences".to_owned());
                sizes.bind(&name, sequences).map_err(bad)?;
            }
            let view = builder.add_storage(StorageOrigin::Input(number), declared.dtype, shape);
            values[declared.value] = Some(view.map_err(bad)?);
        }
        for (weight, &start) in self.graph.weights.iter().zip(&self.starts) {
            let shape = weight.fixed_shape();
            let view =
                builder.add_storage(StorageOrigin::Weight(start), weight.declared.dtype, &shape);
            values[weight.declared.value] = Some(view.map_err(Error::full)?);
        }
        Ok(())
    }

    /// Returns an error that names the operation.
    pub(crate) fn operation_error(&self, operation: usize, message: &str) -> Error {
        let place = self
            .graph
            .operations
            .get(operation)
            .map(Operation::location);
        Error::argument(format!("{}: {message}", place.unwrap_or_default()))
    }
}

/// An unfinished plan.
struct PlanState {
    builder: Builder,
    sizes: SizeBindings,
    values: Vec<Option<View>>,
}

/// The maximum number of cached plans.
const MAX_PLANS: usize = 64;

/// Locks a mutex, also after a panic, because the data is always valid.
pub(crate) fn lock_data<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns an error if the number of elements of an input does not match its shape.
fn check_element_count(input: &Input<'_>) -> Outcome {
    let Input { name, shape, data } = input;
    let count = shape
        .iter()
        .try_fold(1_usize, |all, &size| all.checked_mul(size));
    if count == Some(data.len()) {
        return Ok(());
    }
    Err(format!(
        "{name}: {} numbers do not fit the shape {shape:?}",
        data.len()
    ))
}

/// Returns an error if the outputs of an operation do not match their declarations.
fn check_outputs(operation: &Operation, made: &[View], sizes: &mut SizeBindings) -> Outcome {
    let declared = &operation.outputs;
    if made.len() != declared.len() {
        let (expected, found) = (declared.len(), made.len());
        return Err(format!("expected {expected} outputs, got {found}"));
    }
    for (view, declared) in made.iter().zip(declared) {
        if view.dtype != declared.dtype {
            let (expected, found) = (declared.dtype, view.dtype);
            return Err(format!("outputs: declared as {expected}, got {found}"));
        }
        if extent(view.shape()).is_none() {
            return Err(format!("the shape {:?} is too large", view.shape()));
        }
        let bound = sizes.bind_shape(&declared.shape, view.shape());
        bound.map_err(|message| format!("outputs: {message}"))?;
    }
    Ok(())
}
