//! Input and output arrays of programs, of any element type.

use seqloom_core::Dtype;
use seqloom_kernels::Float;

use crate::{Number, fill};

/// The elements of an array of any type, in C order.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "each variant is named after its type")]
pub enum Elements<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
    I64(&'a [i64]),
    I32(&'a [i32]),
    U32(&'a [u32]),
    U8(&'a [u8]),
    Bool(&'a [bool]),
}

/// The elements of an array of any type, to be written.
#[derive(Debug)]
#[expect(missing_docs, reason = "each variant is named after its type")]
pub enum ElementsMut<'a> {
    F32(&'a mut [f32]),
    F64(&'a mut [f64]),
    I64(&'a mut [i64]),
    I32(&'a mut [i32]),
    U32(&'a mut [u32]),
    U8(&'a mut [u8]),
    Bool(&'a mut [bool]),
}

/// Evaluates one expression for an array of any element type.
macro_rules! for_any_type {
    ($enum:ident, $of:expr, $slice:ident => $body:expr) => {
        match $of {
            $enum::F32($slice) => $body,
            $enum::F64($slice) => $body,
            $enum::I64($slice) => $body,
            $enum::I32($slice) => $body,
            $enum::U32($slice) => $body,
            $enum::U8($slice) => $body,
            $enum::Bool($slice) => $body,
        }
    };
}

impl<'a> Elements<'a> {
    /// Returns the element type.
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

    /// Returns bytes as elements of a type, or `None` if their length or alignment does not
    /// match.
    pub fn from_bytes(dtype: Dtype, bytes: &'a [u8]) -> Option<Self> {
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

    /// Returns the `count` elements that start at index `first`.
    pub fn slice(self, first: usize, count: usize) -> Option<Self> {
        let size = self.dtype().size();
        let bytes = self.bytes().get(first * size..)?.get(..count * size)?;
        Self::from_bytes(self.dtype(), bytes)
    }

    /// Returns the elements as bytes.
    pub fn bytes(&self) -> &'a [u8] {
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

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        for_any_type!(Elements, self, slice => slice.len())
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the elements as a slice of `T`, or `None` if they have another type.
    pub(crate) fn cast<T: Number>(self) -> Option<&'a [T]> {
        match self {
            Elements::F32(slice) => T::downcast_slice(slice),
            Elements::F64(slice) => T::downcast_slice(slice),
            _ => None,
        }
    }

    /// Copies every `stride`-th element from index `start` and converts it; the length of
    /// `out` determines the number of elements.
    pub(crate) fn copy_strided<T: Number>(self, start: usize, stride: usize, out: &mut [T]) {
        match self {
            Elements::F32(slice) => gather(slice, start, stride, out, T::from_f32),
            Elements::F64(slice) => gather(slice, start, stride, out, T::from_f64),
            Elements::I64(slice) => gather(slice, start, stride, out, T::from_i64),
            Elements::I32(slice) => gather(slice, start, stride, out, |x| T::from_i64(x.into())),
            Elements::U32(slice) => gather(slice, start, stride, out, |x| T::from_i64(x.into())),
            Elements::U8(slice) => gather(slice, start, stride, out, |x| T::from_i64(x.into())),
            Elements::Bool(slice) => gather(slice, start, stride, out, |x| T::from_i64(x.into())),
        }
    }
}

fn gather<N: Copy, T: Number>(
    from: &[N],
    start: usize,
    stride: usize,
    out: &mut [T],
    convert: impl Fn(N) -> T,
) {
    let from = &from[start..];
    match stride {
        0 => fill::fill_constant(convert(from[0]), out),
        1 => convert_each(&from[..out.len()], out, convert),
        _ => {
            for (out, &x) in out.iter_mut().zip(from.iter().step_by(stride)) {
                *out = convert(x);
            }
        }
    }
}

fn convert_each<N: Copy, T>(from: &[N], out: &mut [T], convert: impl Fn(N) -> T) {
    for (out, &x) in out.iter_mut().zip(from) {
        *out = convert(x);
    }
}

impl ElementsMut<'_> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        for_any_type!(ElementsMut, self, slice => slice.len())
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Splits the elements into those before and after an index.
    pub(crate) fn split_at(self, at: usize) -> (Self, Self) {
        macro_rules! split_elements {
            ($($kind:ident)*) => {
                match self {
                    $(ElementsMut::$kind(slice) => {
                        let (first, rest) = slice.split_at_mut(at);
                        (ElementsMut::$kind(first), ElementsMut::$kind(rest))
                    })*
                }
            };
        }
        split_elements!(F32 F64 I64 I32 U32 U8 Bool)
    }

    /// Returns the elements for reading.
    pub(crate) fn as_elements(&self) -> Elements<'_> {
        macro_rules! as_elements {
            ($($kind:ident)*) => {
                match self { $(ElementsMut::$kind(slice) => Elements::$kind(slice)),* }
            };
        }
        as_elements!(F32 F64 I64 I32 U32 U8 Bool)
    }

    /// Returns the elements as a slice of `T`, or `None` if they have another type.
    pub(crate) fn cast<T: Number>(&mut self) -> Option<&mut [T]> {
        match self {
            ElementsMut::F32(slice) => T::downcast_slice_mut(slice),
            ElementsMut::F64(slice) => T::downcast_slice_mut(slice),
            _ => None,
        }
    }

    /// Converts the values and writes them from index `start`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast to a narrower type truncates, as in NumPy"
    )]
    pub(crate) fn store_converted<T: Number>(&mut self, start: usize, from: &[T]) {
        let range = start..start + from.len();
        match self {
            ElementsMut::F32(slice) => {
                convert_each(from, &mut slice[range], |x| f32::from_f64(x.to_f64()));
            }
            ElementsMut::F64(slice) => convert_each(from, &mut slice[range], T::to_f64),
            ElementsMut::I64(slice) => convert_each(from, &mut slice[range], T::to_i64),
            ElementsMut::I32(slice) => convert_each(from, &mut slice[range], |x| x.to_i64() as i32),
            ElementsMut::U32(slice) => convert_each(from, &mut slice[range], |x| x.to_i64() as u32),
            ElementsMut::U8(slice) => convert_each(from, &mut slice[range], |x| x.to_i64() as u8),
            ElementsMut::Bool(slice) => convert_each(from, &mut slice[range], |x| x != T::ZERO),
        }
    }
}
