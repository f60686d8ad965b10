//! Residues of a genome, read in blocks.

use seqloom_core::{Error, Result};
use seqloom_index::Index;

/// The number of residues of the first block, and of a block far from the previous block.
const MIN_BLOCK: i64 = 4 << 10;
/// The maximum number of residues that are read in advance.
const MAX_BLOCK: i64 = 64 << 10;
/// The number of residues before the requested range, for the left-alignment.
const MARGIN: i64 = 256;

/// Reads ranges of contigs, and keeps the last block in memory.
///
/// Variants are mostly sorted, so the next range is often in the same block. Adjacent
/// blocks double in size up to `MAX_BLOCK`.
pub struct Genome<'a> {
    index: &'a Index,
    lengths: &'a [i64],
    contig: i32,
    start: i64,
    letters: Vec<u8>,
    block: i64,
}

impl<'a> Genome<'a> {
    /// Creates a reader from an index and the length of each contig.
    pub fn new(index: &'a Index, lengths: &'a [i64]) -> Self {
        Self {
            index,
            lengths,
            contig: -1,
            start: 0,
            letters: Vec::new(),
            block: MIN_BLOCK,
        }
    }

    /// Returns the length of a contig, or `None` if the genome lacks the contig.
    pub fn length(&self, contig: i32) -> Option<i64> {
        let number = usize::try_from(contig).ok()?;
        self.lengths.get(number).copied()
    }

    /// Returns the residues from `start` to `stop` as the file has them, or `None` if the
    /// range is not within the contig.
    pub fn residues(&mut self, contig: i32, start: i64, stop: i64) -> Result<Option<&[u8]>> {
        let Some(length) = self.length(contig) else {
            return Ok(None);
        };
        if start < 0 || stop < start || stop > length {
            return Ok(None);
        }
        if contig != self.contig || start < self.start || stop > self.end() {
            self.read_block(contig, start, stop)?;
        }
        let first = usize::try_from(start - self.start).unwrap_or(usize::MAX);
        let count = usize::try_from(stop - start).unwrap_or(usize::MAX);
        let found = self.letters.get(first..first.saturating_add(count));
        let changed = || Error::argument("the genome changed while it was read");
        found.ok_or_else(changed).map(Some)
    }

    /// Returns one residue in upper case, or `None` outside the contig.
    pub fn residue(&mut self, contig: i32, position: i64) -> Result<Option<u8>> {
        let found = self.residues(contig, position, position + 1)?;
        Ok(found.and_then(|letters| letters.first().map(u8::to_ascii_uppercase)))
    }

    fn end(&self) -> i64 {
        self.start + i64::try_from(self.letters.len()).unwrap_or(i64::MAX)
    }

    /// Reads a block that contains the range and, where it follows or precedes the last
    /// block, more residues in the same direction.
    fn read_block(&mut self, contig: i32, start: i64, stop: i64) -> Result<()> {
        let is_near = contig == self.contig
            && start >= self.start - MAX_BLOCK
            && start <= self.end() + MAX_BLOCK;
        self.block = if is_near {
            (self.block * 2).min(MAX_BLOCK)
        } else {
            MIN_BLOCK
        };
        let goes_left = is_near && start < self.start;
        let (before, after) = if goes_left {
            (self.block, 0)
        } else {
            (MARGIN, self.block)
        };
        let length = self.length(contig).unwrap_or(0);
        let first = (start - before).max(0);
        let last = (stop + after).min(length);
        let bounds = (&[first][..], &[last][..]);
        let (letters, _) = self
            .index
            .fetch_intervals(&[i64::from(contig)], bounds, 1)?;
        self.letters = letters;
        (self.contig, self.start) = (contig, first);
        Ok(())
    }
}
