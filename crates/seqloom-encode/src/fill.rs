//! Encodes sequences into the rows of an array, with any kernel and number of threads.

mod block;

use rayon::prelude::*;
use seqloom_core::{Ragged, Result};

pub use block::{RowBlock, RowKernel, RowLayout};

use crate::ElementBits;
use crate::letters::{LetterCounts, LetterTable};

/// The minimum size of the output in bytes for which several threads are used.
pub(crate) const MIN_PARALLEL_BYTES: usize = 1 << 18;

/// The number of rows in a block, which one thread fills.
const BLOCK_ROWS: usize = 8;

/// Writes each sequence into a row of `out`. After an error the content of `out` is unspecified.
///
/// Inside a rayon pool, the threads of the pool share the work.
pub fn encode<T: ElementBits>(
    kernel: (&LetterTable, &dyn RowKernel<T>),
    sequences: &Ragged<'_>,
    out: &mut [T],
    rows: RowLayout<'_>,
) -> Result<LetterCounts> {
    T::fill_rows(kernel, sequences, out, rows)
}

pub(crate) fn fill_rows<T: Send>(
    (letters, kernel): (&LetterTable, &dyn RowKernel<T>),
    sequences: &Ragged<'_>,
    out: &mut [T],
    rows: RowLayout<'_>,
) -> Result<LetterCounts> {
    let numbers = out.len();
    // Outside a pool, this thread does all work, because a parallel iterator would
    // create rayon's global pool.
    let serial = size_of_val(out) < MIN_PARALLEL_BYTES || rayon::current_thread_index().is_none();
    let block_rows = if serial { sequences.len() } else { BLOCK_ROWS };
    let fill_block = |block| kernel.fill_block(letters, block);
    let filled = block::split_into_blocks(sequences, out, rows, block_rows).and_then(|blocks| {
        if serial {
            return blocks
                .into_iter()
                .try_fold(LetterCounts::default(), fill_and_count(fill_block));
        }
        let blocks = blocks.into_par_iter();
        blocks
            .try_fold(LetterCounts::default, fill_and_count(fill_block))
            .try_reduce(LetterCounts::default, |a, b| Some(a.plus(b)))
    });
    filled.ok_or_else(|| {
        let checked = block::check_rows((letters, kernel), sequences, (numbers, rows));
        checked.map_or_else(|error| error, |()| letters.first_rejection(sequences))
    })
}

/// Returns a function that fills a block and adds the character counts of the block to
/// a sum.
fn fill_and_count<B>(
    fill_block: impl Fn(B) -> Option<LetterCounts>,
) -> impl Fn(LetterCounts, B) -> Option<LetterCounts> {
    move |sum, block| fill_block(block).map(|counts| sum.plus(counts))
}
