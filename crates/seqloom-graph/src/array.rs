//! Arrays that go into a model and come out of it.

use crate::Numbers;

/// An array that goes into a model.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Its name, as the graph has it.
    pub name: &'a str,
    /// The lengths of its axes.
    pub shape: &'a [usize],
    /// Its numbers, in C order.
    pub data: Numbers<'a>,
}

/// The numbers of an array that came out, in C order.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is of the type that it names")]
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
    /// The same numbers, lent.
    pub fn data(&self) -> Numbers<'_> {
        match self {
            Self::F32(numbers) => Numbers::F32(numbers),
            Self::F64(numbers) => Numbers::F64(numbers),
            Self::I32(numbers) => Numbers::I32(numbers),
            Self::I64(numbers) => Numbers::I64(numbers),
            Self::U32(numbers) => Numbers::U32(numbers),
            Self::U8(numbers) => Numbers::U8(numbers),
            Self::Bool(booleans) => Numbers::Bool(booleans),
        }
    }

    /// The numbers, where they are single floats.
    pub fn as_f32(&self) -> Option<&[f32]> {
        match self {
            Self::F32(numbers) => Some(numbers),
            _ => None,
        }
    }
}

/// An array that came out of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Its name, as the graph has it.
    pub name: String,
    /// The lengths of its axes.
    pub shape: Vec<usize>,
    /// Its numbers, in C order.
    pub values: Values,
}
