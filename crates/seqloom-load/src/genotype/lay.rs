//! The genotypes of a `.bed`, laid down so that a line is what an item is.

use seqloom_core::Result;
use seqloom_encode::genotype::repack::repack;
use seqloom_plink::{Bed, BedLayout, Major, padding};

use super::shares::{self, Bytes};
use super::sink::Sink;
use super::source::{Checked, Source};
use super::transpose::Transpose;
use super::watch::Watch;

/// About so many bytes are laid down together.
const BLOCK: usize = 16 << 20;

/// What is laid down, and how.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The file.
    pub bed: &'a Bed,
    /// Where its lines stand.
    pub layout: BedLayout,
    /// What a line shall be.
    pub major: Major,
    /// The variants that are wanted, in order; nothing where all are. Where lines shall be
    /// variants, all are laid down.
    pub variants: Option<&'a [usize]>,
    /// The bytes of memory that the work may take.
    pub room: usize,
    /// Who watches.
    pub watch: &'a Watch,
}

impl Plan<'_> {
    /// Where the lines will stand.
    pub fn layout(&self) -> BedLayout {
        BedLayout {
            major: self.major,
            variants: self.variants.map_or(self.layout.variants, <[usize]>::len),
            individuals: self.layout.individuals,
        }
    }

    /// Lays all lines down. With `check`, what the last bytes of lines tell about the tables
    /// is heeded.
    pub fn run(&self, sink: &mut impl Sink, check: bool) -> Result<()> {
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
            room: self.room,
            watch: self.watch,
        }
    }

    /// Lays lines down that stay lines.
    fn straight(&self, sink: &mut impl Sink) -> Result<()> {
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
        let source = Checked {
            bed: self.bed,
            layout: self.layout,
            padding: None,
            stop: None,
        };
        self.watch.add(line.len())?;
        let Some(variants) = self.variants else {
            return source.fetch(number, 0..out.len(), out);
        };
        source.fetch(number, 0..line.len(), line)?;
        repack(line, variants, out);
        Ok(())
    }
}
