//! Shuffling of sequences that preserves k-mer counts.

use seqloom_core::{Error, Key, Result};

use super::{AugmentedRow, euler, random::RandomChoices};

/// An augmentation that shuffles a sequence and preserves the count of each k-mer.
#[derive(Clone, Debug)]
pub struct ShuffleKmers {
    k: usize,
}

impl ShuffleKmers {
    /// Creates a shuffle. `k` = 1 shuffles single residues; `k` = 2 preserves dinucleotide counts.
    pub fn new(k: usize) -> Result<Self> {
        if k == 0 {
            return Err(Error::argument("k must be at least 1, got 0"));
        }
        Ok(Self { k })
    }

    pub(super) fn apply(&self, row: &mut AugmentedRow, key: Key) {
        let mut choices = RandomChoices::new(key);
        if self.k == 1 {
            let mut order: Vec<usize> = (0..row.letters.len()).collect();
            choices.shuffle(&mut order);
            row.reorder(&order);
        } else if row.letters.len() > self.k {
            let order = euler::sample_tour(&row.letters, self.k - 1, &mut choices);
            row.reorder(&order);
        }
    }
}
