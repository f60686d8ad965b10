//! Finds recurrent layers if the operations that use them read only one state per
//! sequence.
//!
//! If only one state of a recurrent layer is used, later states are not computed. The layer
//! is computed together with the operation that reads the state by an index along the time
//! axis. The reading operation may read the layer directly, or the concatenated states of
//! both directions.

use crate::graph::{Argument, Graph, Operation};

/// The role of an operation in a plan.
#[derive(Clone, Debug, Default)]
pub(crate) enum OperationRole {
    /// The operation is computed separately.
    #[default]
    Computed,
    /// The operation is computed together with the operation that reads its result.
    ComputedByReader,
    /// The operation reads one state of each sequence, and is computed together with the
    /// recurrent layers.
    ReadsState(StateSource),
}

/// The recurrent layers that an operation reads, by their index in the graph, and the
/// operation that concatenates their states.
#[derive(Clone, Debug)]
pub(crate) struct StateSource {
    pub(crate) layers: Vec<usize>,
    pub(crate) join: Option<usize>,
}

/// Returns the number of operations that read each value, plus one for each output of the
/// graph.
pub(crate) fn count_uses(graph: &Graph) -> Vec<usize> {
    let mut uses = vec![0; graph.values];
    let read = graph.operations.iter().flat_map(Operation::values);
    let outputs = graph.outputs.iter().map(|(_, value)| *value);
    read.chain(outputs).for_each(|value| uses[value] += 1);
    uses
}

/// Returns the role of each operation.
pub(crate) fn find_roles(graph: &Graph, uses: &[usize]) -> Vec<OperationRole> {
    let mut makers = vec![None; graph.values];
    for (number, operation) in graph.operations.iter().enumerate() {
        for made in &operation.outputs {
            makers[made.value] = Some(number);
        }
    }
    let finder = StateFinder {
        graph,
        uses,
        makers,
    };
    let mut roles = vec![OperationRole::Computed; graph.operations.len()];
    let readers = graph.operations.iter().enumerate();
    for (number, operation) in readers.filter(|(_, it)| reads_one_index(it)) {
        let Some(source) = finder.find_source(operation) else {
            continue;
        };
        for &layer in source.layers.iter().chain(&source.join) {
            roles[layer] = OperationRole::ComputedByReader;
        }
        roles[number] = OperationRole::ReadsState(source);
    }
    roles
}

/// Returns true if an operation selects one index of the second of three axes.
fn reads_one_index(operation: &Operation) -> bool {
    match operation.name() {
        "take_along_axis" => operation.argument("axis") == Some(&Argument::Int(1)),
        "index" => single_index(operation).is_some(),
        _ => false,
    }
}

/// Returns the index in a key `[:, index]` or `[:, index, :]`.
pub(crate) fn single_index(operation: &Operation) -> Option<i64> {
    let Some(Argument::List(parts)) = operation.argument("key") else {
        return None;
    };
    match &parts[..] {
        [first, Argument::Int(place)] if is_full(first) => Some(*place),
        [first, Argument::Int(place), last] if is_full(first) && keeps_rest(last) => Some(*place),
        _ => None,
    }
}

fn is_full(part: &Argument) -> bool {
    let Argument::Slice(bounds) = part else {
        return false;
    };
    bounds.iter().all(|bound| *bound == Argument::Null)
}

fn keeps_rest(part: &Argument) -> bool {
    is_full(part) || *part == Argument::Ellipsis
}

struct StateFinder<'a> {
    graph: &'a Graph,
    uses: &'a [usize],
    makers: Vec<Option<usize>>,
}

impl StateFinder<'_> {
    fn find_source(&self, reader: &Operation) -> Option<StateSource> {
        let Some(Argument::Value(value)) = reader.argument("x") else {
            return None;
        };
        if let Some(layer) = self.find_layer(*value) {
            return Some(StateSource {
                layers: vec![layer],
                join: None,
            });
        }
        let join = self.graph.operations.get(self.makers[*value]?)?;
        let is_last = matches!(join.argument("axis"), Some(Argument::Int(2 | -1)));
        let (1, "concat", true) = (self.uses[*value], join.name(), is_last) else {
            return None;
        };
        let Some(Argument::List(parts)) = join.argument("arrays") else {
            return None;
        };
        let layers = parts.iter().map(|part| match part {
            Argument::Value(value) => self.find_layer(*value),
            _ => None,
        });
        Some(StateSource {
            layers: layers.collect::<Option<_>>()?,
            join: self.makers[*value],
        })
    }

    /// Returns the recurrent layer that computes a value, if no other operation uses the
    /// outputs of the layer.
    fn find_layer(&self, value: usize) -> Option<usize> {
        let number = self.makers[value]?;
        let layer = self.graph.operations.get(number)?;
        let (states, others) = layer.outputs.split_first()?;
        let is_recurrent = matches!(layer.name(), "lstm" | "gru");
        let is_sole = states.value == value && self.uses[value] == 1;
        let are_unread = others.iter().all(|other| self.uses[other.value] == 0);
        (is_recurrent && is_sole && are_unread).then_some(number)
    }
}
