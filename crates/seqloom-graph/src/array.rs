//! Arrays that go into a model and come out of it.

use crate::Dtype;

/// The numbers of an array that goes in, in C order.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "each is of the type that it names")]
pub enum Data<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U32(&'a [u32]),
    U8(&'a [u8]),
    Bool(&'a [bool]),
}

impl<'a> Data<'a> {
    /// The type of the numbers.
    pub fn dtype(&self) -> Dtype {
        match self {
            Self::F32(_) => Dtype::Float32,
            Self::F64(_) => Dtype::Float64,
            Self::I32(_) => Dtype::Int32,
            Self::I64(_) => Dtype::Int64,
            Self::U32(_) => Dtype::Uint32,
            Self::U8(_) => Dtype::Uint8,
            Self::Bool(_) => Dtype::Bool,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.bytes().len() / self.dtype().size()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers of a type that some memory holds; none where it is no such memory.
    pub(crate) fn of(dtype: Dtype, bytes: &'a [u8]) -> Option<Self> {
        Some(match dtype {
            Dtype::Float32 => Self::F32(bytemuck::try_cast_slice(bytes).ok()?),
            Dtype::Float64 => Self::F64(bytemuck::try_cast_slice(bytes).ok()?),
            Dtype::Int32 => Self::I32(bytemuck::try_cast_slice(bytes).ok()?),
            Dtype::Int64 => Self::I64(bytemuck::try_cast_slice(bytes).ok()?),
            Dtype::Uint32 => Self::U32(bytemuck::try_cast_slice(bytes).ok()?),
            Dtype::Uint8 => Self::U8(bytes),
            Dtype::Bool => Self::Bool(bytemuck::checked::try_cast_slice(bytes).ok()?),
        })
    }

    /// So many of them, from the first on.
    pub(crate) fn part(self, first: usize, count: usize) -> Option<Self> {
        let size = self.dtype().size();
        let bytes = self.bytes().get(first * size..)?.get(..count * size)?;
        Self::of(self.dtype(), bytes)
    }

    /// The memory that they are in.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        match *self {
            Self::F32(numbers) => bytemuck::cast_slice(numbers),
            Self::F64(numbers) => bytemuck::cast_slice(numbers),
            Self::I32(numbers) => bytemuck::cast_slice(numbers),
            Self::I64(numbers) => bytemuck::cast_slice(numbers),
            Self::U32(numbers) => bytemuck::cast_slice(numbers),
            Self::U8(numbers) => numbers,
            Self::Bool(booleans) => bytemuck::cast_slice(booleans),
        }
    }
}

/// An array that goes into a model.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Its name, as the graph has it.
    pub name: &'a str,
    /// The lengths of its axes.
    pub shape: &'a [usize],
    /// Its numbers, in C order.
    pub data: Data<'a>,
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
    pub fn data(&self) -> Data<'_> {
        match self {
            Self::F32(numbers) => Data::F32(numbers),
            Self::F64(numbers) => Data::F64(numbers),
            Self::I32(numbers) => Data::I32(numbers),
            Self::I64(numbers) => Data::I64(numbers),
            Self::U32(numbers) => Data::U32(numbers),
            Self::U8(numbers) => Data::U8(numbers),
            Self::Bool(booleans) => Data::Bool(booleans),
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
