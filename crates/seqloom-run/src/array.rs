//! Input arrays of a graph.

use seqloom_core::{Error, Result};
use seqloom_graph::{Dtype, Input, Values};

/// An input array of a graph.
#[derive(Clone, Debug)]
pub(crate) struct InputArray {
    /// The name of the input.
    pub(crate) name: String,
    /// The sizes of the axes.
    pub(crate) shape: Vec<usize>,
    /// The elements, in C order.
    pub(crate) values: Values,
}

impl InputArray {
    /// Creates an empty array with the given element type.
    pub(crate) fn new(name: &str, dtype: Dtype) -> Self {
        Self {
            name: name.to_owned(),
            shape: Vec::new(),
            values: empty_values(dtype),
        }
    }

    /// Returns a view of the array, as an input for the graph.
    pub(crate) fn as_input(&self) -> Input<'_> {
        Input {
            name: &self.name,
            shape: &self.shape,
            data: self.values.elements(),
        }
    }
}

/// Returns an empty vector with the given element type.
pub(crate) fn empty_values(dtype: Dtype) -> Values {
    match dtype {
        Dtype::Bool => Values::Bool(Vec::new()),
        Dtype::Uint8 => Values::U8(Vec::new()),
        Dtype::Int32 => Values::I32(Vec::new()),
        Dtype::Int64 => Values::I64(Vec::new()),
        Dtype::Uint32 => Values::U32(Vec::new()),
        Dtype::Float32 => Values::F32(Vec::new()),
        Dtype::Float64 => Values::F64(Vec::new()),
    }
}

/// Replaces the elements by integers, converted to the element type.
pub(crate) fn set_integers(values: &mut Values, numbers: impl Iterator<Item = i64>) {
    match values {
        Values::Bool(held) => replace_elements(held, numbers.map(|number| number != 0)),
        Values::U8(held) => replace_elements(held, numbers.map(|number| number.to_le_bytes()[0])),
        Values::I32(held) => replace_elements(
            held,
            numbers.map(|it| i32::try_from(it).unwrap_or(i32::MAX)),
        ),
        Values::U32(held) => replace_elements(
            held,
            numbers.map(|it| u32::try_from(it).unwrap_or(u32::MAX)),
        ),
        Values::I64(held) => replace_elements(held, numbers),
        Values::F32(held) => replace_elements(held, numbers.map(to_f32)),
        Values::F64(held) => replace_elements(held, numbers.map(to_f64)),
    }
}

/// Resizes a vector. The values of new elements are unspecified. Returns an error if the
/// memory cannot be allocated.
pub(crate) fn resize_vector<T: Clone + Default>(numbers: &mut Vec<T>, size: usize) -> Result<()> {
    let missing = size.saturating_sub(numbers.len());
    let refused = |_| {
        Error::full(format!(
            "a batch of {size} numbers does not fit into memory"
        ))
    };
    numbers.try_reserve(missing).map_err(refused)?;
    numbers.resize(size, T::default());
    Ok(())
}

/// Returns the product of sizes, or an error if the product is too large for memory.
pub(crate) fn checked_product(sizes: &[usize]) -> Result<usize> {
    let product = sizes
        .iter()
        .try_fold(1_usize, |all, size| all.checked_mul(*size));
    product.ok_or_else(|| Error::full("a batch does not fit into memory: give shorter records"))
}

fn replace_elements<T>(held: &mut Vec<T>, numbers: impl Iterator<Item = T>) {
    held.clear();
    held.extend(numbers);
}

#[expect(
    clippy::cast_precision_loss,
    reason = "lengths, masks and tokens are small"
)]
pub(crate) fn to_f32(number: i64) -> f32 {
    number as f32
}

#[expect(
    clippy::cast_precision_loss,
    reason = "lengths, masks and tokens are small"
)]
fn to_f64(number: i64) -> f64 {
    number as f64
}
