//! Lines of two-bit codes, wherever they are.

use std::ops::Range;

use seqloom_core::interrupt::Stop;
use seqloom_core::{Error, Result};
use seqloom_plink::padding::PaddingCheck;
use seqloom_plink::{Bed, BedLayout};

/// Lines that can be fetched by number, by many threads.
pub trait LineSource: Sync {
    /// The bytes of a line.
    fn stride(&self) -> usize;

    /// Fills `out` with some bytes of consecutive lines, end to end; `first` is the first line.
    fn fetch(&self, first: usize, bytes: Range<usize>, out: &mut [u8]) -> Result<()>;

    /// Checks the padding of consecutive whole lines that were fetched and are wanted.
    fn check_padding(&self, _first: usize, _lines: &[u8]) -> Result<()> {
        Ok(())
    }

    /// The number of unwanted lines between two wanted ones up to which one read of all is
    /// faster than two reads.
    fn gap(&self) -> usize {
        0
    }
}

/// The lines of a file, whose padding is checked when they are read.
#[derive(Debug)]
pub struct BedSource<'a> {
    /// The file.
    pub bed: &'a Bed,
    /// The layout of the file.
    pub layout: BedLayout,
    /// The check of the padding, if it is wanted.
    pub padding: Option<PaddingCheck>,
    /// The token that cancels the read; `None` if the caller checks for cancellation.
    pub stop: Option<Stop>,
}

/// Two wanted ranges of bytes that are further apart than this are read separately.
const GAP: usize = 4096;

impl LineSource for BedSource<'_> {
    fn stride(&self) -> usize {
        self.layout.stride()
    }

    fn fetch(&self, first: usize, bytes: Range<usize>, out: &mut [u8]) -> Result<()> {
        let width = bytes.len();
        if width < self.stride() {
            let start = |line| self.layout.start(line) + bytes.start as u64;
            let mut lines = out.chunks_mut(width.max(1)).enumerate();
            return lines.try_for_each(|(line, out)| {
                self.check_cancelled()?;
                self.bed.read(start(first + line), out)
            });
        }
        self.check_cancelled()?;
        self.bed.lines(&self.layout, first, out)
    }

    fn check_padding(&self, first: usize, lines: &[u8]) -> Result<()> {
        match &self.padding {
            Some(padding) => padding.add_lines(self.bed, &self.layout, first, lines),
            None => Ok(()),
        }
    }

    fn gap(&self) -> usize {
        GAP / self.stride().max(1)
    }
}

impl BedSource<'_> {
    /// Returns an error if the read was cancelled.
    fn check_cancelled(&self) -> Result<()> {
        let running = self.stop.as_ref().map_or(Ok(()), Stop::check);
        running.map_err(|error| Error::io(self.bed.path(), &error))
    }
}

/// Lines that are in memory.
#[derive(Clone, Copy, Debug)]
pub struct MemorySource<'a> {
    /// The lines, end to end.
    pub lines: &'a [u8],
    /// The bytes of a line.
    pub stride: usize,
}

impl LineSource for MemorySource<'_> {
    fn stride(&self) -> usize {
        self.stride
    }

    fn fetch(&self, first: usize, bytes: Range<usize>, out: &mut [u8]) -> Result<()> {
        let width = bytes.len().max(1);
        let lines = self.lines.chunks(self.stride.max(1)).skip(first);
        for (out, line) in out.chunks_mut(width).zip(lines) {
            out.copy_from_slice(&line[bytes.clone()]);
        }
        Ok(())
    }
}

/// Which bytes of a line are fetched if these positions are wanted: the whole line, unless much
/// of it lies outside.
pub(super) fn window(stride: usize, positions: &Range<usize>) -> Range<usize> {
    let needed = positions.start / 4..positions.end.div_ceil(4);
    if stride - needed.len() > GAP {
        needed
    } else {
        0..stride
    }
}
