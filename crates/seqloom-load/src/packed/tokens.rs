//! Letters to tokens, many windows at once.

use seqloom_core::{Error, Ragged, Result};
use seqloom_encode::{LetterCounts, LetterTable, RowKernel, RowLayout, fill};

use crate::gather::RaggedRows;

/// The concatenated tokens of several windows, and the offset of each.
#[derive(Clone, Debug, Default)]
pub struct WindowTokens {
    /// The tokens; behind the last offset stands what is not said.
    pub data: Vec<u32>,
    /// One more than there are windows.
    pub offsets: Vec<i64>,
}

impl WindowTokens {
    /// The number of windows.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there is no window.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tokens of one window; nothing beyond the last.
    pub fn get(&self, window: usize) -> &[u32] {
        let bound = |at: usize| usize::try_from(*self.offsets.get(at)?).ok();
        let bounds = bound(window).zip(bound(window + 1));
        let row = bounds.and_then(|(start, stop)| self.data.get(start..stop));
        row.unwrap_or_default()
    }
}

/// Turns letters into tokens.
pub trait Tokenise: Send {
    /// The sequence without what is taken as absent.
    fn strip<'a>(&self, sequence: &'a [u8]) -> &'a [u8] {
        sequence
    }

    /// The number of tokens of so many letters, where that is known before.
    fn size(&self, _letters: usize) -> Option<usize> {
        None
    }

    /// Writes the tokens of some windows into `out`. After an error, `out` has those before
    /// the first window that is refused.
    fn tokenise(&mut self, windows: &RaggedRows, out: &mut WindowTokens) -> Result<()>;

    /// Letters met since the last call that are not plain, by kind.
    fn met(&mut self) -> [i64; 7] {
        [0; 7]
    }
}

/// Writes tokens by a kernel, as [`Tokenise::tokenise`] says. Nothing is taken as absent:
/// that was done before the record was cut.
pub fn fill_rows(
    (letters, kernel): (&LetterTable, &dyn RowKernel<u32>),
    windows: &RaggedRows,
    out: &mut WindowTokens,
) -> Result<LetterCounts> {
    let done = fill_first((letters, kernel), windows, usize::MAX, out);
    if let Err(Error::Letter { record, .. }) = &done {
        fill_first((letters, kernel), windows, *record, out)?;
    }
    done
}

/// Writes the tokens of the first few windows.
fn fill_first(
    (letters, kernel): (&LetterTable, &dyn RowKernel<u32>),
    windows: &RaggedRows,
    count: usize,
    out: &mut WindowTokens,
) -> Result<LetterCounts> {
    let last = windows.offsets.len().min(count.saturating_add(1));
    let sequences = Ragged::new(&windows.data, &windows.offsets[..last])?;
    let size = |letters: &[u8]| i64::try_from(kernel.size(letters.len())).unwrap_or(i64::MAX);
    out.offsets.clear();
    out.offsets.push(0);
    out.offsets
        .extend(sequences.iter().map(size).scan(0, |end, size| {
            *end += size;
            Some(*end)
        }));
    let total = out.offsets.last().copied().unwrap_or_default();
    let total = usize::try_from(total).unwrap_or(usize::MAX);
    reserve(&mut out.data, total)?;
    let tokens = &mut out.data[..total];
    fill(
        (letters, kernel),
        &sequences,
        tokens,
        RowLayout::At(&out.offsets),
    )
}

/// Resizes the vector to this number of tokens, and keeps those that it has.
fn reserve(data: &mut Vec<u32>, total: usize) -> Result<()> {
    let more = total.saturating_sub(data.len());
    data.try_reserve(more)
        .map_err(|_| Error::full(format!("{total} tokens do not fit into memory")))?;
    if more > 0 {
        data.resize(total, 0);
    }
    Ok(())
}
