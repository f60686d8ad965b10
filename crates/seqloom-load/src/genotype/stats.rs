//! Counting the genotypes of a file in one pass.
//!
//! Individuals are counted in groups (founders who are male, say): from the counts of the
//! groups every frequency follows. The pass goes from variant to variant, whatever a line of
//! the file is, and may be made in several steps, so that whoever asked sees how far it is.

mod columns;
mod lines;

use std::sync::Mutex;

use seqloom_core::{Error, Result};
use seqloom_encode::genotype::count::{GenotypeCounts, PositionMask};
use seqloom_plink::padding::PaddingCheck;
use seqloom_plink::{Bed, BedLayout, Major, padding};

/// How many codes there are.
pub const CODES: usize = 4;

/// About so many bytes are read at once by each thread.
const BLOCK: usize = 1 << 22;

/// So many lines at once suffice: their counts fit into bytes.
const LINES: usize = 255;

/// A pass over a file.
#[derive(Debug)]
pub struct Survey {
    layout: BedLayout,
    group_of: Vec<usize>,
    /// Of each group, its positions in a line that is a variant.
    masks: Vec<PositionMask>,
    padding: PaddingCheck,
    next: usize,
}

impl Survey {
    /// Makes a pass that counts each individual in its group. An individual whose group is not below
    /// `groups` is left out.
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

    /// Counts the next variants: for each of them, for each group, the four codes. To each
    /// individual's number in `missing` is added how often it is missing in them.
    ///
    /// With `check`, validates the padding of lines.
    pub fn advance(
        &mut self,
        bed: &Bed,
        rows: &mut [u32],
        missing: &mut [u32],
        check: bool,
    ) -> Result<()> {
        bed.measure(&self.layout)?;
        let count = rows.len() / (CODES * self.masks.len());
        let missing = Mutex::new(missing);
        match self.layout.major {
            Major::Variant => self.count_lines(bed, rows, &missing, check)?,
            Major::Individual => self.count_columns(bed, rows, &missing)?,
        }
        self.next += count;
        bed.measure(&self.layout)?;
        if check && self.next == self.layout.variants {
            self.validate(bed)?;
        }
        Ok(())
    }

    /// Validates the padding of all lines, and the last positions.
    fn validate(&self, bed: &Bed) -> Result<()> {
        match self.layout.major {
            Major::Variant => self.padding.validate(bed, &self.layout),
            Major::Individual => padding::check(bed, &self.layout),
        }
    }
}

/// Counts in the order of the codes.
const fn by_code(counts: GenotypeCounts) -> [u32; CODES] {
    [counts.hom_a1, counts.missing, counts.het, counts.hom_a2]
}

#[cfg(test)]
mod tests;
