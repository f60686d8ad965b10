//! Sequences into the rows of an array, by any kernel, on any number of threads.

mod block;

use rayon::prelude::*;
use seqloom_core::{Ragged, Result};

pub use block::{RowBlock, RowKernel, RowLayout};

use crate::Word;
use crate::letters::{LetterCounts, LetterTable};

/// Below this many output bytes, waking other threads costs more than it saves.
const WORTH_SHARING: usize = 1 << 18;

/// Rows that a thread takes at once.
const ROWS: usize = 8;

/// Writes all sequences into `out`, one row for each. What stands there after an error is
/// not said.
///
/// Inside a rayon pool the rows are shared among its threads.
pub fn fill<T: Word>(
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
    let found = out.len();
    // Outside a pool rayon would build its global one.
    let alone = size_of_val(out) < WORTH_SHARING || rayon::current_thread_index().is_none();
    let each = if alone { sequences.len() } else { ROWS };
    let one = |block| kernel.fill_block(letters, block);
    let filled = block::cut(sequences, out, rows, each).and_then(|blocks| {
        if alone {
            return blocks
                .into_iter()
                .try_fold(LetterCounts::default(), add(one));
        }
        let each = blocks.into_par_iter();
        each.try_fold(LetterCounts::default, add(one))
            .try_reduce(LetterCounts::default, |a, b| Some(a.plus(b)))
    });
    filled.ok_or_else(|| {
        let checked = block::check((letters, kernel), sequences, (found, rows));
        checked.map_or_else(|error| error, |()| letters.first_refused(sequences))
    })
}

/// Adds the counts of a block.
fn add<B>(
    one: impl Fn(B) -> Option<LetterCounts>,
) -> impl Fn(LetterCounts, B) -> Option<LetterCounts> {
    move |sum, block| one(block).map(|counts| sum.plus(counts))
}
