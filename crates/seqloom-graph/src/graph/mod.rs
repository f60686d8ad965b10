//! `graph.json`: a list of operations on numbered values.

mod argument;
mod operation;
mod parse;
pub(crate) mod signature;
mod size;
pub(crate) mod table;

pub use argument::Argument;
pub use operation::Operation;
pub(crate) use parse::MAX_RANK;
pub(crate) use size::SizeBindings;
pub use size::{Dim, Size};

use crate::Dtype;

/// The checked operations of a model. Each operation reads values that earlier
/// operations computed.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) inputs: Vec<NamedValue>,
    pub(crate) weights: Vec<NamedValue>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) outputs: Vec<(String, usize)>,
    /// The number of values.
    pub(crate) values: usize,
}

/// A value of the graph, with its declared type and shape.
#[derive(Clone, Debug)]
pub struct ValueInfo {
    /// The index of the value.
    pub value: usize,
    /// The element type.
    pub dtype: Dtype,
    /// The sizes of the axes.
    pub shape: Vec<Dim>,
}

/// An input or a weight of the graph.
#[derive(Clone, Debug)]
pub struct NamedValue {
    /// The name.
    pub name: String,
    /// The value with its type and shape.
    pub declared: ValueInfo,
}

impl Graph {
    /// Returns the inputs.
    pub fn inputs(&self) -> &[NamedValue] {
        &self.inputs
    }

    /// Returns the weights.
    pub fn weights(&self) -> &[NamedValue] {
        &self.weights
    }

    /// Returns the operations in order.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Returns the names of the outputs.
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the declared type and shape of an output.
    pub fn output(&self, name: &str) -> Option<&ValueInfo> {
        let (_, value) = self.outputs.iter().find(|(known, _)| known == name)?;
        let made = self.operations.iter().flat_map(Operation::outputs);
        let named = self.inputs.iter().chain(&self.weights);
        let mut all = named.map(|named| &named.declared).chain(made);
        all.find(|declared| declared.value == *value)
    }
}

impl NamedValue {
    /// Returns the shape, with 0 for named sizes.
    pub(crate) fn fixed_shape(&self) -> Vec<usize> {
        let sizes = self.declared.shape.iter().map(|dim| match dim {
            Dim::Fixed(size) => *size,
            Dim::Named(_) => 0,
        });
        sizes.collect()
    }
}
