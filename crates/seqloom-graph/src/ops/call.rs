//! The arguments of an operation, with known axis sizes and values.

use crate::Dtype;
use crate::graph::{Argument, MAX_RANK, Operation, SizeBindings};
use crate::memory::Outcome;
use crate::plan::View;

/// A call of an operation during the construction of a plan.
pub(crate) struct Call<'a> {
    pub(crate) operation: &'a Operation,
    values: &'a [Option<View>],
    sizes: &'a SizeBindings,
    /// The number of operations that read each value.
    uses: &'a [usize],
}

/// An argument in which each axis size is replaced by its value.
#[derive(Clone, Debug)]
pub(crate) enum ArgValue {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Self>),
    Array(View),
    Dtype(Dtype),
    Slice([Option<i64>; 3]),
    Ellipsis,
    NewAxis,
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        operation: &'a Operation,
        values: &'a [Option<View>],
        sizes: &'a SizeBindings,
        uses: &'a [usize],
    ) -> Self {
        Self {
            operation,
            values,
            sizes,
            uses,
        }
    }

    /// Returns true if the graph uses the output with this index.
    pub(crate) fn is_read(&self, output: usize) -> bool {
        let made = self.operation.outputs.get(output);
        made.is_some_and(|made| self.uses.get(made.value).is_some_and(|&uses| uses > 0))
    }

    pub(crate) fn name(&self) -> &'static str {
        self.operation.name()
    }

    /// Returns the argument with this name, or `None` if it is missing or null.
    pub(crate) fn get(&self, name: &str) -> Outcome<Option<ArgValue>> {
        let argument = self.operation.argument(name);
        argument.map(|argument| self.resolve(argument)).transpose()
    }

    fn resolve(&self, argument: &Argument) -> Outcome<ArgValue> {
        Ok(match argument {
            Argument::Null => ArgValue::Null,
            Argument::Bool(boolean) => ArgValue::Bool(*boolean),
            Argument::Int(number) => ArgValue::Int(*number),
            Argument::Float(number) => ArgValue::Float(*number),
            Argument::Text(text) => ArgValue::Text(text.clone()),
            Argument::Size(size) => ArgValue::Int(self.sizes.evaluate(size)?),
            Argument::Dtype(dtype) => ArgValue::Dtype(*dtype),
            Argument::Ellipsis => ArgValue::Ellipsis,
            Argument::NewAxis => ArgValue::NewAxis,
            Argument::List(parts) => {
                let parts = parts.iter().map(|part| self.resolve(part));
                ArgValue::List(parts.collect::<Outcome<_>>()?)
            }
            Argument::Value(value) => {
                let view = self.values.get(*value).and_then(Option::as_ref);
                ArgValue::Array(view.ok_or("a value is used before it is defined")?.clone())
            }
            Argument::Slice(parts) => {
                let [start, stop, step] = &**parts;
                let part = |part| self.resolve(part).and_then(|value| value.opt_int("slice"));
                ArgValue::Slice([part(start)?, part(stop)?, part(step)?])
            }
        })
    }

    /// Returns a required argument.
    pub(crate) fn required(&self, name: &str) -> Outcome<ArgValue> {
        self.get(name)?.ok_or_else(|| format!("{name} is missing"))
    }

    /// Returns an array argument.
    pub(crate) fn array(&self, name: &str) -> Outcome<View> {
        self.opt_array(name)?
            .ok_or_else(|| format!("{name}: expected an array"))
    }

    /// Returns an optional array argument.
    pub(crate) fn opt_array(&self, name: &str) -> Outcome<Option<View>> {
        match self.get(name)? {
            None => Ok(None),
            Some(ArgValue::Array(view)) => Ok(Some(view)),
            Some(_) => Err(format!("{name}: expected an array")),
        }
    }

    /// Returns an argument that is a list of arrays.
    pub(crate) fn arrays(&self, name: &str) -> Outcome<Vec<View>> {
        let ArgValue::List(parts) = self.required(name)? else {
            return Err(format!("{name}: expected a list of arrays"));
        };
        let arrays = parts.into_iter().map(|part| match part {
            ArgValue::Array(view) => Ok(view),
            _ => Err(format!("{name}: expected a list of arrays")),
        });
        arrays.collect()
    }

    /// Returns an optional integer argument.
    pub(crate) fn int(&self, name: &str) -> Outcome<Option<i64>> {
        self.get(name)?.map_or(Ok(None), |it| it.opt_int(name))
    }

    /// Returns an optional argument that is an integer or a list of integers.
    pub(crate) fn ints(&self, name: &str) -> Outcome<Option<Vec<i64>>> {
        self.get(name)?.map(|value| value.ints(name)).transpose()
    }

    /// Returns a shape from an argument that is one size or a list of sizes.
    pub(crate) fn shape(&self, name: &str) -> Outcome<Vec<usize>> {
        let numbers = self
            .ints(name)?
            .ok_or_else(|| format!("{name} is missing"))?;
        let sizes = numbers.iter().map(|&number| {
            let bad = |_| format!("{name}: expected sizes from 0, got {numbers:?}");
            usize::try_from(number).map_err(bad)
        });
        sizes.collect()
    }

    /// Returns an optional float argument.
    pub(crate) fn float(&self, name: &str) -> Outcome<Option<f64>> {
        match self.get(name)? {
            None => Ok(None),
            Some(ArgValue::Float(number)) => Ok(Some(number)),
            Some(ArgValue::Int(number)) => Ok(Some(to_float(number))),
            Some(_) => Err(format!("{name}: expected a number")),
        }
    }

    /// Returns a boolean argument, or false if it is missing.
    pub(crate) fn flag(&self, name: &str) -> Outcome<bool> {
        match self.get(name)? {
            None => Ok(false),
            Some(ArgValue::Bool(boolean)) => Ok(boolean),
            Some(_) => Err(format!("{name}: expected true or false")),
        }
    }

    /// Returns an optional argument that is an element type.
    pub(crate) fn dtype(&self, name: &str) -> Outcome<Option<Dtype>> {
        let found = match self.get(name)? {
            None => return Ok(None),
            Some(ArgValue::Dtype(dtype)) => Some(dtype),
            Some(ArgValue::Text(text)) => Dtype::from_name(&text),
            Some(_) => None,
        };
        found
            .map(Some)
            .ok_or_else(|| format!("{name}: expected an element type"))
    }

    /// Returns an optional axis of an array with `rank` axes.
    pub(crate) fn axis(&self, name: &str, rank: usize) -> Outcome<Option<usize>> {
        self.int(name)?
            .map(|axis| checked_axis(axis, rank))
            .transpose()
    }

    /// Returns the axes in an argument, sorted and without duplicates: one axis, a list
    /// or, if no axis is given, all `rank` axes.
    pub(crate) fn axes(&self, name: &str, rank: usize) -> Outcome<Vec<usize>> {
        let Some(numbers) = self.ints(name)? else {
            return Ok((0..rank).collect());
        };
        unique_axes(&numbers, rank, name)
    }
}

impl ArgValue {
    pub(crate) fn opt_int(&self, name: &str) -> Outcome<Option<i64>> {
        match self {
            Self::Null => Ok(None),
            Self::Int(number) => Ok(Some(*number)),
            Self::Bool(boolean) => Ok(Some((*boolean).into())),
            _ => Err(format!("{name}: expected a whole number")),
        }
    }

    /// Returns the integers of an argument that is one integer or a list.
    pub(crate) fn ints(&self, name: &str) -> Outcome<Vec<i64>> {
        let one = |value: &Self| {
            let number = value.opt_int(name)?;
            number.ok_or_else(|| format!("{name}: expected integers"))
        };
        match self {
            Self::List(parts) if parts.len() > MAX_RANK => {
                let found = parts.len();
                Err(format!(
                    "{name}: expected at most {MAX_RANK} numbers, got {found}"
                ))
            }
            Self::List(parts) => parts.iter().map(one).collect(),
            other => Ok(vec![one(other)?]),
        }
    }
}

/// Returns axes of an array with `rank` axes, or an error if one is repeated.
pub(crate) fn unique_axes(numbers: &[i64], rank: usize, name: &str) -> Outcome<Vec<usize>> {
    let axes = numbers.iter().map(|&axis| checked_axis(axis, rank));
    let axes: Vec<usize> = axes.collect::<Outcome<_>>()?;
    let mut seen = axes.iter().enumerate();
    if seen.any(|(at, axis)| axes[..at].contains(axis)) {
        return Err(format!("{name}: {numbers:?} names an axis twice"));
    }
    Ok(axes)
}

/// Returns an axis of an array with `rank` axes; a negative axis counts from the end.
pub(crate) fn checked_axis(axis: i64, rank: usize) -> Outcome<usize> {
    let count = i64::try_from(rank).unwrap_or(i64::MAX);
    let found = if axis < 0 {
        axis.saturating_add(count)
    } else {
        axis
    };
    let found = usize::try_from(found).ok().filter(|&axis| axis < rank);
    found.ok_or_else(|| format!("axis {axis} is out of range for an array with {rank} axes"))
}

#[expect(clippy::cast_precision_loss, reason = "rounds to the nearest float")]
pub(crate) fn to_float(number: i64) -> f64 {
    number as f64
}
