//! Copies a `.bed` to another layout, by variant or by individual.

use seqloom_core::Result;
use seqloom_encode::genotype::repack::repack_columns;
use seqloom_plink::{Bed, BedLayout, Major, padding};

use super::chunks::{self, Buffer};
use super::progress::Progress;
use super::sink::LineSink;
use super::source::{BedSource, LineSource};
use super::transpose::Transpose;

/// Number of bytes that are copied together.
const BYTES_PER_COPY: usize = 16 << 20;

/// A `.bed` file, and the layout of its copy.
#[derive(Clone, Copy, Debug)]
pub struct Relayout<'a> {
    /// The file.
    pub bed: &'a Bed,
    /// The layout of the file.
    pub layout: BedLayout,
    /// The layout of the copy: one row per variant or one row per individual.
    pub major: Major,
    /// The indices of the selected variants in order; `None` for all variants. `variants`
    /// must be `None` if each row of the copy is a variant.
    pub variants: Option<&'a [usize]>,
    /// The maximum memory in bytes that the copy may use.
    pub max_bytes: usize,
    /// The progress of the copy.
    pub progress: &'a Progress,
}

impl Relayout<'_> {
    /// Returns the layout of the copy.
    pub fn layout(&self) -> BedLayout {
        BedLayout {
            major: self.major,
            variants: self.variants.map_or(self.layout.variants, <[usize]>::len),
            individuals: self.layout.individuals,
        }
    }

    /// Writes all rows of the copy to a sink. If `check` is true, validates the padding of
    /// the source rows first.
    pub fn write_copy(&self, sink: &mut impl LineSink, check: bool) -> Result<()> {
        self.bed.check_size(&self.layout)?;
        if check {
            padding::check_padding(self.bed, &self.layout)?;
        }
        if self.layout.major == self.major {
            self.copy_lines(sink)?;
        } else {
            self.transposition().write_tiles(sink)?;
        }
        self.bed.check_size(&self.layout)
    }

    fn transposition(&self) -> Transpose<'_> {
        Transpose {
            bed: self.bed,
            layout: self.layout,
            lines: self.variants,
            max_bytes: self.max_bytes,
            progress: self.progress,
        }
    }

    /// Copies rows without transposition.
    fn copy_lines(&self, sink: &mut impl LineSink) -> Result<()> {
        let (stride, width) = (self.layout.row_bytes().max(1), self.layout().row_bytes());
        let block = (BYTES_PER_COPY / stride).max(1);
        for first in (0..self.layout.lines()).step_by(block) {
            let count = block.min(self.layout.lines() - first);
            let mut tile = Buffer::of_size(count * width)?;
            let scratch = || vec![0; stride];
            chunks::fill_chunks(tile.bytes(), width, scratch, |line, number, out| {
                self.copy_line(first + number, line, out)
            })?;
            sink.write_sections(first, 0, tile.bytes(), width)?;
        }
        Ok(())
    }

    /// Reads a row and selects its variants.
    fn copy_line(&self, number: usize, line: &mut [u8], out: &mut [u8]) -> Result<()> {
        let source = BedSource {
            bed: self.bed,
            layout: self.layout,
            padding: None,
            stop: None,
        };
        self.progress.add_bytes(line.len())?;
        let Some(variants) = self.variants else {
            return source.fetch_bytes(number, 0..out.len(), out);
        };
        source.fetch_bytes(number, 0..line.len(), line)?;
        repack_columns(line, variants, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
