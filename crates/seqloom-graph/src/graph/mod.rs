//! `graph.json`: operations on numbered values.

mod argument;
mod operation;
mod parse;
pub(crate) mod signature;
mod size;
pub(crate) mod table;

pub use argument::Argument;
pub use operation::Operation;
pub(crate) use parse::RANK;
pub(crate) use size::SizeBindings;
pub use size::{Dim, Size};

use crate::Dtype;

/// The operations of a model, checked: each reads values that are there before it.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) inputs: Vec<NamedValue>,
    pub(crate) weights: Vec<NamedValue>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) outputs: Vec<(String, usize)>,
    /// How many values there are; they are numbered from 0.
    pub(crate) values: usize,
}

/// A value with its type and shape, as the graph declares it.
#[derive(Clone, Debug)]
pub struct ValueInfo {
    /// Its number.
    pub value: usize,
    /// The type of its elements.
    pub dtype: Dtype,
    /// The sizes of its axes.
    pub shape: Vec<Dim>,
}

/// An input or a weight.
#[derive(Clone, Debug)]
pub struct NamedValue {
    /// Its name.
    pub name: String,
    /// What it is.
    pub declared: ValueInfo,
}

impl Graph {
    /// What is given to the model.
    pub fn inputs(&self) -> &[NamedValue] {
        &self.inputs
    }

    /// What the model has learned.
    pub fn weights(&self) -> &[NamedValue] {
        &self.weights
    }

    /// What is computed, in order.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The names of what comes out.
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|(name, _)| name.as_str())
    }

    /// The declared type and shape of an output.
    pub fn output(&self, name: &str) -> Option<&ValueInfo> {
        let (_, value) = self.outputs.iter().find(|(known, _)| known == name)?;
        let made = self.operations.iter().flat_map(Operation::outputs);
        let named = self.inputs.iter().chain(&self.weights);
        let mut all = named.map(|named| &named.declared).chain(made);
        all.find(|declared| declared.value == *value)
    }
}

impl NamedValue {
    /// The shape, of which all sizes are numbers; a size that has a name counts as 0.
    pub(crate) fn fixed_shape(&self) -> Vec<usize> {
        let sizes = self.declared.shape.iter().map(|dim| match dim {
            Dim::Fixed(size) => *size,
            Dim::Named(_) => 0,
        });
        sizes.collect()
    }
}
