//! Sequences that are filled together, and their rows.

use seqloom_core::simd::dispatch;
use seqloom_core::{Error, Ragged, Result};
use seqloom_macros::vectorized;

use crate::letters::{LetterChecker, LetterCounts, LetterTable};

/// Writes the letters of one sequence as the numbers of one row.
pub trait RowKernel<T: Send>: Send + Sync {
    /// The least numbers of a row for so many letters.
    fn size(&self, letters: usize) -> usize;

    /// Checks the letters and writes a whole row, which has at least [`size`](Self::size)
    /// numbers; `None` if a letter is refused.
    fn fill(&self, checker: &mut LetterChecker<'_>, letters: &[u8], row: &mut [T]) -> Option<()>;

    /// Writes many rows; nothing if one is too short, or a letter is refused.
    fn fill_block(&self, table: &LetterTable, block: RowBlock<'_, T>) -> Option<LetterCounts> {
        write(self, table, block)
    }
}

/// So many sequences ahead are asked for.
const AHEAD: usize = 4;

/// The positions of the rows in an array.
#[derive(Clone, Copy, Debug)]
pub enum RowLayout<'a> {
    /// All have one length.
    Equal,
    /// Row `i` lies from the i-th number to the next.
    At(&'a [i64]),
}

impl RowLayout<'_> {
    /// The numbers of the rows from one to another; nothing if there are no such rows.
    #[inline(always)]
    fn length(&self, (first, last): (usize, usize), equal: usize) -> Option<usize> {
        let Self::At(offsets) = self else {
            return Some((last - first) * equal);
        };
        let (start, stop) = (offsets.get(first)?, offsets.get(last)?);
        usize::try_from(stop.checked_sub(*start)?).ok()
    }
}

/// A block of consecutive sequences, and their rows.
#[derive(Debug)]
pub struct RowBlock<'a, T> {
    sequences: Ragged<'a>,
    /// The first of them, and the first that is no more of them.
    range: (usize, usize),
    rows: RowLayout<'a>,
    equal: usize,
    out: &'a mut [T],
}

/// Cuts everything into blocks of so many sequences; nothing if the rows do not cut the array
/// into parts.
pub(super) fn cut<'a, T>(
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

/// Finds the row that does not fit.
pub(super) fn check<T: Send>(
    (letters, kernel): (&LetterTable, &dyn RowKernel<T>),
    sequences: &Ragged<'_>,
    (found, rows): (usize, RowLayout<'_>),
) -> Result<()> {
    let count = sequences.len();
    let equal = found.checked_div(count).unwrap_or(0);
    let misfit = || {
        Error::argument(format!(
            "{count} rows do not cut an array of {found} numbers into parts"
        ))
    };
    let mut rest = found;
    for (record, sequence) in sequences.iter().enumerate() {
        let positions = rows
            .length((record, record + 1), equal)
            .ok_or_else(misfit)?;
        rest = rest.checked_sub(positions).ok_or_else(misfit)?;
        let size = kernel.size(letters.stripped(sequence).len());
        if size > positions {
            return Err(too_long(record, sequence, (size, positions)));
        }
    }
    if rest == 0 { Ok(()) } else { Err(misfit()) }
}

fn too_long(record: usize, sequence: &[u8], (size, positions): (usize, usize)) -> Error {
    Error::argument(format!(
        "sequence {record} has {} letters, which take {size} numbers: its row has {positions}",
        sequence.len()
    ))
}

/// Writes a block; nothing if a row is too short, or a letter is refused.
#[vectorized]
pub(super) fn write<T: Send, K: RowKernel<T> + ?Sized>(
    kernel: &K,
    table: &LetterTable,
    block: RowBlock<'_, T>,
) -> Option<LetterCounts> {
    let mut rest = block.out;
    let mut checker = LetterChecker::new(table);
    for record in block.range.0..block.range.1 {
        let length = block.rows.length((record, record + 1), block.equal)?;
        let row = rest.split_off_mut(..length)?;
        block.sequences.prefetch(record + AHEAD);
        let letters = checker.strip(block.sequences.get(record));
        if kernel.size(letters.len()) > row.len() {
            return None;
        }
        kernel.fill(&mut checker, letters, row)?;
    }
    Some(checker.counts())
}
