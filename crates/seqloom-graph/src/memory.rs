//! Memory that is allocated once and read as numbers of any type.

use bytemuck::Pod;

use crate::{Dtype, layout::Layout};

/// The result of a computation. Errors are messages.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// A byte buffer that is aligned to a cache line.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    words: Vec<u64>,
    before: usize,
    length: usize,
}

/// The size of a cache line in bytes.
pub(crate) const ALIGNMENT: usize = 64;

impl Memory {
    /// Allocates `length` bytes, which may contain old values.
    pub(crate) fn resize(&mut self, length: usize) -> Outcome {
        let words = length.div_ceil(8) + ALIGNMENT / 8;
        if words > self.words.len() {
            let mut buffer = Vec::new();
            buffer
                .try_reserve_exact(words)
                .map_err(|_| format!("no memory for {length} bytes"))?;
            buffer.resize(words, 0);
            self.words = buffer;
        }
        let before = self.words.as_ptr().align_offset(ALIGNMENT);
        self.before = if before <= ALIGNMENT / 8 { before } else { 0 };
        self.length = length;
        Ok(())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        let bytes: &[u8] = bytemuck::cast_slice(&self.words);
        &bytes[self.before * 8..][..self.length]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words);
        &mut bytes[self.before * 8..][..self.length]
    }
}

/// An array that a kernel reads, and its memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) layout: &'a Layout,
    pub(crate) dtype: Dtype,
}

impl<'a> Read<'a> {
    /// Returns all elements of the memory, including gaps between elements of the array.
    pub(crate) fn memory<T: Pod>(&self) -> Outcome<&'a [T]> {
        cast_bytes(self.bytes)
    }

    /// Returns the memory from the first element of the array.
    pub(crate) fn elements_onward<T: Pod>(&self) -> Outcome<&'a [T]> {
        let all = self.memory::<T>()?;
        // An empty array may begin at any offset.
        Ok(all.get(self.layout.start..).unwrap_or_default())
    }

    /// Returns the elements of a contiguous array.
    pub(crate) fn slice<T: Pod>(&self) -> Outcome<&'a [T]> {
        let numbers = self.elements_onward::<T>()?.get(..self.layout.count());
        let numbers = numbers.filter(|_| self.layout.is_contiguous());
        numbers.ok_or_else(|| "an array is not contiguous".to_owned())
    }

    /// Returns the elements of a contiguous boolean array.
    pub(crate) fn booleans(&self) -> Outcome<&'a [bool]> {
        let bytes = self.slice::<u8>()?;
        bytemuck::checked::try_cast_slice(bytes).map_err(|error| error.to_string())
    }
}

/// Iterates over the contiguous arrays that a kernel reads; optional arrays may be missing.
pub(crate) struct ReadIter<'r, 'a>(std::slice::Iter<'r, Read<'a>>);

impl<'r, 'a> ReadIter<'r, 'a> {
    pub(crate) fn new(reads: &'r [Read<'a>]) -> Self {
        Self(reads.iter())
    }

    /// Returns the elements of the next array, or an error if the array is missing.
    pub(crate) fn take<T: Pod>(&mut self) -> Outcome<&'a [T]> {
        let next = self.0.next();
        next.map_or_else(|| Err("an array is missing".to_owned()), Read::slice)
    }

    /// Returns the elements of the next array, or `None` if the array is missing.
    pub(crate) fn take_optional<T: Pod>(&mut self, exists: bool) -> Outcome<Option<&'a [T]>> {
        exists.then(|| self.take()).transpose()
    }
}

/// A contiguous array that a kernel fills.
#[derive(Debug)]
pub(crate) struct Write<'a> {
    pub(crate) bytes: &'a mut [u8],
}

impl Write<'_> {
    /// Returns the elements to fill.
    pub(crate) fn slice<T: Pod>(&mut self) -> Outcome<&mut [T]> {
        bytemuck::try_cast_slice_mut(self.bytes).map_err(|error| error.to_string())
    }
}

fn cast_bytes<T: Pod>(bytes: &[u8]) -> Outcome<&[T]> {
    bytemuck::try_cast_slice(bytes).map_err(|error| error.to_string())
}

/// Evaluates an expression in which `T` is the float type of the given dtype.
macro_rules! by_float {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::Dtype::Float32 => {
                type $T = f32;
                $body
            }
            #[cfg(feature = "float64")]
            $crate::Dtype::Float64 => {
                type $T = f64;
                $body
            }
            other => Err(format!("expected floats, got {other}")),
        }
    };
}
pub(crate) use by_float;
