//! The operations of a graph that treat each record by itself.
//!
//! A convolutional network that computes many records together fills arrays that no cache holds.
//! Where it computes a few records at a time, each operation finds its input in the cache. The
//! numbers are the same, because none of these operations looks at another record.

use crate::graph::signature::OperationKind;
use crate::graph::{Argument, Dim, Graph, NamedValue, Operation, ValueInfo};

/// Cuts a graph in two: the operations that treat each record by itself, and those that read
/// what they make. None where that does not pay, or the inputs are no batches of records.
pub(crate) fn cut(graph: &Graph) -> Option<(Graph, Graph)> {
    let inputs = graph.inputs.iter().map(|input| &input.declared);
    let kinds = ValueKinds::of(graph).filter(|_| inputs.into_iter().all(is_batch))?;
    let (first, rest): (Vec<_>, Vec<_>) = graph
        .operations
        .iter()
        .cloned()
        .partition(|operation| kinds.is_record(operation));
    let pays = first.iter().any(|it| PAYING.contains(&it.name()));
    // Both parts make for themselves what is the same for any records.
    let fixed = rest.iter().filter(|it| kinds.is_fixed(it)).cloned();
    let fixed: Vec<_> = fixed.collect();
    let boundary = boundary(&first, &rest, graph);
    let inputs = boundary.iter().map(|declared| NamedValue {
        name: format!("value {}", declared.value),
        declared: declared.clone(),
    });
    let outputs = inputs.clone().map(|it| (it.name, it.declared.value));
    let records = Graph {
        operations: in_order(fixed, first),
        outputs: outputs.collect(),
        ..graph.clone()
    };
    let rest = Graph {
        inputs: graph.inputs.iter().cloned().chain(inputs).collect(),
        operations: rest,
        ..graph.clone()
    };
    pays.then_some((records, rest))
}

/// Operations as they stood in the graph.
fn in_order(mut some: Vec<Operation>, others: Vec<Operation>) -> Vec<Operation> {
    some.extend(others);
    some.sort_by_key(|operation| operation.number);
    some
}

/// Whether an array has a position for each record along its first axis, and there alone.
fn is_batch(declared: &ValueInfo) -> bool {
    let mut axes = declared.shape.iter().map(is_records);
    axes.next() == Some(true) && !axes.any(|is_records| is_records)
}

fn is_records(dim: &Dim) -> bool {
    matches!(dim, Dim::Named(name) if name == "batch")
}

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    /// The same for any records.
    Fixed,
    /// A row for each record, of that record alone.
    Record,
    Other,
}

/// What each value of a graph is, with its axes.
struct ValueKinds<'a> {
    kinds: Vec<ValueKind>,
    declared: Vec<Option<&'a ValueInfo>>,
}

impl<'a> ValueKinds<'a> {
    fn of(graph: &'a Graph) -> Option<Self> {
        let mut found = Self {
            kinds: vec![ValueKind::Other; graph.values],
            declared: vec![None; graph.values],
        };
        for input in &graph.inputs {
            found.set(&input.declared, ValueKind::Record)?;
        }
        for weight in &graph.weights {
            found.set(&weight.declared, ValueKind::Fixed)?;
        }
        for operation in &graph.operations {
            let kind = found.kind_of(operation);
            for made in &operation.outputs {
                found.set(made, kind)?;
            }
        }
        Some(found)
    }

    fn set(&mut self, declared: &'a ValueInfo, kind: ValueKind) -> Option<()> {
        *self.kinds.get_mut(declared.value)? = kind;
        *self.declared.get_mut(declared.value)? = Some(declared);
        Some(())
    }

    fn kind_of(&self, operation: &Operation) -> ValueKind {
        let values = operation.values();
        let mut kinds = values.iter().map(|&value| self.kinds[value]);
        let is_shaped = operation.name() == "reshape";
        if !is_shaped && operation.arguments.iter().flatten().any(counts_records) {
            ValueKind::Other
        } else if kinds.all(|kind| kind == ValueKind::Fixed) {
            ValueKind::Fixed
        } else if self.treats_each(operation, &values) {
            ValueKind::Record
        } else {
            ValueKind::Other
        }
    }

    /// Whether each row of what an operation makes comes from the same row of what it reads.
    fn treats_each(&self, operation: &Operation, values: &[usize]) -> bool {
        let reads_one = || {
            values[1..]
                .iter()
                .all(|&it| self.kinds[it] == ValueKind::Fixed)
        };
        let mut read = values.iter();
        let is_known = match operation.signature.kind {
            OperationKind::Float => read.all(|&value| self.lies_along(value, operation)),
            OperationKind::Row => reads_one(),
            OperationKind::Bool | OperationKind::Other => false,
        };
        let are_known = values
            .iter()
            .all(|&value| self.kinds[value] != ValueKind::Other);
        is_known && are_known && operation.outputs.iter().all(is_batch)
    }

    /// Whether a value has a row for each record, as the result has, or broadcasts to all records.
    fn lies_along(&self, value: usize, operation: &Operation) -> bool {
        let rank = operation.outputs.first().map_or(0, |made| made.shape.len());
        self.declared[value].is_some_and(|declared| match self.kinds[value] {
            ValueKind::Record => declared.shape.len() == rank,
            _ => declared.shape.len() < rank || declared.shape.first() == Some(&Dim::Fixed(1)),
        })
    }

    fn is_record(&self, operation: &Operation) -> bool {
        self.made_as(operation, ValueKind::Record)
    }

    fn is_fixed(&self, operation: &Operation) -> bool {
        self.made_as(operation, ValueKind::Fixed)
    }

    fn made_as(&self, operation: &Operation, kind: ValueKind) -> bool {
        let mut made = operation.outputs.iter();
        made.all(|made| self.kinds[made.value] == kind)
    }
}

/// What the first operations make and the others, or whoever asked, read.
fn boundary(first: &[Operation], rest: &[Operation], graph: &Graph) -> Vec<ValueInfo> {
    let asked = graph.outputs.iter().map(|(_, value)| *value);
    let read: Vec<usize> = rest
        .iter()
        .flat_map(Operation::values)
        .chain(asked)
        .collect();
    let made = first.iter().flat_map(|operation| &operation.outputs);
    let made = made.filter(|made| read.contains(&made.value));
    made.cloned().collect()
}

/// Whether an argument depends on how many records there are.
fn counts_records(argument: &Argument) -> bool {
    match argument {
        Argument::Size(size) => size.factors.iter().any(is_records),
        Argument::Slice(parts) => parts.iter().any(counts_records),
        Argument::List(parts) => parts.iter().any(counts_records),
        _ => false,
    }
}

/// Operations of which one at least makes a cut pay.
const PAYING: [&str; 2] = ["conv1d", "conv2d"];
