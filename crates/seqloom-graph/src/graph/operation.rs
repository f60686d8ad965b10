//! One operation.

use super::signature::Signature;
use super::{Argument, ValueInfo};

/// One call of a function, with its arguments in the order of their names.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its position in the graph.
    pub(crate) number: usize,
    pub(crate) signature: Signature,
    /// An argument for each name of the signature, where it is given.
    pub(crate) arguments: Vec<Option<Argument>>,
    pub(crate) outputs: Vec<ValueInfo>,
    pub(crate) line: String,
    /// The group of elementwise operations that it is computed with.
    pub(crate) group: Option<usize>,
}

impl Operation {
    /// The function's name.
    pub fn name(&self) -> &'static str {
        self.signature.name
    }

    /// The line of the program that called it.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// What it makes.
    pub fn outputs(&self) -> &[ValueInfo] {
        &self.outputs
    }

    /// The argument of that name, where it is given and not null.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        let names = self.signature.arguments.iter();
        let mut pairs = names.zip(&self.arguments);
        let (_, argument) = pairs.find(|(known, _)| **known == name)?;
        argument
            .as_ref()
            .filter(|argument| **argument != Argument::Null)
    }

    /// The values that it reads, each as often as it does.
    pub fn values(&self) -> Vec<usize> {
        let arguments = self.arguments.iter().flatten();
        arguments.flat_map(Argument::values).collect()
    }

    /// "operation 3, conv1d (model.py:12)".
    pub(crate) fn place(&self) -> String {
        place(self.number, self.name(), &self.line)
    }
}

/// Where in the graph something is wrong.
pub(super) fn place(number: usize, name: &str, line: &str) -> String {
    if line.is_empty() {
        format!("operation {number}, {name}")
    } else {
        format!("operation {number}, {name} ({line})")
    }
}
