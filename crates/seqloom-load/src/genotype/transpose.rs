//! Transposes a `.bed` in bounded memory: from one row per variant to one row per
//! individual, or back.
//!
//! The matrix is split into tiles. The bytes of a tile are read from every row,
//! transposed in memory, and written to the rows of the result. A tile has at least
//! 16,384 rows, so that each write has at least 4 KiB. A tile has as many columns as
//! fit in memory, so short rows are read whole. Every byte is read once and written
//! once, for any file size.

use std::ops::Range;

use seqloom_core::{Error, Result};
use seqloom_encode::genotype::transpose::transpose_codes;
use seqloom_plink::{Bed, BedLayout};

use super::chunks;
use super::progress::Progress;
use super::sink::{LINE_CHUNK_BYTES, LineSink};
use super::source::{BedSource, LineSource};

/// The number of rows of a tile is a multiple of this number, so that the new rows consist
/// of whole chunks.
const TILE_LINE_MULTIPLE: usize = 4 * LINE_CHUNK_BYTES;

/// The number of bytes of a row in a tile is a multiple of this number, the size of a cache
/// line.
const TILE_WIDTH_MULTIPLE: usize = 64;

/// Number of rows that a thread reads in one call.
const LINES_PER_READ: usize = 256;

/// A `.bed` file to transpose.
#[derive(Clone, Copy, Debug)]
pub struct Transpose<'a> {
    /// The file.
    pub bed: &'a Bed,
    /// The layout of the file.
    pub layout: BedLayout,
    /// The numbers of the selected rows; `None` for all rows.
    pub lines: Option<&'a [usize]>,
    /// The maximum total size of the tiles in bytes.
    pub max_bytes: usize,
    /// The progress of the transposition.
    pub progress: &'a Progress,
}

impl Transpose<'_> {
    /// Passes the transposed rows to a sink, tile by tile.
    pub fn write_tiles(&self, sink: &mut impl LineSink) -> Result<()> {
        let (lines, columns) = self.tile_size();
        let stride = self.layout.row_bytes();
        let mut tiles = (Vec::new(), Vec::new());
        for start in (0..stride).step_by(columns.max(1)) {
            let bytes = start..stride.min(start + columns);
            for first in (0..self.line_count()).step_by(lines.max(1)) {
                let last = self.line_count().min(first + lines);
                self.transpose_tile(first..last, &bytes, &mut tiles, sink)?;
            }
        }
        Ok(())
    }

    /// Returns the number of selected rows.
    fn line_count(&self) -> usize {
        self.lines.map_or(self.layout.lines(), <[usize]>::len)
    }

    /// Returns the number of rows of a tile, and the number of bytes of each row.
    fn tile_size(&self) -> (usize, usize) {
        // One half of the memory is for the tile, the other for its transpose.
        let (half, stride) = (self.max_bytes / 2, self.layout.row_bytes().max(1));
        let lines = (half / stride / TILE_LINE_MULTIPLE).max(1) * TILE_LINE_MULTIPLE;
        let lines = lines.min(self.line_count());
        let columns = half / lines.max(1) / TILE_WIDTH_MULTIPLE * TILE_WIDTH_MULTIPLE;
        (lines, columns.max(TILE_WIDTH_MULTIPLE).min(stride))
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
        resize_tile(tile, lines.len() * height)?;
        let read = |(): &mut (), number: usize, out: &mut [u8]| {
            self.progress.add_bytes(out.len())?;
            self.read_lines(lines.start + number * LINES_PER_READ, bytes, out)
        };
        chunks::fill_chunks(tile, LINES_PER_READ * height, || (), read)?;
        let positions = (self.layout.row_genotypes() - 4 * bytes.start).min(4 * height);
        resize_tile(transposed, positions * width)?;
        transpose_codes(tile, height, transposed, width);
        sink.write_sections(4 * bytes.start, lines.start / 4, transposed, width)
    }

    /// Reads a range of bytes of the selected rows. Consecutive rows are read in one call.
    fn read_lines(&self, first: usize, bytes: &Range<usize>, mut out: &mut [u8]) -> Result<()> {
        let source = BedSource {
            bed: self.bed,
            layout: self.layout,
            padding: None,
            stop: None,
        };
        let Some(lines) = self.lines else {
            return source.fetch_bytes(first, bytes.clone(), out);
        };
        let mut lines = &lines[first..][..out.len() / bytes.len().max(1)];
        while let Some(first) = lines.first() {
            let follows = |(at, line): &(usize, &usize)| **line == first + at;
            let run = lines.iter().enumerate().take_while(follows).count();
            let (here, rest) = out.split_at_mut(run * bytes.len());
            source.fetch_bytes(*first, bytes.clone(), here)?;
            (lines, out) = (&lines[run..], rest);
        }
        Ok(())
    }
}

/// Resizes the buffer of a tile.
fn resize_tile(tile: &mut Vec<u8>, size: usize) -> Result<()> {
    let full = |_| Error::full(format!("no memory for {size} bytes of genotypes"));
    tile.try_reserve_exact(size.saturating_sub(tile.len()))
        .map_err(full)?;
    tile.resize(size, 0);
    Ok(())
}
