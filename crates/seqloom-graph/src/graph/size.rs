//! Sizes of axes: numbers, names, and products of both.

use std::collections::BTreeMap;

/// The size of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dim {
    /// A number.
    Fixed(usize),
    /// A named size, which has the same value in all shapes of a run.
    Named(String),
}

impl Dim {
    /// Returns the size in the JSON format of `graph.json`.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Fixed(size) => (*size).into(),
            Self::Named(name) => name.as_str().into(),
        }
    }
}

/// The size of an axis, computed from other sizes: `(p * times + shift) / over`, rounded
/// down, plus `plus`. The number `p` is the product of `factors`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// The factors.
    pub factors: Vec<Dim>,
    /// The multiplier of the product.
    pub times: i64,
    /// The number that is added before the division.
    pub shift: i64,
    /// The divisor, not 0.
    pub over: i64,
    /// The number that is added after the division.
    pub plus: i64,
}

/// The values of named sizes in a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct SizeBindings(BTreeMap<String, usize>);

impl SizeBindings {
    /// Sets a named size at its first use; at each later use, checks that the size has
    /// the same value. Errors are returned as messages.
    pub(crate) fn bind(&mut self, dim: &Dim, found: usize) -> Result<(), String> {
        let expected = match dim {
            Dim::Fixed(size) => *size,
            Dim::Named(name) => *self.0.entry(name.clone()).or_insert(found),
        };
        if expected == found {
            return Ok(());
        }
        Err(match dim {
            Dim::Fixed(_) => format!("expected {expected}, got {found}"),
            Dim::Named(name) => format!("expected {expected}, which is {name:?}, got {found}"),
        })
    }

    /// Sets or checks the size of each axis of a shape.
    pub(crate) fn bind_shape(&mut self, dims: &[Dim], shape: &[usize]) -> Result<(), String> {
        if dims.len() != shape.len() {
            let (expected, found) = (dims.len(), shape.len());
            return Err(format!("expected {expected} axes, got {found}: {shape:?}"));
        }
        for (axis, (dim, &size)) in dims.iter().zip(shape).enumerate() {
            let bound = self.bind(dim, size);
            bound.map_err(|message| format!("axis {axis} of {shape:?}: {message}"))?;
        }
        Ok(())
    }

    /// Computes a size from the values of named sizes.
    pub(crate) fn evaluate(&self, size: &Size) -> Result<i64, String> {
        let mut product: i128 = 1;
        for factor in &size.factors {
            let number = match factor {
                Dim::Fixed(size) => *size,
                Dim::Named(name) => *self.0.get(name).ok_or_else(|| {
                    format!("the size {name:?} is used before it is bound to an axis")
                })?,
            };
            let next = i128::try_from(number).ok();
            let next = next.and_then(|number| product.checked_mul(number));
            product = next.ok_or_else(|| SIZE_OVERFLOW.to_owned())?;
        }
        let scaled = product.checked_mul(size.times.into());
        let shifted = scaled.and_then(|scaled| scaled.checked_add(size.shift.into()));
        let divided = shifted.and_then(|shifted| floor_divide(shifted, size.over.into()));
        let found = divided.and_then(|divided| divided.checked_add(size.plus.into()));
        let found = found.and_then(|found| i64::try_from(found).ok());
        found.ok_or_else(|| SIZE_OVERFLOW.to_owned())
    }
}

const SIZE_OVERFLOW: &str = "the size is too large";

/// Returns the quotient of two integers, rounded down.
fn floor_divide(number: i128, over: i128) -> Option<i128> {
    let quotient = number.checked_div(over)?;
    let is_below = number % over != 0 && (number < 0) != (over < 0);
    Some(quotient - i128::from(is_below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_product_divided_and_rounded_down() {
        let mut sizes = SizeBindings::default();
        sizes.bind(&Dim::Named("length".into()), 7).unwrap();
        let size = Size {
            factors: vec![Dim::Named("length".into()), Dim::Fixed(3)],
            times: -1,
            shift: 0,
            over: 2,
            plus: 1,
        };
        assert_eq!(sizes.evaluate(&size), Ok(-10));
        assert_eq!(sizes.evaluate(&Size { shift: 1, ..size }), Ok(-9));
    }

    #[test]
    fn a_named_size_has_the_same_value_on_every_axis() {
        let mut sizes = SizeBindings::default();
        let dims = [Dim::Named("batch".into()), Dim::Named("batch".into())];
        assert!(sizes.bind_shape(&dims, &[2, 2]).is_ok());
        let message = sizes.bind_shape(&dims, &[3, 3]).unwrap_err();
        assert_eq!(
            message,
            "axis 0 of [3, 3]: expected 2, which is \"batch\", got 3"
        );
    }

    #[test]
    fn a_size_that_overflows_is_an_error() {
        let size = Size {
            factors: vec![Dim::Fixed(usize::MAX); 4],
            times: 1,
            shift: 0,
            over: 1,
            plus: 0,
        };
        assert!(SizeBindings::default().evaluate(&size).is_err());
    }
}
