//! The genotypes of a `.bed`, laid down so that a line is what an item is.

use seqloom_core::Result;
use seqloom_encode::genotype::repack::repack;
use seqloom_plink::{Bed, BedLayout, Major, padding};

use super::progress::Progress;
use super::shares::{self, Bytes};
use super::sink::LineSink;
use super::source::{BedSource, LineSource};
use super::transpose::Transpose;

/// About so many bytes are laid down together.
const BLOCK: usize = 16 << 20;

/// A file to be written in another order, and how.
#[derive(Clone, Copy, Debug)]
pub struct Relayout<'a> {
    /// The file.
    pub bed: &'a Bed,
    /// The layout of the file.
    pub layout: BedLayout,
    /// What a line shall be.
    pub major: Major,
    /// The variants that are wanted, in order; nothing where all are. Where lines shall be
    /// variants, all are laid down.
    pub variants: Option<&'a [usize]>,
    /// The bytes of memory that the work may take.
    pub max_bytes: usize,
    /// The progress of the work.
    pub progress: &'a Progress,
}

impl Relayout<'_> {
    /// Returns the layout of the result.
    pub fn layout(&self) -> BedLayout {
        BedLayout {
            major: self.major,
            variants: self.variants.map_or(self.layout.variants, <[usize]>::len),
            individuals: self.layout.individuals,
        }
    }

    /// Writes all lines to a sink. With `check`, validates the padding of lines.
    pub fn run(&self, sink: &mut impl LineSink, check: bool) -> Result<()> {
        self.bed.measure(&self.layout)?;
        if check {
            padding::check(self.bed, &self.layout)?;
        }
        if self.layout.major == self.major {
            self.straight(sink)?;
        } else {
            self.transposed().run(sink)?;
        }
        self.bed.measure(&self.layout)
    }

    fn transposed(&self) -> Transpose<'_> {
        Transpose {
            bed: self.bed,
            layout: self.layout,
            lines: self.variants,
            max_bytes: self.max_bytes,
            progress: self.progress,
        }
    }

    /// Writes lines that stay lines.
    fn straight(&self, sink: &mut impl LineSink) -> Result<()> {
        let (stride, width) = (self.layout.stride().max(1), self.layout().stride());
        let block = (BLOCK / stride).max(1);
        for first in (0..self.layout.lines()).step_by(block) {
            let count = block.min(self.layout.lines() - first);
            let mut tile = Bytes::take(count * width)?;
            let scratch = || vec![0; stride];
            shares::chunks(tile.all(), width, scratch, |line, number, out| {
                self.line(first + number, line, out)
            })?;
            sink.put(first, 0, tile.all(), width)?;
        }
        Ok(())
    }

    /// Reads a line, and picks what is wanted of it.
    fn line(&self, number: usize, line: &mut [u8], out: &mut [u8]) -> Result<()> {
        let source = BedSource {
            bed: self.bed,
            layout: self.layout,
            padding: None,
            stop: None,
        };
        self.progress.add(line.len())?;
        let Some(variants) = self.variants else {
            return source.fetch(number, 0..out.len(), out);
        };
        source.fetch(number, 0..line.len(), line)?;
        repack(line, variants, out);
        Ok(())
    }
}
