//! A kernel for numbers of four or eight bytes, and the array that it fills.

use std::fmt;

use bytemuck::cast_slice_mut;
use seqloom_core::{Error, Ragged, Result};
use seqloom_encode::{LetterTable, RowKernel, RowLayout, Word, fill};
use seqloom_graph::{Dtype, Values};

use crate::array::resize;

/// A kernel for numbers of four or eight bytes.
pub(super) enum TypedKernel {
    Four(Box<dyn RowKernel<u32>>),
    Eight(Box<dyn RowKernel<u64>>),
}

impl fmt::Debug for TypedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Four(_) => "a kernel of four bytes",
            Self::Eight(_) => "a kernel of eight bytes",
        })
    }
}

impl TypedKernel {
    /// The least numbers of a row for so many letters.
    pub(super) fn size(&self, letters: usize) -> usize {
        match self {
            Self::Four(kernel) => kernel.size(letters),
            Self::Eight(kernel) => kernel.size(letters),
        }
    }

    /// Writes all sequences into an array of the kernel's type.
    pub(super) fn fill(
        &self,
        letters: &LetterTable,
        sequences: &Ragged<'_>,
        output: OutputLayout<'_>,
        out: &mut Values,
    ) -> Result<()> {
        match (self, out) {
            (Self::Four(kernel), Values::F32(out)) => {
                output.fill((letters, &**kernel), sequences, out)
            }
            (Self::Four(kernel), Values::I32(out)) => {
                output.fill((letters, &**kernel), sequences, out)
            }
            (Self::Eight(kernel), Values::F64(out)) => {
                output.fill((letters, &**kernel), sequences, out)
            }
            (Self::Eight(kernel), Values::I64(out)) => {
                output.fill((letters, &**kernel), sequences, out)
            }
            (_, out) => Err(misfit(out.data().dtype())),
        }
    }
}

fn misfit(dtype: Dtype) -> Error {
    Error::argument(format!(
        "an encoder cannot fill an array of {dtype}: its own type is another"
    ))
}

/// The size of an output array, and the positions of its rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputLayout<'a> {
    pub(crate) size: usize,
    pub(crate) rows: RowLayout<'a>,
}

impl OutputLayout<'_> {
    /// Lets a kernel write bits into the memory of numbers.
    fn fill<T: Word + bytemuck::Pod, N: bytemuck::Pod + Default>(
        self,
        kernel: (&LetterTable, &dyn RowKernel<T>),
        sequences: &Ragged<'_>,
        out: &mut Vec<N>,
    ) -> Result<()> {
        resize(out, self.size)?;
        let bits: &mut [T] = cast_slice_mut(out.as_mut_slice());
        fill(kernel, sequences, bits, self.rows).map(drop)
    }
}
