//! Arguments of operations.

use serde_json::{Map, Value};

use super::size::{Dim, Size};
use crate::Dtype;

/// An argument or an option of an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float, including NaN and infinity.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// A value of the graph, referred to by its index.
    Value(usize),
    /// An integer that is computed from the sizes of axes.
    Size(Size),
    /// An element type.
    Dtype(Dtype),
    /// A slice of an axis: start, stop, step.
    Slice(Box<[Self; 3]>),
    /// An ellipsis in an index key, which represents all axes that the key does not list.
    Ellipsis,
    /// A new axis of length 1.
    NewAxis,
}

impl Argument {
    /// Parses an argument; `find` converts the number of a value in the file to its
    /// index.
    pub(super) fn parse(
        json: &Value,
        find: &impl Fn(u64) -> Result<usize, String>,
    ) -> Result<Self, String> {
        Ok(match json {
            Value::Null => Self::Null,
            Value::Bool(boolean) => Self::Bool(*boolean),
            Value::String(text) => Self::Text(text.clone()),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => Self::Int(number),
                (None, Some(number)) if number.is_finite() => Self::Float(number),
                _ => return Err(format!("the number {number} is too large")),
            },
            Value::Array(parts) => {
                let parts = parts.iter().map(|part| Self::parse(part, find));
                Self::List(parts.collect::<Result<_, _>>()?)
            }
            Value::Object(object) => return Self::parse_object(object, find),
        })
    }

    fn parse_object(
        object: &Map<String, Value>,
        find: &impl Fn(u64) -> Result<usize, String>,
    ) -> Result<Self, String> {
        if object.contains_key("size") {
            return parse_size(object).map(Self::Size);
        }
        let mut entries = object.iter();
        let (Some((key, json)), None) = (entries.next(), entries.next()) else {
            return Err(unknown_argument(object));
        };
        let known = match (key.as_str(), json) {
            ("value", Value::Number(number)) => {
                let number = number.as_u64().ok_or_else(|| unknown_argument(object))?;
                return find(number).map(Self::Value);
            }
            ("dtype", Value::String(name)) => Dtype::from_name(name).map(Self::Dtype),
            ("float", Value::String(name)) => parse_float(name).map(Self::Float),
            ("slice", Value::Array(parts)) => parse_slice(parts, find)?,
            ("ellipsis", Value::Bool(true)) => Some(Self::Ellipsis),
            ("newaxis", Value::Bool(true)) => Some(Self::NewAxis),
            _ => None,
        };
        known.ok_or_else(|| unknown_argument(object))
    }

    pub(crate) fn values(&self) -> Vec<usize> {
        match self {
            Self::Value(value) => vec![*value],
            Self::List(parts) => parts.iter().flat_map(Self::values).collect(),
            _ => Vec::new(),
        }
    }
}

fn unknown_argument(object: &Map<String, Value>) -> String {
    let text = Value::Object(object.clone()).to_string();
    format!("{text} is not an argument in this version of the format")
}

fn parse_float(name: &str) -> Option<f64> {
    match name {
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        "nan" => Some(f64::NAN),
        _ => None,
    }
}

fn parse_slice(
    parts: &[Value],
    find: &impl Fn(u64) -> Result<usize, String>,
) -> Result<Option<Argument>, String> {
    let parts = parts.iter().map(|part| Argument::parse(part, find));
    let parts: Vec<Argument> = parts.collect::<Result<_, _>>()?;
    let parts: Option<[Argument; 3]> = parts.try_into().ok();
    Ok(parts.map(|parts| Argument::Slice(Box::new(parts))))
}

fn parse_size(object: &Map<String, Value>) -> Result<Size, String> {
    let bad = || unknown_argument(object);
    if let Some(key) = object.keys().find(|key| !SIZE_KEYS.contains(&key.as_str())) {
        return Err(format!("{key} is not a key of a size"));
    }
    let whole = |key: &str, default: i64| {
        let number = object.get(key).map_or(Some(default), Value::as_i64);
        number.ok_or_else(bad)
    };
    let factors = object
        .get("size")
        .and_then(Value::as_array)
        .ok_or_else(bad)?;
    let factors = factors.iter().map(|json| parse_dim(json).ok_or_else(bad));
    let size = Size {
        factors: factors.collect::<Result<_, _>>()?,
        times: whole("times", 1)?,
        shift: whole("shift", 0)?,
        over: whole("over", 1)?,
        plus: whole("plus", 0)?,
    };
    if size.over == 0 {
        return Err("a size divided by 0".to_owned());
    }
    Ok(size)
}

const SIZE_KEYS: [&str; 5] = ["size", "times", "shift", "over", "plus"];

/// Parses the size of an axis, which is a number or a name.
pub(super) fn parse_dim(json: &Value) -> Option<Dim> {
    match json {
        Value::String(name) if !name.is_empty() => Some(Dim::Named(name.clone())),
        Value::Number(number) => {
            let size = number.as_u64().and_then(|size| usize::try_from(size).ok());
            size.map(Dim::Fixed)
        }
        _ => None,
    }
}
