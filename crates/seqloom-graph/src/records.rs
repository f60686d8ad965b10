//! Finds the operations of a graph that process each record independently.
//!
//! If a convolutional network processes many records together, its arrays are larger than
//! the cache. If the network processes a few records at a time, the input of each operation
//! is still in the cache. The results are equal, because the operations in this part of
//! the graph never combine records.

use crate::graph::signature::OperationKind;
use crate::graph::{Argument, Dim, Graph, NamedValue, Operation, ValueInfo};

/// Splits a graph in two: the operations that process each record independently, and the
/// remaining operations. Returns `None` if splitting would not save time, or if the inputs
/// are not batches of records.
pub(crate) fn split_graph(graph: &Graph) -> Option<(Graph, Graph)> {
    let inputs = graph.inputs.iter().map(|input| &input.declared);
    let kinds = ValueKinds::new(graph).filter(|_| inputs.into_iter().all(is_batch))?;
    let (first, rest): (Vec<_>, Vec<_>) = graph
        .operations
        .iter()
        .cloned()
        .partition(|operation| kinds.is_record(operation));
    let pays = first.iter().any(|it| CONVOLUTIONS.contains(&it.name()));
    // Values that are the same for all records are computed in both halves of the
    // graph.
    let fixed = rest.iter().filter(|it| kinds.is_fixed(it)).cloned();
    let fixed: Vec<_> = fixed.collect();
    let boundary = boundary_values(&first, &rest, graph);
    let inputs = boundary.iter().map(|declared| NamedValue {
        name: format!("value {}", declared.value),
        declared: declared.clone(),
    });
    let outputs = inputs.clone().map(|it| (it.name, it.declared.value));
    let records = Graph {
        operations: in_graph_order(fixed, first),
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

/// Sorts operations in the order of the graph.
fn in_graph_order(mut some: Vec<Operation>, others: Vec<Operation>) -> Vec<Operation> {
    some.extend(others);
    some.sort_by_key(|operation| operation.number);
    some
}

/// Returns true if the length of the first axis of an array, and of no other axis, is the
/// number of records.
fn is_batch(declared: &ValueInfo) -> bool {
    let mut axes = declared.shape.iter().map(is_record_count);
    axes.next() == Some(true) && !axes.any(|is_records| is_records)
}

fn is_record_count(dim: &Dim) -> bool {
    matches!(dim, Dim::Named(name) if name == "batch")
}

/// The dependence of a value on the records of a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    /// The value is the same for all records.
    Fixed,
    /// The value has one row per record, and each row depends on that record only.
    Record,
    Other,
}

/// The axes of each value of a graph, and whether the value depends on records.
struct ValueKinds<'a> {
    kinds: Vec<ValueKind>,
    declared: Vec<Option<&'a ValueInfo>>,
}

impl<'a> ValueKinds<'a> {
    fn new(graph: &'a Graph) -> Option<Self> {
        let mut found = Self {
            kinds: vec![ValueKind::Other; graph.values],
            declared: vec![None; graph.values],
        };
        for input in &graph.inputs {
            found.set_kind(&input.declared, ValueKind::Record)?;
        }
        for weight in &graph.weights {
            found.set_kind(&weight.declared, ValueKind::Fixed)?;
        }
        for operation in &graph.operations {
            let kind = found.output_kind(operation);
            for made in &operation.outputs {
                found.set_kind(made, kind)?;
            }
        }
        Some(found)
    }

    fn set_kind(&mut self, declared: &'a ValueInfo, kind: ValueKind) -> Option<()> {
        *self.kinds.get_mut(declared.value)? = kind;
        *self.declared.get_mut(declared.value)? = Some(declared);
        Some(())
    }

    fn output_kind(&self, operation: &Operation) -> ValueKind {
        let values = operation.values();
        let mut kinds = values.iter().map(|&value| self.kinds[value]);
        let is_shaped = operation.name() == "reshape";
        if !is_shaped && operation.arguments.iter().flatten().any(counts_records) {
            ValueKind::Other
        } else if kinds.all(|kind| kind == ValueKind::Fixed) {
            ValueKind::Fixed
        } else if self.is_independent_by_record(operation, &values) {
            ValueKind::Record
        } else {
            ValueKind::Other
        }
    }

    /// Returns true if each row of the outputs depends only on the same row of the
    /// inputs.
    fn is_independent_by_record(&self, operation: &Operation, values: &[usize]) -> bool {
        let reads_one = || {
            values[1..]
                .iter()
                .all(|&it| self.kinds[it] == ValueKind::Fixed)
        };
        let mut read = values.iter();
        let is_known = match operation.signature.kind {
            OperationKind::Float => read.all(|&value| self.follows_records(value, operation)),
            OperationKind::Row => reads_one(),
            OperationKind::Bool | OperationKind::Other => false,
        };
        let are_known = values
            .iter()
            .all(|&value| self.kinds[value] != ValueKind::Other);
        is_known && are_known && operation.outputs.iter().all(is_batch)
    }

    /// Returns true if a value has one row per record, like the result, or is broadcast to
    /// all records.
    fn follows_records(&self, value: usize, operation: &Operation) -> bool {
        let rank = operation.outputs.first().map_or(0, |made| made.shape.len());
        self.declared[value].is_some_and(|declared| match self.kinds[value] {
            ValueKind::Record => declared.shape.len() == rank,
            _ => declared.shape.len() < rank || declared.shape.first() == Some(&Dim::Fixed(1)),
        })
    }

    fn is_record(&self, operation: &Operation) -> bool {
        self.set_outputs(operation, ValueKind::Record)
    }

    fn is_fixed(&self, operation: &Operation) -> bool {
        self.set_outputs(operation, ValueKind::Fixed)
    }

    fn set_outputs(&self, operation: &Operation, kind: ValueKind) -> bool {
        let mut made = operation.outputs.iter();
        made.all(|made| self.kinds[made.value] == kind)
    }
}

/// Returns the values that the first half of the graph computes and that the second half or
/// the caller reads.
fn boundary_values(first: &[Operation], rest: &[Operation], graph: &Graph) -> Vec<ValueInfo> {
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

/// Returns true if an argument depends on the number of records.
fn counts_records(argument: &Argument) -> bool {
    match argument {
        Argument::Size(size) => size.factors.iter().any(is_record_count),
        Argument::Slice(parts) => parts.iter().any(counts_records),
        Argument::List(parts) => parts.iter().any(counts_records),
        _ => false,
    }
}

/// Operations that make splitting worthwhile: a graph without any of them is not split.
const CONVOLUTIONS: [&str; 2] = ["conv1d", "conv2d"];
