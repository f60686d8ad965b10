//! Parsing of `graph.json`, with a check that every value is defined before its use.

use std::collections::HashMap;

use serde_json::{Map, Number, Value};

use super::argument::parse_dim;
use super::operation::location;
use super::signature::{self, Signature};
use super::{Argument, Dim, Graph, NamedValue, Operation, ValueInfo};
use crate::{Dtype, FORMAT_VERSION, tensors::Tensors};

impl Graph {
    /// Parses a graph and compares it with its weights. Errors are returned as
    /// messages.
    pub(crate) fn parse(text: &[u8], weights: &Tensors) -> Result<Self, String> {
        let json: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let json = json.as_object().ok_or("expected an object")?;
        let version = json.get("version").unwrap_or(&Value::Null);
        if !(1..=FORMAT_VERSION).contains(&version.as_u64().unwrap_or(0)) {
            return Err(format!(
                "version: expected 1 to {FORMAT_VERSION}, found {version}; a newer version needs a newer seqloom-run"
            ));
        }
        let mut reader = GraphReader::default();
        let inputs = reader.parse(json, "inputs")?;
        let declared = reader.parse(json, "weights")?;
        declared
            .iter()
            .try_for_each(|weight| check_weight(weight, weights))?;
        let operations = list_entry(json, "operations")?.iter().enumerate();
        let operations = operations.map(|(number, json)| reader.parse_operation(number, json));
        let mut operations = operations.collect::<Result<Vec<_>, _>>()?;
        mark_groups(json, &mut operations)?;
        let outputs = list_entry(json, "outputs")?.iter();
        let outputs: Vec<_> = outputs
            .map(|json| reader.parse_output(json))
            .collect::<Result<_, _>>()?;
        if outputs.is_empty() || !are_distinct(outputs.iter().map(|(name, _)| name)) {
            return Err("outputs: expected at least one, each with a different name".to_owned());
        }
        Ok(Self {
            inputs,
            weights: declared,
            operations,
            outputs,
            values: reader.known.len(),
        })
    }
}

/// The values defined so far: a map from their number in the file to their index.
#[derive(Default)]
struct GraphReader {
    known: HashMap<u64, usize>,
}

impl GraphReader {
    /// Parses the inputs or the weights.
    fn parse(&mut self, json: &Map<String, Value>, key: &str) -> Result<Vec<NamedValue>, String> {
        let mut found = Vec::new();
        for (number, json) in list_entry(json, key)?.iter().enumerate() {
            let place = format!("{key}: {number}");
            let name = string(json, "name").ok_or_else(|| format!("{place}: expected a name"))?;
            let declared = self.define_value(json);
            let declared = declared.map_err(|message| format!("{place}, {name}: {message}"))?;
            found.push(NamedValue { name, declared });
        }
        // Two constants of the graph may use the same array of the weights.
        if key == "inputs" && !are_distinct(found.iter().map(|named| &named.name)) {
            return Err(format!("{key}: two entries have the same name"));
        }
        Ok(found)
    }

    /// Parses a value with its type and shape, and defines it.
    fn define_value(&mut self, json: &Value) -> Result<ValueInfo, String> {
        let number = json.get("value").and_then(Value::as_u64);
        let number = number.ok_or("value: expected a number from 0")?;
        let dtype = string(json, "dtype").unwrap_or_default();
        let dtype = Dtype::from_name(&dtype).ok_or_else(|| {
            let names = Dtype::ALL.map(Dtype::name).join(", ");
            format!("dtype: expected one of {names}, found {dtype:?}")
        })?;
        let shape = json.get("shape").and_then(Value::as_array);
        let dims = shape.and_then(|dims| dims.iter().map(parse_dim).collect::<Option<Vec<Dim>>>());
        let shape = dims.ok_or("shape: expected a list of names or numbers from 0")?;
        if shape.len() > MAX_RANK {
            return Err(format!(
                "shape: expected at most {MAX_RANK} axes, found {}",
                shape.len()
            ));
        }
        let value = self.known.len();
        if self.known.insert(number, value).is_some() {
            return Err(format!("value {number} is defined twice"));
        }
        Ok(ValueInfo {
            value,
            dtype,
            shape,
        })
    }

    fn parse_operation(&mut self, number: usize, json: &Value) -> Result<Operation, String> {
        let name = string(json, "name").ok_or_else(|| format!("operation {number} has no name"))?;
        let line = string(json, "line").unwrap_or_default();
        let here = |message: String| format!("{}: {message}", location(number, &name, &line));
        let signature = signature::find_signature(&name).ok_or_else(|| {
            let message = "this version of seqloom-run does not support the operation; use a newer \
                           one, or another operation";
            here(message.to_owned())
        })?;
        let arguments = self.parse_arguments(signature, json).map_err(here)?;
        let outputs = self.parse_outputs(signature, json).map_err(here)?;
        Ok(Operation {
            number,
            signature,
            arguments,
            outputs,
            line,
            group: None,
        })
    }

    /// Parses the arguments in the order of the signature: positional ones, then named
    /// ones.
    fn parse_arguments(
        &self,
        signature: Signature,
        json: &Value,
    ) -> Result<Vec<Option<Argument>>, String> {
        let (names, none) = (signature.arguments, Vec::new());
        let args = json.get("args").map_or(Some(&none), Value::as_array);
        let args = args.ok_or("args: expected a list")?;
        if args.len() > names.len() {
            let (most, found) = (names.len(), args.len());
            return Err(format!("expected at most {most} arguments, found {found}"));
        }
        let mut found: Vec<Option<Argument>> = Vec::with_capacity(names.len());
        for (json, name) in args.iter().zip(names) {
            found.push(Some(self.parse_argument(name, json)?));
        }
        found.resize(names.len(), None);
        let empty = Map::new();
        let options = json.get("options").map_or(Some(&empty), Value::as_object);
        for (name, json) in options.ok_or("options: expected an object")? {
            let slot = names.iter().position(|known| known == name);
            let slot = slot.and_then(|at| found.get_mut(at));
            let slot = slot.ok_or_else(|| {
                format!("{name}: this version of seqloom-run does not support the option")
            })?;
            if slot.replace(self.parse_argument(name, json)?).is_some() {
                return Err(format!("{name} is given twice"));
            }
        }
        let needed = names.iter().zip(&found).take(signature.needed);
        match needed.into_iter().find(|(_, argument)| argument.is_none()) {
            Some((name, _)) => Err(format!("{name} is missing")),
            None => Ok(found),
        }
    }

    fn parse_argument(&self, name: &str, json: &Value) -> Result<Argument, String> {
        let found = Argument::parse(json, &|number| self.find_value(number));
        found.map_err(|message| format!("{name}: {message}"))
    }

    /// Returns the index of a value, or an error if no earlier operation defines the value.
    fn find_value(&self, number: u64) -> Result<usize, String> {
        let message = || format!("value {number} is used before it is defined");
        self.known.get(&number).copied().ok_or_else(message)
    }

    fn parse_outputs(
        &mut self,
        signature: Signature,
        json: &Value,
    ) -> Result<Vec<ValueInfo>, String> {
        let none = Vec::new();
        let outputs = json.get("outputs").map_or(Some(&none), Value::as_array);
        let outputs = outputs.ok_or("outputs: expected a list")?;
        let (expected, count) = (signature.results, outputs.len());
        if (expected != 0 && count != expected) || count == 0 {
            return Err(format!("expected {expected} outputs, found {count}"));
        }
        outputs
            .iter()
            .map(|json| {
                self.define_value(json)
                    .map_err(|message| format!("outputs: {message}"))
            })
            .collect()
    }

    fn parse_output(&self, json: &Value) -> Result<(String, usize), String> {
        let name = string(json, "name").ok_or("outputs: expected a name")?;
        let number = json.get("value").and_then(Value::as_u64);
        let number = number.ok_or_else(|| format!("outputs: {name}: expected a value"))?;
        let value = self.find_value(number);
        let value = value.map_err(|message| format!("outputs: {name}: {message}"))?;
        Ok((name, value))
    }
}

/// The maximum number of axes of an array.
pub(crate) const MAX_RANK: usize = 16;

fn list_entry<'a>(json: &'a Map<String, Value>, key: &str) -> Result<&'a Vec<Value>, String> {
    let found = json.get(key).and_then(Value::as_array);
    found.ok_or_else(|| format!("{key}: expected a list"))
}

/// Assigns each operation to its group of elementwise operations; a group is an index range
/// `[first, end)`. Version 1 of the format has no groups.
fn mark_groups(json: &Map<String, Value>, operations: &mut [Operation]) -> Result<(), String> {
    let Some(groups) = json.get("groups") else {
        return Ok(());
    };
    let bad = |at: usize| {
        format!(
            "groups: {at}: expected a range [first, end) of the {} operations, after the previous range",
            operations.len()
        )
    };
    let groups = groups.as_array().ok_or("groups: expected a list")?;
    let mut ranges = Vec::with_capacity(groups.len());
    let mut free = 0;
    for (at, group) in groups.iter().enumerate() {
        let ends = group.as_array().map(Vec::as_slice);
        let Some([Value::Number(first), Value::Number(end)]) = ends else {
            return Err(bad(at));
        };
        let whole = |number: &Number| number.as_u64().and_then(|it| usize::try_from(it).ok());
        let (Some(first), Some(end)) = (whole(first), whole(end)) else {
            return Err(bad(at));
        };
        if first < free || end <= first || end > operations.len() {
            return Err(bad(at));
        }
        free = end;
        ranges.push(first..end);
    }
    for (number, range) in ranges.into_iter().enumerate() {
        operations[range]
            .iter_mut()
            .for_each(|operation| operation.group = Some(number));
    }
    Ok(())
}

fn string(json: &Value, key: &str) -> Option<String> {
    json.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn are_distinct<'a>(names: impl Iterator<Item = &'a String>) -> bool {
    let mut seen = std::collections::HashSet::new();
    names.into_iter().all(|name| seen.insert(name))
}

/// Compares a weight with the array of the same name.
fn check_weight(weight: &NamedValue, tensors: &Tensors) -> Result<(), String> {
    let NamedValue { name, declared } = weight;
    let tensor = tensors
        .get(name)
        .ok_or_else(|| format!("weights: {name}: model.safetensors has no such array"))?;
    let dims: Vec<Dim> = tensor.shape.iter().map(|&size| Dim::Fixed(size)).collect();
    if tensor.dtype != declared.dtype || dims != declared.shape {
        let (dtype, shape) = (tensor.dtype, &tensor.shape);
        return Err(format!(
            "weights: {name}: declared as {} of another type or shape than its array, which is \
             {dtype} {shape:?}",
            declared.dtype
        ));
    }
    Ok(())
}
