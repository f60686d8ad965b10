//! Sequences that are filled together, and their rows.

use seqloom_core::simd::dispatch;
use seqloom_core::{Error, Ragged, Result};
use seqloom_macros::vectorized;

use crate::letters::{Counts, Judge, Letters};

/// Writes the letters of one sequence as the numbers of one row.
pub trait Kernel<T: Send>: Send + Sync {
    /// The least numbers of a row for so many letters.
    fn size(&self, letters: usize) -> usize;

    /// Writes a whole row, which is at least as long as [`size`](Self::size) says, and has
    /// the letters judged; nothing if one is refused.
    fn fill(&self, judge: &mut Judge<'_>, letters: &[u8], row: &mut [T]) -> Option<()>;

    /// Writes many rows; nothing if one is too short, or a letter is refused.
    fn fill_block(&self, table: &Letters, block: Block<'_, T>) -> Option<Counts> {
        write(self, table, block)
    }
}

/// So many sequences ahead are asked for.
const AHEAD: usize = 4;

/// Where the rows of an array lie.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// All have one length.
    Equal,
    /// Row `i` lies from the i-th number to the next.
    At(&'a [i64]),
}

impl Rows<'_> {
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

/// Some of the sequences, and just their rows.
#[derive(Debug)]
pub struct Block<'a, T> {
    sequences: Ragged<'a>,
    /// The first of them, and the first that is no more of them.
    range: (usize, usize),
    rows: Rows<'a>,
    equal: usize,
    out: &'a mut [T],
}

/// Cuts everything into blocks of so many sequences; nothing if the rows do not cut the array
/// into parts.
pub(super) fn cut<'a, T>(
    sequences: &Ragged<'a>,
    mut rest: &'a mut [T],
    rows: Rows<'a>,
    each: usize,
) -> Option<Vec<Block<'a, T>>> {
    let count = sequences.len();
    let equal = rest.len().checked_div(count).unwrap_or(0);
    let block = |first: usize| {
        let range = (first, count.min(first + each));
        let out = rest.split_off_mut(..rows.length(range, equal)?)?;
        Some(Block {
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
    (letters, kernel): (&Letters, &dyn Kernel<T>),
    sequences: &Ragged<'_>,
    (found, rows): (usize, Rows<'_>),
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
pub(super) fn write<T: Send, K: Kernel<T> + ?Sized>(
    kernel: &K,
    table: &Letters,
    block: Block<'_, T>,
) -> Option<Counts> {
    let mut rest = block.out;
    let mut judge = Judge::new(table);
    for record in block.range.0..block.range.1 {
        let length = block.rows.length((record, record + 1), block.equal)?;
        let row = rest.split_off_mut(..length)?;
        block.sequences.expect(record + AHEAD);
        let letters = judge.strip(block.sequences.get(record));
        if kernel.size(letters.len()) > row.len() {
            return None;
        }
        kernel.fill(&mut judge, letters, row)?;
    }
    Some(judge.counts())
}
