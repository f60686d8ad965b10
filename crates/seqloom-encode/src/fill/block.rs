//! A block of sequences, and the output rows for these sequences.

use seqloom_core::{Error, Ragged, Result, simd::dispatch};
use seqloom_macros::vectorized;

use crate::letters::{LetterChecker, LetterCounts, LetterTable};

/// A kernel that encodes a sequence as one row of numbers.
pub trait RowKernel<T: Send>: Send + Sync {
    /// Returns the minimum row length for a sequence with this number of residues.
    fn row_len(&self, letters: usize) -> usize;

    /// Validates the residues and writes the whole row, which has at least
    /// [`row_len`](Self::row_len) numbers. Returns `None` if a character is rejected.
    fn encode(&self, checker: &mut LetterChecker<'_>, letters: &[u8], row: &mut [T]) -> Option<()>;

    /// Encodes a block of sequences. Returns `None` if a row is too short or a
    /// character is rejected.
    fn fill_block(&self, table: &LetterTable, block: RowBlock<'_, T>) -> Option<LetterCounts> {
        write_block(self, table, block)
    }
}

/// The number of sequences between the encoded sequence and the prefetched sequence.
const PREFETCH_DISTANCE: usize = 4;

/// The lengths of the rows of an array.
#[derive(Clone, Copy, Debug)]
pub enum RowLayout<'a> {
    /// All rows have the same length.
    Equal,
    /// Row `i` begins at offset `i` and ends at offset `i + 1`.
    At(&'a [i64]),
}

impl RowLayout<'_> {
    /// Returns the total length of the rows `first..last`, or `None` if the offsets are
    /// invalid.
    #[inline(always)]
    fn length(&self, (first, last): (usize, usize), equal: usize) -> Option<usize> {
        let Self::At(offsets) = self else {
            return Some((last - first) * equal);
        };
        let (start, stop) = (offsets.get(first)?, offsets.get(last)?);
        usize::try_from(stop.checked_sub(*start)?).ok()
    }
}

/// A block of consecutive sequences, and their output rows.
#[derive(Debug)]
pub struct RowBlock<'a, T> {
    sequences: Ragged<'a>,
    /// The index of the first sequence, and the index after the last sequence.
    range: (usize, usize),
    rows: RowLayout<'a>,
    equal: usize,
    out: &'a mut [T],
}

/// Splits the sequences and rows into blocks of `each` sequences. Returns `None` if the
/// rows do not cover the array.
pub(super) fn split_into_blocks<'a, T>(
    sequences: &Ragged<'a>,
    mut rest: &'a mut [T],
    rows: RowLayout<'a>,
    each: usize,
) -> Option<Vec<RowBlock<'a, T>>> {
    let count = sequences.len();
    let equal = rest.len().checked_div(count).unwrap_or(0);
    let block = |first: usize| {
        let range = (first, count.min(first + each));
        let out = rest.split_off_mut(..rows.length(range, equal)?)?;
        Some(RowBlock {
            sequences: *sequences,
            range,
            rows,
            equal,
            out,
        })
    };
    let starts = (0..count).step_by(each.max(1));
    let blocks = starts.map(block).collect::<Option<Vec<_>>>()?;
    rest.is_empty().then_some(blocks)
}

/// Returns an error that names the first sequence whose row is too short.
pub(super) fn check_rows<T: Send>(
    (letters, kernel): (&LetterTable, &dyn RowKernel<T>),
    sequences: &Ragged<'_>,
    (numbers, rows): (usize, RowLayout<'_>),
) -> Result<()> {
    let count = sequences.len();
    let equal = numbers.checked_div(count).unwrap_or(0);
    let misfit = || {
        Error::argument(format!(
            "{count} rows must cover an array of {numbers} numbers without gaps"
        ))
    };
    let mut rest = numbers;
    for (record, sequence) in sequences.iter().enumerate() {
        let positions = rows
            .length((record, record + 1), equal)
            .ok_or_else(misfit)?;
        rest = rest.checked_sub(positions).ok_or_else(misfit)?;
        let size = kernel.row_len(letters.strip_stop(sequence).len());
        if size > positions {
            return Err(row_too_short(record, sequence, (size, positions)));
        }
    }
    if rest == 0 { Ok(()) } else { Err(misfit()) }
}

fn row_too_short(record: usize, sequence: &[u8], (size, positions): (usize, usize)) -> Error {
    Error::argument(format!(
        "sequence {record} has {} residues and needs a row of {size} numbers, got {positions}",
        sequence.len()
    ))
}

/// Encodes a block of sequences. Returns `None` if a row is too short or a character is
/// rejected.
#[vectorized]
pub(super) fn write_block<T: Send, K: RowKernel<T> + ?Sized>(
    kernel: &K,
    table: &LetterTable,
    block: RowBlock<'_, T>,
) -> Option<LetterCounts> {
    let mut rest = block.out;
    let mut checker = LetterChecker::new(table);
    for record in block.range.0..block.range.1 {
        let length = block.rows.length((record, record + 1), block.equal)?;
        let row = rest.split_off_mut(..length)?;
        block.sequences.prefetch(record + PREFETCH_DISTANCE);
        let letters = checker.strip_stop(block.sequences.get(record));
        if kernel.row_len(letters.len()) > row.len() {
            return None;
        }
        kernel.encode(&mut checker, letters, row)?;
    }
    Some(checker.counts())
}
