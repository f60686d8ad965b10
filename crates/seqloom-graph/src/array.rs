//! Input and output arrays of a model.

use crate::Elements;

/// An input array of a model.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The name of the input in the graph.
    pub name: &'a str,
    /// The shape.
    pub shape: &'a [usize],
    /// The elements in C order.
    pub data: Elements<'a>,
}

/// The elements of an output array, in C order, for each element type.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is named after its type")]
pub enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U32(Vec<u32>),
    U8(Vec<u8>),
    Bool(Vec<bool>),
}

impl Values {
    /// Borrows the elements.
    pub fn elements(&self) -> Elements<'_> {
        match self {
            Self::F32(numbers) => Elements::F32(numbers),
            Self::F64(numbers) => Elements::F64(numbers),
            Self::I32(numbers) => Elements::I32(numbers),
            Self::I64(numbers) => Elements::I64(numbers),
            Self::U32(numbers) => Elements::U32(numbers),
            Self::U8(numbers) => Elements::U8(numbers),
            Self::Bool(booleans) => Elements::Bool(booleans),
        }
    }

    /// Returns the elements if they are `f32`.
    pub fn as_f32(&self) -> Option<&[f32]> {
        match self {
            Self::F32(numbers) => Some(numbers),
            _ => None,
        }
    }
}

/// An output array of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The name of the output in the graph.
    pub name: String,
    /// The shape.
    pub shape: Vec<usize>,
    /// The elements in C order.
    pub values: Values,
}
