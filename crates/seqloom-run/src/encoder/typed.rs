//! Encoding kernels with 4-byte or 8-byte output elements.

use std::fmt;

use bytemuck::cast_slice_mut;
use seqloom_core::{Error, Ragged, Result};
use seqloom_encode::{ElementBits, LetterTable, RowKernel, RowLayout, encode};
use seqloom_graph::{Dtype, Values};

use crate::array::resize_vector;

/// An encoding kernel with 4-byte or 8-byte output elements.
pub(super) enum TypedKernel {
    FourBytes(Box<dyn RowKernel<u32>>),
    EightBytes(Box<dyn RowKernel<u64>>),
}

impl fmt::Debug for TypedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FourBytes(_) => "a kernel for 4-byte numbers",
            Self::EightBytes(_) => "a kernel for 8-byte numbers",
        })
    }
}

impl TypedKernel {
    /// Returns the smallest row length for a sequence with this number of residues.
    pub(super) fn size(&self, letters: usize) -> usize {
        match self {
            Self::FourBytes(kernel) => kernel.row_len(letters),
            Self::EightBytes(kernel) => kernel.row_len(letters),
        }
    }

    /// Encodes all sequences into an array. The array must have the element size of the
    /// kernel.
    pub(super) fn fill(
        &self,
        letters: &LetterTable,
        sequences: &Ragged<'_>,
        output: OutputLayout<'_>,
        out: &mut Values,
    ) -> Result<()> {
        match (self, out) {
            (Self::FourBytes(kernel), Values::F32(out)) => {
                output.fill((letters, &**kernel), sequences, out)
            }
            (Self::FourBytes(kernel), Values::I32(out)) => {
                output.fill((letters, &**kernel), sequences, out)
            }
            (Self::EightBytes(kernel), Values::F64(out)) => {
                output.fill((letters, &**kernel), sequences, out)
            }
            (Self::EightBytes(kernel), Values::I64(out)) => {
                output.fill((letters, &**kernel), sequences, out)
            }
            (_, out) => Err(type_mismatch(out.elements().dtype())),
        }
    }
}

fn type_mismatch(dtype: Dtype) -> Error {
    Error::argument(format!(
        "an encoder cannot fill an array of {dtype}: its type is different"
    ))
}

/// The size of an output array, and the offsets of its rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputLayout<'a> {
    pub(crate) size: usize,
    pub(crate) rows: RowLayout<'a>,
}

impl OutputLayout<'_> {
    /// Encodes sequences with a kernel that writes the bit patterns of the array's
    /// numbers.
    fn fill<T: ElementBits + bytemuck::Pod, N: bytemuck::Pod + Default>(
        self,
        kernel: (&LetterTable, &dyn RowKernel<T>),
        sequences: &Ragged<'_>,
        out: &mut Vec<N>,
    ) -> Result<()> {
        resize_vector(out, self.size)?;
        let bits: &mut [T] = cast_slice_mut(out.as_mut_slice());
        encode(kernel, sequences, bits, self.rows).map(drop)
    }
}
