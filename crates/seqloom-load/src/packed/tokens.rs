//! The interface of a tokeniser.

use seqloom_core::{Error, Ragged, Result};
use seqloom_encode::{LetterCounts, LetterTable, RowKernel, RowLayout, encode};

use crate::gather::RaggedRows;

/// The concatenated tokens of several windows and their offsets.
#[derive(Clone, Debug, Default)]
pub struct WindowTokens {
    /// The tokens of all windows. Elements after the last offset are unspecified.
    pub data: Vec<u32>,
    /// The offset of each window in `data`, followed by the number of tokens.
    pub offsets: Vec<i64>,
}

impl WindowTokens {
    /// Returns the number of windows.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns true if there are no windows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the tokens of a window; an empty slice if there is no such window.
    pub fn get(&self, window: usize) -> &[u32] {
        let bound = |at: usize| usize::try_from(*self.offsets.get(at)?).ok();
        let bounds = bound(window).zip(bound(window + 1));
        let row = bounds.and_then(|(start, stop)| self.data.get(start..stop));
        row.unwrap_or_default()
    }
}

/// Converts residues to tokens.
pub trait Tokenise: Send {
    /// Returns the sequence without characters that are ignored, such as a final stop
    /// (`*`).
    fn strip_ignored<'a>(&self, sequence: &'a [u8]) -> &'a [u8] {
        sequence
    }

    /// Returns the number of tokens of `letters` residues, or `None` if the number
    /// depends on the sequence.
    fn size(&self, _letters: usize) -> Option<usize> {
        None
    }

    /// Writes the tokens of windows to `out`. After an error, `out` contains the tokens
    /// of the windows before the first rejected window.
    fn tokenise(&mut self, windows: &RaggedRows, out: &mut WindowTokens) -> Result<()>;

    /// Returns the counts of unusual characters by kind since the last call.
    fn take_character_counts(&mut self) -> [i64; 7] {
        [0; 7]
    }
}

/// Implements [`Tokenise::tokenise`] with a kernel. The kernel does not remove ignored
/// characters, because they were removed before the record was split.
pub fn tokenise_rows(
    (letters, kernel): (&LetterTable, &dyn RowKernel<u32>),
    windows: &RaggedRows,
    out: &mut WindowTokens,
) -> Result<LetterCounts> {
    let done = tokenise_first_rows((letters, kernel), windows, usize::MAX, out);
    if let Err(Error::Letter { record, .. }) = &done {
        tokenise_first_rows((letters, kernel), windows, *record, out)?;
    }
    done
}

/// Writes the tokens of the first windows to `out`.
fn tokenise_first_rows(
    (letters, kernel): (&LetterTable, &dyn RowKernel<u32>),
    windows: &RaggedRows,
    count: usize,
    out: &mut WindowTokens,
) -> Result<LetterCounts> {
    let last = windows.offsets.len().min(count.saturating_add(1));
    let sequences = Ragged::new(&windows.data, &windows.offsets[..last])?;
    let size = |letters: &[u8]| i64::try_from(kernel.row_len(letters.len())).unwrap_or(i64::MAX);
    out.offsets.clear();
    out.offsets.push(0);
    out.offsets
        .extend(sequences.iter().map(size).scan(0, |end, size| {
            *end += size;
            Some(*end)
        }));
    let total = out.offsets.last().copied().unwrap_or_default();
    let total = usize::try_from(total).unwrap_or(usize::MAX);
    resize_tokens(&mut out.data, total)?;
    let tokens = &mut out.data[..total];
    encode(
        (letters, kernel),
        &sequences,
        tokens,
        RowLayout::At(&out.offsets),
    )
}

/// Resizes the vector to `total` tokens; existing tokens are not changed.
fn resize_tokens(data: &mut Vec<u32>, total: usize) -> Result<()> {
    let more = total.saturating_sub(data.len());
    data.try_reserve(more)
        .map_err(|_| Error::full(format!("{total} tokens do not fit into memory")))?;
    if more > 0 {
        data.resize(total, 0);
    }
    Ok(())
}
