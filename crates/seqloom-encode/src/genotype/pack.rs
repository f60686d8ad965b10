//! Encodes numbers as two-bit codes.
//!
//! Many numbers are converted to codes together, with comparisons, and then four codes
//! are combined into a byte. If the numbers of a packed row are contiguous in memory,
//! the four codes of a byte are adjacent. If the four codes of a byte come from four
//! rows of the matrix, the bytes of a tile are transposed when they are written.

use std::fmt::Display;

use rayon::prelude::*;
use seqloom_core::{Error, Result, simd::dispatch};
use seqloom_macros::vectorized;

use super::Genotype;
use crate::fill::MIN_PARALLEL_BYTES;

/// The number of packed rows that a thread writes together.
const BLOCK_LINES: usize = 256;

/// The number of bytes of each packed row that are written together.
const TILE_BYTES: usize = 64;

/// A matrix of genotypes, and the axis along which it is packed.
#[derive(Clone, Copy, Debug)]
pub struct GenotypeMatrix<'a, T> {
    /// The values of the matrix, without gaps in memory.
    pub values: &'a [T],
    /// The number of rows, and the number of columns.
    pub shape: (usize, usize),
    /// True if the values of a column are contiguous in memory; false if the values of
    /// a row are contiguous.
    pub is_fortran: bool,
    /// True if each column of the matrix becomes a packed row; false if each row of the
    /// matrix becomes a packed row.
    pub lines_are_columns: bool,
}

impl<T> GenotypeMatrix<'_, T> {
    const fn line_count(&self) -> usize {
        if self.lines_are_columns {
            self.shape.1
        } else {
            self.shape.0
        }
    }

    const fn position_count(&self) -> usize {
        if self.lines_are_columns {
            self.shape.0
        } else {
            self.shape.1
        }
    }

    /// Returns true if the values of a packed row are contiguous in the matrix.
    const fn is_line_contiguous(&self) -> bool {
        self.is_fortran == self.lines_are_columns
    }

    /// Returns the offset of the value in the matrix at a column of a packed row.
    const fn value_offset(&self, line: usize, position: usize) -> usize {
        if self.is_line_contiguous() {
            line * self.position_count() + position
        } else {
            position * self.line_count() + line
        }
    }
}

/// Packs a matrix of 0, 1, 2 and missing values into rows of whole bytes, padded with
/// zeros.
///
/// Inside a rayon pool, the threads of the pool share the work.
pub fn pack_genotypes<T: Genotype + Display>(
    matrix: GenotypeMatrix<'_, T>,
    count_a1: bool,
    out: &mut [u8],
) -> Result<()> {
    let (lines, stride) = (matrix.line_count(), matrix.position_count().div_ceil(4));
    if matrix.values.len() != lines * matrix.position_count() || out.len() != lines * stride {
        let sizes = (matrix.shape, matrix.values.len(), out.len());
        return Err(Error::argument(format!(
            "the shape must match the values, and the output must have \
             {lines} rows of {stride} bytes, got {sizes:?}"
        )));
    }
    let size = (BLOCK_LINES * stride).max(1);
    let one = |(number, out): (usize, &mut [u8])| {
        let first = number * BLOCK_LINES;
        let work = LineBlock {
            matrix,
            count_a1,
            first,
            out,
        };
        (!pack_block(work)).then_some(first)
    };
    // Outside a pool, this thread does all work, because a parallel iterator would
    // create rayon's global pool.
    let serial =
        size_of_val(matrix.values) < MIN_PARALLEL_BYTES || rayon::current_thread_index().is_none();
    let wrong = if serial {
        out.chunks_mut(size).enumerate().find_map(one)
    } else {
        out.par_chunks_mut(size).enumerate().find_map_first(one)
    };
    wrong.map_or(Ok(()), |first| Err(invalid_value(&matrix, first)))
}

/// A block of packed rows to write.
struct LineBlock<'a, T> {
    matrix: GenotypeMatrix<'a, T>,
    count_a1: bool,
    first: usize,
    out: &'a mut [u8],
}

/// Packs a block of rows. Returns true if all values are genotypes.
#[vectorized]
fn pack_block<T: Genotype>(block: LineBlock<'_, T>) -> bool {
    if block.matrix.is_line_contiguous() {
        block.pack_contiguous()
    } else {
        block.pack_strided()
    }
}

impl<T: Genotype> LineBlock<'_, T> {
    #[inline(always)]
    fn pack_contiguous(self) -> bool {
        let positions = self.matrix.position_count();
        let values = &self.matrix.values[self.first * positions..];
        let lines = self.out.chunks_exact_mut(positions.div_ceil(4));
        let mut is_valid = true;
        for (line, values) in lines.zip(values.chunks_exact(positions)) {
            for (bytes, values) in line
                .chunks_mut(TILE_BYTES)
                .zip(values.chunks(4 * TILE_BYTES))
            {
                let mut codes = [0; 4 * TILE_BYTES];
                is_valid &= encode_values(values, self.count_a1, &mut codes);
                join_codes(&codes, bytes);
            }
        }
        is_valid
    }

    #[inline(always)]
    fn pack_strided(self) -> bool {
        let stride = self.matrix.position_count().div_ceil(4);
        let lines = self.out.len() / stride;
        let mut is_valid = true;
        for byte in (0..stride).step_by(TILE_BYTES) {
            let width = TILE_BYTES.min(stride - byte);
            let mut tile = [[0; BLOCK_LINES]; TILE_BYTES];
            for (at, bytes) in tile[..width].iter_mut().enumerate() {
                is_valid &= self.pack_four_rows(4 * (byte + at), &mut bytes[..lines]);
            }
            for (number, line) in self.out.chunks_exact_mut(stride).enumerate() {
                for (out, bytes) in line[byte..][..width].iter_mut().zip(&tile) {
                    *out = bytes[number];
                }
            }
        }
        is_valid
    }

    /// Packs four codes into one byte for each packed row of the block.
    #[inline(always)]
    fn pack_four_rows(&self, first: usize, bytes: &mut [u8]) -> bool {
        let mut is_valid = true;
        let mut codes = [0; BLOCK_LINES];
        for position in first..self.matrix.position_count().min(first + 4) {
            let start = self.matrix.value_offset(self.first, position);
            let values = &self.matrix.values[start..][..bytes.len()];
            is_valid &= encode_values(values, self.count_a1, &mut codes);
            for (byte, code) in bytes.iter_mut().zip(&codes) {
                *byte |= code << (2 * (position - first));
            }
        }
        is_valid
    }
}

/// Writes the code of each value. Returns true if all values are genotypes.
#[inline(always)]
fn encode_values<T: Genotype>(values: &[T], count_a1: bool, codes: &mut [u8]) -> bool {
    let [no_copies, two_copies] = if count_a1 { [3, 0] } else { [0, 3] };
    let [zero, one, two] = [0, 1, 2].map(T::from_allele_count);
    let mut has_invalid = 0;
    for (code, value) in codes.iter_mut().zip(values) {
        let [is_zero, is_one, is_two] = [zero, one, two].map(|each| u8::from(*value == each));
        let is_missing = u8::from(is_missing(*value));
        has_invalid |= 1 ^ (is_zero | is_one | is_two | is_missing);
        *code = (is_zero * no_copies) | (is_one << 1) | (is_two * two_copies) | is_missing;
    }
    has_invalid == 0
}

/// Returns true if a value is NaN or equal to the missing value.
#[expect(clippy::eq_op, reason = "tests for NaN in any type")]
#[inline(always)]
fn is_missing<T: Genotype>(value: T) -> bool {
    value == T::MISSING || value != value
}

/// Combines four adjacent codes into a byte.
#[inline(always)]
fn join_codes(codes: &[u8; 4 * TILE_BYTES], bytes: &mut [u8]) {
    for (byte, four) in bytes.iter_mut().zip(codes.as_chunks::<4>().0) {
        let four = u32::from_le_bytes(*four);
        *byte = (four | four >> 6 | four >> 12 | four >> 18).to_le_bytes()[0];
    }
}

/// Returns the error for the first value in a block of packed rows that is not a
/// genotype.
fn invalid_value<T: Genotype + Display>(matrix: &GenotypeMatrix<'_, T>, first: usize) -> Error {
    let last = matrix.line_count().min(first + BLOCK_LINES);
    let positions =
        (first..last).flat_map(|line| (0..matrix.position_count()).map(move |at| (line, at)));
    let wrong = positions.map(|(line, position)| {
        (
            line,
            position,
            matrix.values[matrix.value_offset(line, position)],
        )
    });
    let mut wrong = wrong.filter(|(_, _, value)| !encode_values(&[*value], true, &mut [0]));
    let Some((line, position, value)) = wrong.next() else {
        return Error::argument("a value is not a genotype");
    };
    let (row, column) = if matrix.lines_are_columns {
        (position, line)
    } else {
        (line, position)
    };
    let missing = T::MISSING;
    Error::argument(format!(
        "row {row}, column {column}: expected 0, 1, 2 or {missing} for missing, found {value}"
    ))
}

#[cfg(test)]
mod tests;
