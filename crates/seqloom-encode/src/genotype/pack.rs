//! Numbers to two-bit codes.
//!
//! A value becomes a code by comparisons alone, for many values at once; then the codes of
//! four positions are joined to a byte. Where a line's positions lie end to end, they are four
//! neighbours. Where lines lie side by side, they come from four rows, and the bytes of a
//! tile are transposed on their way out.

use std::fmt::Display;

use rayon::prelude::*;
use seqloom_core::simd::dispatch;
use seqloom_core::{Error, Result};
use seqloom_macros::vectorized;

use super::Genotype;

/// Lines that a thread packs together.
const BLOCK: usize = 256;

/// Bytes of each line that are made together, where lines lie side by side.
const BYTES: usize = 64;

/// Below this many bytes of values, waking other threads costs more than it saves.
const WORTH_SHARING: usize = 1 << 18;

/// A matrix of genotypes, and which of its axes become lines.
#[derive(Clone, Copy, Debug)]
pub struct GenotypeMatrix<'a, T> {
    /// All values, without gaps.
    pub values: &'a [T],
    /// How many rows and columns.
    pub shape: (usize, usize),
    /// Whether the values of a column, not of a row, lie end to end.
    pub is_fortran: bool,
    /// Whether a column, not a row, becomes a line.
    pub lines_are_columns: bool,
}

impl<T> GenotypeMatrix<'_, T> {
    const fn lines(&self) -> usize {
        if self.lines_are_columns {
            self.shape.1
        } else {
            self.shape.0
        }
    }

    const fn positions(&self) -> usize {
        if self.lines_are_columns {
            self.shape.0
        } else {
            self.shape.1
        }
    }

    /// Whether the positions of a line lie end to end.
    const fn is_along(&self) -> bool {
        self.is_fortran == self.lines_are_columns
    }

    /// Where the value of a position of a line stands.
    const fn at(&self, line: usize, position: usize) -> usize {
        if self.is_along() {
            line * self.positions() + position
        } else {
            position * self.lines() + line
        }
    }
}

/// Packs a matrix of 0, 1, 2 and missing values into lines of whole bytes, the last filled up
/// with zeros.
///
/// Inside a rayon pool the lines are shared among its threads.
pub fn pack<T: Genotype + Display>(
    matrix: GenotypeMatrix<'_, T>,
    count_a1: bool,
    out: &mut [u8],
) -> Result<()> {
    let (lines, stride) = (matrix.lines(), matrix.positions().div_ceil(4));
    if matrix.values.len() != lines * matrix.positions() || out.len() != lines * stride {
        let found = (matrix.shape, matrix.values.len(), out.len());
        return Err(Error::argument(format!(
            "expected a shape, its values, and {lines} lines of {stride} bytes, got {found:?}"
        )));
    }
    let size = (BLOCK * stride).max(1);
    let one = |(number, out): (usize, &mut [u8])| {
        let first = number * BLOCK;
        let work = LineBlock {
            matrix,
            count_a1,
            first,
            out,
        };
        (!pack_block(work)).then_some(first)
    };
    // Outside a pool rayon would build its global one.
    let alone =
        size_of_val(matrix.values) < WORTH_SHARING || rayon::current_thread_index().is_none();
    let wrong = if alone {
        out.chunks_mut(size).enumerate().find_map(one)
    } else {
        out.par_chunks_mut(size).enumerate().find_map_first(one)
    };
    wrong.map_or(Ok(()), |first| Err(refused(&matrix, first)))
}

/// Whole lines.
struct LineBlock<'a, T> {
    matrix: GenotypeMatrix<'a, T>,
    count_a1: bool,
    first: usize,
    out: &'a mut [u8],
}

/// Whether all values are genotypes.
#[vectorized]
fn pack_block<T: Genotype>(block: LineBlock<'_, T>) -> bool {
    if block.matrix.is_along() {
        block.along()
    } else {
        block.across()
    }
}

impl<T: Genotype> LineBlock<'_, T> {
    #[inline(always)]
    fn along(self) -> bool {
        let positions = self.matrix.positions();
        let values = &self.matrix.values[self.first * positions..];
        let lines = self.out.chunks_exact_mut(positions.div_ceil(4));
        let mut legal = true;
        for (line, values) in lines.zip(values.chunks_exact(positions)) {
            for (bytes, values) in line.chunks_mut(BYTES).zip(values.chunks(4 * BYTES)) {
                let mut codes = [0; 4 * BYTES];
                legal &= encode(values, self.count_a1, &mut codes);
                join(&codes, bytes);
            }
        }
        legal
    }

    #[inline(always)]
    fn across(self) -> bool {
        let stride = self.matrix.positions().div_ceil(4);
        let lines = self.out.len() / stride;
        let mut legal = true;
        for byte in (0..stride).step_by(BYTES) {
            let width = BYTES.min(stride - byte);
            let mut tile = [[0; BLOCK]; BYTES];
            for (at, bytes) in tile[..width].iter_mut().enumerate() {
                legal &= self.four_rows(4 * (byte + at), &mut bytes[..lines]);
            }
            for (number, line) in self.out.chunks_exact_mut(stride).enumerate() {
                for (out, bytes) in line[byte..][..width].iter_mut().zip(&tile) {
                    *out = bytes[number];
                }
            }
        }
        legal
    }

    /// The bytes of four positions, one for each line of the block.
    #[inline(always)]
    fn four_rows(&self, first: usize, bytes: &mut [u8]) -> bool {
        let mut legal = true;
        let mut codes = [0; BLOCK];
        for position in first..self.matrix.positions().min(first + 4) {
            let start = self.matrix.at(self.first, position);
            let values = &self.matrix.values[start..][..bytes.len()];
            legal &= encode(values, self.count_a1, &mut codes);
            for (byte, code) in bytes.iter_mut().zip(&codes) {
                *byte |= code << (2 * (position - first));
            }
        }
        legal
    }
}

/// Writes the code of each value, and says whether all have one.
#[inline(always)]
fn encode<T: Genotype>(values: &[T], count_a1: bool, codes: &mut [u8]) -> bool {
    let [none, both] = if count_a1 { [3, 0] } else { [0, 3] };
    let [zero, one, two] = [0, 1, 2].map(T::copies);
    let mut illegal = 0;
    for (code, value) in codes.iter_mut().zip(values) {
        let [is_zero, is_one, is_two] = [zero, one, two].map(|each| u8::from(*value == each));
        let is_missing = u8::from(is_missing(*value));
        illegal |= 1 ^ (is_zero | is_one | is_two | is_missing);
        *code = (is_zero * none) | (is_one << 1) | (is_two * both) | is_missing;
    }
    illegal == 0
}

/// NaN is not even itself.
#[expect(clippy::eq_op, reason = "how NaN is told for any type")]
#[inline(always)]
fn is_missing<T: Genotype>(value: T) -> bool {
    value == T::MISSING || value != value
}

/// Joins four neighbours to a byte.
#[inline(always)]
fn join(codes: &[u8; 4 * BYTES], bytes: &mut [u8]) {
    for (byte, four) in bytes.iter_mut().zip(codes.as_chunks::<4>().0) {
        let four = u32::from_le_bytes(*four);
        *byte = (four | four >> 6 | four >> 12 | four >> 18).to_le_bytes()[0];
    }
}

/// The error of the first value, in a block of lines, that is no genotype.
fn refused<T: Genotype + Display>(matrix: &GenotypeMatrix<'_, T>, first: usize) -> Error {
    let last = matrix.lines().min(first + BLOCK);
    let positions =
        (first..last).flat_map(|line| (0..matrix.positions()).map(move |at| (line, at)));
    let wrong = positions
        .map(|(line, position)| (line, position, matrix.values[matrix.at(line, position)]));
    let mut wrong = wrong.filter(|(_, _, value)| !encode(&[*value], true, &mut [0]));
    let Some((line, position, value)) = wrong.next() else {
        return Error::argument("a value is no genotype");
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
