//! Lines of two-bit codes, wherever they are.

use std::ops::Range;

use seqloom_core::interrupt::Stop;
use seqloom_core::{Error, Result};
use seqloom_plink::padding::PaddingCheck;
use seqloom_plink::{Bed, BedLayout};

/// Lines that can be fetched by number, by many threads.
pub trait Source: Sync {
    /// The bytes of a line.
    fn stride(&self) -> usize;

    /// Fills `out` with some bytes of consecutive lines, end to end; `first` is the first line.
    fn fetch(&self, first: usize, bytes: Range<usize>, out: &mut [u8]) -> Result<()>;

    /// Looks at whole lines that were fetched and are wanted, end to end.
    fn look(&self, _first: usize, _lines: &[u8]) -> Result<()> {
        Ok(())
    }

    /// So many lines between two wanted ones are fetched with them sooner than left out.
    fn gap(&self) -> usize {
        0
    }
}

/// The lines of a file, whose last bytes are looked at in passing.
#[derive(Debug)]
pub struct Checked<'a> {
    /// The file.
    pub bed: &'a Bed,
    /// Where its lines stand.
    pub layout: BedLayout,
    /// What the last bytes tell; nothing where nobody wants to know.
    pub padding: Option<PaddingCheck>,
    /// What may end the reading; nothing where the caller has a way of its own.
    pub stop: Option<Stop>,
}

/// Between so many bytes that nobody asked for, it is quicker to read what is before and behind them by itself.
const GAP: usize = 4096;

impl Source for Checked<'_> {
    fn stride(&self) -> usize {
        self.layout.stride()
    }

    fn fetch(&self, first: usize, bytes: Range<usize>, out: &mut [u8]) -> Result<()> {
        let width = bytes.len();
        if width < self.stride() {
            let start = |line| self.layout.start(line) + bytes.start as u64;
            let mut lines = out.chunks_mut(width.max(1)).enumerate();
            return lines.try_for_each(|(line, out)| {
                self.go_on()?;
                self.bed.read(start(first + line), out)
            });
        }
        self.go_on()?;
        self.bed.lines(&self.layout, first, out)
    }

    fn look(&self, first: usize, lines: &[u8]) -> Result<()> {
        match &self.padding {
            Some(padding) => padding.add_lines(self.bed, &self.layout, first, lines),
            None => Ok(()),
        }
    }

    fn gap(&self) -> usize {
        GAP / self.stride().max(1)
    }
}

impl Checked<'_> {
    /// An error, if somebody has told the read to end.
    fn go_on(&self) -> Result<()> {
        let told = self.stop.as_ref().map_or(Ok(()), Stop::check);
        told.map_err(|error| Error::io(self.bed.path(), &error))
    }
}

/// Lines that are in memory.
#[derive(Clone, Copy, Debug)]
pub struct Held<'a> {
    /// The lines, end to end.
    pub lines: &'a [u8],
    /// The bytes of a line.
    pub stride: usize,
}

impl Source for Held<'_> {
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
