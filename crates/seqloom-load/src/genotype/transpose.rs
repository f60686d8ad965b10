//! A `.bed` laid down by individual where it stands by variant, or the other way, in bounded
//! memory.
//!
//! The matrix is cut into tiles. Of each line the bytes of a tile are read, the tile is transposed
//! in memory, and of each new line its bytes are written. A tile has at least 16,384 lines, so
//! that each write has a page of 4 KiB, and as many positions as fit beside them; where lines are
//! short, whole lines are read end to end. So every byte is read once and written once,
//! however large the file is.

use std::ops::Range;

use seqloom_core::{Error, Result};
use seqloom_encode::genotype::transpose::transpose;
use seqloom_plink::{Bed, BedLayout};

use super::progress::Progress;
use super::shares;
use super::sink::{LineSink, PIECE};
use super::source::{BedSource, LineSource};

/// Lines of a tile are a multiple of this: what they become are whole pieces.
const LINES: usize = 4 * PIECE;

/// Bytes of a tile's lines are a multiple of this: a line of the cache.
const COLUMNS: usize = 64;

/// Lines that a thread reads at once.
const READ: usize = 256;

/// A file to transpose.
#[derive(Clone, Copy, Debug)]
pub struct Transpose<'a> {
    /// The file.
    pub bed: &'a Bed,
    /// The layout of the file.
    pub layout: BedLayout,
    /// The lines that are wanted; nothing where all are.
    pub lines: Option<&'a [usize]>,
    /// The bytes that tiles may take.
    pub max_bytes: usize,
    /// The progress of the work.
    pub progress: &'a Progress,
}

impl Transpose<'_> {
    /// Gives the transposed lines to a sink, in tiles.
    pub fn run(&self, sink: &mut impl LineSink) -> Result<()> {
        let (lines, columns) = self.tile();
        let stride = self.layout.stride();
        let mut tiles = (Vec::new(), Vec::new());
        for start in (0..stride).step_by(columns.max(1)) {
            let bytes = start..stride.min(start + columns);
            for first in (0..self.count()).step_by(lines.max(1)) {
                let last = self.count().min(first + lines);
                self.transpose_tile(first..last, &bytes, &mut tiles, sink)?;
            }
        }
        Ok(())
    }

    /// The number of lines that are wanted.
    fn count(&self) -> usize {
        self.lines.map_or(self.layout.lines(), <[usize]>::len)
    }

    /// The lines of a tile, and the bytes of each.
    fn tile(&self) -> (usize, usize) {
        // One half of the memory is for the tile, the other for the transposed one.
        let (half, stride) = (self.max_bytes / 2, self.layout.stride().max(1));
        let lines = (half / stride / LINES * LINES).max(LINES).min(self.count());
        let columns = half / lines.max(1) / COLUMNS * COLUMNS;
        (lines, columns.max(COLUMNS).min(stride))
    }

    /// Transposes one tile.
    fn transpose_tile(
        &self,
        lines: Range<usize>,
        bytes: &Range<usize>,
        (tile, transposed): &mut (Vec<u8>, Vec<u8>),
        sink: &mut impl LineSink,
    ) -> Result<()> {
        let (height, width) = (bytes.len(), lines.len().div_ceil(4));
        resize(tile, lines.len() * height)?;
        let read = |(): &mut (), number: usize, out: &mut [u8]| {
            self.progress.add(out.len())?;
            self.read(lines.start + number * READ, bytes, out)
        };
        shares::chunks(tile, READ * height, || (), read)?;
        let positions = (self.layout.positions() - 4 * bytes.start).min(4 * height);
        resize(transposed, positions * width)?;
        transpose(tile, height, transposed, width);
        sink.put(4 * bytes.start, lines.start / 4, transposed, width)
    }

    /// Reads some bytes of wanted lines; those that follow each other in the file at once.
    fn read(&self, first: usize, bytes: &Range<usize>, mut out: &mut [u8]) -> Result<()> {
        let source = BedSource {
            bed: self.bed,
            layout: self.layout,
            padding: None,
            stop: None,
        };
        let Some(lines) = self.lines else {
            return source.fetch(first, bytes.clone(), out);
        };
        let mut lines = &lines[first..][..out.len() / bytes.len().max(1)];
        while let Some(first) = lines.first() {
            let follows = |(at, line): &(usize, &usize)| **line == first + at;
            let run = lines.iter().enumerate().take_while(follows).count();
            let (here, rest) = out.split_at_mut(run * bytes.len());
            source.fetch(*first, bytes.clone(), here)?;
            (lines, out) = (&lines[run..], rest);
        }
        Ok(())
    }
}

/// Resizes the buffer of a tile.
fn resize(tile: &mut Vec<u8>, size: usize) -> Result<()> {
    let full = |_| Error::full(format!("no memory for {size} bytes of genotypes"));
    tile.try_reserve_exact(size.saturating_sub(tile.len()))
        .map_err(full)?;
    tile.resize(size, 0);
    Ok(())
}
