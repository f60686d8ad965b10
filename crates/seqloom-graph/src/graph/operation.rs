//! One operation of a graph.

use super::{Argument, ValueInfo, signature::Signature};

/// One operation of the graph: a call of a function, with arguments in the order of its
/// signature.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The index of the operation in the graph.
    pub(crate) number: usize,
    pub(crate) signature: Signature,
    /// The argument for each parameter of the signature, or `None` if the argument is
    /// missing.
    pub(crate) arguments: Vec<Option<Argument>>,
    pub(crate) outputs: Vec<ValueInfo>,
    pub(crate) line: String,
    /// The group of elementwise operations that the operation belongs to.
    pub(crate) group: Option<usize>,
}

impl Operation {
    /// Returns the name of the function that the operation calls.
    pub fn name(&self) -> &'static str {
        self.signature.name
    }

    /// Returns the source line of the call.
    pub fn source_line(&self) -> &str {
        &self.line
    }

    /// Returns the outputs.
    pub fn outputs(&self) -> &[ValueInfo] {
        &self.outputs
    }

    /// Returns the argument with this name, or `None` if it is missing or null.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        let names = self.signature.arguments.iter();
        let mut pairs = names.zip(&self.arguments);
        let (_, argument) = pairs.find(|(known, _)| **known == name)?;
        argument
            .as_ref()
            .filter(|argument| **argument != Argument::Null)
    }

    /// Returns the values that the operation reads; a value that is read twice is repeated.
    pub fn values(&self) -> Vec<usize> {
        let arguments = self.arguments.iter().flatten();
        arguments.flat_map(Argument::values).collect()
    }

    /// Returns a description such as "operation 3, conv1d (model.py:12)".
    pub(crate) fn location(&self) -> String {
        location(self.number, self.name(), &self.line)
    }
}

/// Returns an error message that starts with the operation at which the error occurred.
pub(super) fn location(number: usize, name: &str, line: &str) -> String {
    if line.is_empty() {
        format!("operation {number}, {name}")
    } else {
        format!("operation {number}, {name} ({line})")
    }
}
