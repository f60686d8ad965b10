//! Access to rows of two-bit codes in a file or in memory.

use std::ops::Range;

use seqloom_core::{Error, Result, interrupt::CancelToken};
use seqloom_plink::{Bed, BedLayout, padding::PaddingCheck};

/// Rows of codes that threads can read by number.
pub trait LineSource: Sync {
    /// Returns the number of bytes of a row.
    fn line_bytes(&self) -> usize;

    /// Fills `out` with the same range of bytes of consecutive rows. The number of the
    /// first row is `first`.
    fn fetch_bytes(&self, first: usize, bytes: Range<usize>, out: &mut [u8]) -> Result<()>;

    /// Checks the padding of consecutive whole rows after they were read.
    fn check_padding(&self, _first: usize, _lines: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Returns the maximum number of unselected rows between selected rows that are read
    /// together. Reading a few more rows is faster than two system calls.
    fn max_gap_lines(&self) -> usize {
        0
    }
}

/// The rows of a `.bed` file. The padding of the rows can be checked when the rows are
/// read.
#[derive(Debug)]
pub struct BedSource<'a> {
    /// The file.
    pub bed: &'a Bed,
    /// The layout of the file.
    pub layout: BedLayout,
    /// The check of the padding, or `None` if the padding is not checked.
    pub padding: Option<PaddingCheck>,
    /// The token that cancels the read; `None` if the caller checks for cancellation.
    pub stop: Option<CancelToken>,
}

/// Size in bytes of a gap above which the ranges on both sides are read separately.
const MAX_GAP_BYTES: usize = 4096;

impl LineSource for BedSource<'_> {
    fn line_bytes(&self) -> usize {
        self.layout.row_bytes()
    }

    fn fetch_bytes(&self, first: usize, bytes: Range<usize>, out: &mut [u8]) -> Result<()> {
        let width = bytes.len();
        if width < self.line_bytes() {
            let start = |line| self.layout.row_offset(line) + bytes.start as u64;
            let mut lines = out.chunks_mut(width.max(1)).enumerate();
            return lines.try_for_each(|(line, out)| {
                self.check_cancelled()?;
                self.bed.read_at(start(first + line), out)
            });
        }
        self.check_cancelled()?;
        self.bed.read_lines(&self.layout, first, out)
    }

    fn check_padding(&self, first: usize, lines: &[u8]) -> Result<()> {
        match &self.padding {
            Some(padding) => padding.add_lines(self.bed, &self.layout, first, lines),
            None => Ok(()),
        }
    }

    fn max_gap_lines(&self) -> usize {
        MAX_GAP_BYTES / self.line_bytes().max(1)
    }
}

impl BedSource<'_> {
    /// Returns an error if the read was cancelled.
    fn check_cancelled(&self) -> Result<()> {
        let running = self
            .stop
            .as_ref()
            .map_or(Ok(()), CancelToken::check_cancelled);
        running.map_err(|error| Error::io(self.bed.path(), &error))
    }
}

/// Rows of codes in memory.
#[derive(Clone, Copy, Debug)]
pub struct MemorySource<'a> {
    /// The concatenated rows.
    pub lines: &'a [u8],
    /// The number of bytes of a row.
    pub stride: usize,
}

impl LineSource for MemorySource<'_> {
    fn line_bytes(&self) -> usize {
        self.stride
    }

    fn fetch_bytes(&self, first: usize, bytes: Range<usize>, out: &mut [u8]) -> Result<()> {
        let width = bytes.len().max(1);
        let lines = self.lines.chunks(self.stride.max(1)).skip(first);
        for (out, line) in out.chunks_mut(width).zip(lines) {
            out.copy_from_slice(&line[bytes.clone()]);
        }
        Ok(())
    }
}

/// Returns the range of bytes of a row that is read for the given positions. The range is
/// the whole row unless a large fraction of the row is not needed.
pub(super) fn byte_window(stride: usize, positions: &Range<usize>) -> Range<usize> {
    let needed = positions.start / 4..positions.end.div_ceil(4);
    if stride - needed.len() > MAX_GAP_BYTES {
        needed
    } else {
        0..stride
    }
}
