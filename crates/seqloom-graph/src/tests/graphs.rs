//! Test helpers that build graphs and run them.

use serde_json::{Value, json};

use super::ExportFixture;
use crate::{Array, Elements, Input, Limits, Model};

/// A graph under construction.
#[derive(Clone, Debug)]
pub(crate) struct GraphBuilder {
    inputs: Vec<Value>,
    operations: Vec<Value>,
    outputs: Vec<Value>,
    next: u64,
}

impl GraphBuilder {
    /// Creates a graph with `float32` inputs, which are numbered from 0.
    pub(crate) fn new(inputs: &[Value]) -> Self {
        let mut made = Self {
            inputs: Vec::new(),
            operations: Vec::new(),
            outputs: Vec::new(),
            next: 0,
        };
        for shape in inputs {
            let number = made.next;
            made.inputs.push(json!({
                "name": format!("in{number}"), "value": number, "dtype": "float32", "shape": shape,
            }));
            made.next += 1;
        }
        made
    }

    /// Adds an operation; `outputs` lists the types and shapes of its results. Returns
    /// the number of the first output.
    pub(crate) fn add(&mut self, name: &str, args: &Value, outputs: &[(&str, Value)]) -> u64 {
        let first = self.next;
        let declared: Vec<Value> = outputs
            .iter()
            .map(|(dtype, shape)| {
                self.next += 1;
                json!({"value": self.next - 1, "dtype": dtype, "shape": shape})
            })
            .collect();
        self.operations.push(json!({
            "name": name, "args": args, "options": {}, "outputs": declared, "line": "net.py:1",
        }));
        first
    }

    /// Sets an option of the last operation.
    pub(crate) fn option(&mut self, name: &str, value: Value) {
        if let Some(last) = self.operations.last_mut() {
            last["options"][name] = value;
        }
    }

    /// Declares a value as an output of the graph.
    pub(crate) fn mark_output(&mut self, value: u64) {
        let name = format!("out{}", self.outputs.len());
        self.outputs.push(json!({"name": name, "value": value}));
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "version": 1, "inputs": self.inputs, "weights": [], "operations": self.operations,
            "outputs": self.outputs,
        })
    }
}

/// Returns the outputs of a graph.
pub(crate) fn run_graph(
    graph: &Value,
    inputs: &[(&[usize], Vec<f32>)],
) -> Result<Vec<Array>, String> {
    run_with_poison(graph, inputs, false)
}

/// Does the same as [`run_graph`], but fills unused memory with NaN.
pub(crate) fn run_poisoned(
    graph: &Value,
    inputs: &[(&[usize], Vec<f32>)],
) -> Result<Vec<Array>, String> {
    run_with_poison(graph, inputs, true)
}

fn run_with_poison(
    graph: &Value,
    inputs: &[(&[usize], Vec<f32>)],
    is_poisoned: bool,
) -> Result<Vec<Array>, String> {
    let export = ExportFixture::new(graph, &[]).open()?;
    let names: Vec<String> = (0..inputs.len())
        .map(|number| format!("in{number}"))
        .collect();
    let given: Vec<Input<'_>> = inputs
        .iter()
        .zip(&names)
        .map(|((shape, numbers), name)| Input {
            name,
            shape,
            data: Elements::F32(numbers),
        })
        .collect();
    let limits = Limits {
        memory_bytes: 1 << 22,
    };
    let model = Model::new(export, limits).map_err(|error| error.to_string())?;
    let found = model.run_with_poison(&given, 1, is_poisoned);
    found.map_err(|error| format!("{error:?}"))
}
