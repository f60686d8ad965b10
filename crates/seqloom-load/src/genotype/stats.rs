//! Counts the genotypes of a file in one pass.
//!
//! Individuals are counted in groups (for example male founders); all frequencies are
//! computed from the counts of the groups. The pass can be divided into several calls,
//! and each call counts the next variants of the file. The caller can report progress
//! between the calls.

mod columns;
mod lines;

use std::sync::Mutex;

use seqloom_core::{Error, Result};
use seqloom_encode::genotype::count::{GenotypeCounts, PositionMask};
use seqloom_plink::{Bed, BedLayout, Major, padding, padding::PaddingCheck};

/// The number of two-bit codes.
pub const CODES: usize = 4;

/// Number of bytes that a thread reads in one call.
const COUNTED_BYTES_PER_READ: usize = 1 << 22;

/// Maximum number of rows that are counted together, so that their counts fit into bytes.
const MAX_COUNTED_LINES: usize = 255;

/// A pass over a file that counts genotypes.
#[derive(Debug)]
pub struct CodeCounter {
    layout: BedLayout,
    group_of: Vec<usize>,
    /// For each group, the positions of its individuals in the row of a variant.
    masks: Vec<PositionMask>,
    padding: PaddingCheck,
    next: usize,
}

impl CodeCounter {
    /// Creates a pass that counts each individual in its group; `groups` is the number of
    /// groups. Individuals with a group number of `groups` or more are not counted.
    pub fn new(layout: BedLayout, group_of: Vec<usize>, groups: usize) -> Result<Self> {
        if group_of.len() != layout.individuals {
            let (found, wanted) = (group_of.len(), layout.individuals);
            return Err(Error::argument(format!(
                "expected a group for each of {wanted} individuals, found {found}"
            )));
        }
        let mask = |group| PositionMask::new(group_of.iter().map(|of| *of == group));
        Ok(Self {
            masks: (0..groups.max(1)).map(mask).collect(),
            layout,
            group_of,
            padding: PaddingCheck::default(),
            next: 0,
        })
    }

    /// Counts the genotypes of the next variants. `rows` receives four counts for each
    /// variant and group. The number of missing genotypes of each individual is added
    /// to `missing`.
    ///
    /// If `check` is true, validates the padding of rows.
    pub fn count_next(
        &mut self,
        bed: &Bed,
        rows: &mut [u32],
        missing: &mut [u32],
        check: bool,
    ) -> Result<()> {
        bed.check_size(&self.layout)?;
        let count = rows.len() / (CODES * self.masks.len());
        let missing = Mutex::new(missing);
        match self.layout.major {
            Major::Variant => self.count_lines(bed, rows, &missing, check)?,
            Major::Individual => self.count_columns(bed, rows, &missing)?,
        }
        self.next += count;
        bed.check_size(&self.layout)?;
        if check && self.next == self.layout.variants {
            self.validate_padding(bed)?;
        }
        Ok(())
    }

    /// Validates the padding of all rows, and the end of the file.
    fn validate_padding(&self, bed: &Bed) -> Result<()> {
        match self.layout.major {
            Major::Variant => self.padding.validate(bed, &self.layout),
            Major::Individual => padding::check_padding(bed, &self.layout),
        }
    }
}

/// Returns counts in the order of the codes.
const fn by_code(counts: GenotypeCounts) -> [u32; CODES] {
    [counts.hom_a1, counts.missing, counts.het, counts.hom_a2]
}

#[cfg(test)]
mod tests;
