//! Another order of the same letters.

use seqloom_core::{Error, Key, Result};

use super::draw::Choices;
use super::{AugmentedRow, euler};

/// Shuffles a sequence and keeps how often each k-mer occurs.
#[derive(Clone, Debug)]
pub struct ShuffleKmers {
    k: usize,
}

impl ShuffleKmers {
    /// For `k` = 1 letters are shuffled; for `k` = 2 dinucleotides are kept.
    pub fn new(k: usize) -> Result<Self> {
        if k == 0 {
            return Err(Error::argument("k must be at least 1, got 0"));
        }
        Ok(Self { k })
    }

    pub(super) fn apply(&self, row: &mut AugmentedRow, key: Key) {
        let mut choices = Choices::new(key);
        if self.k == 1 {
            let mut order: Vec<usize> = (0..row.letters.len()).collect();
            choices.shuffle(&mut order);
            row.reorder(&order);
        } else if row.letters.len() > self.k {
            let order = euler::tour(&row.letters, self.k - 1, &mut choices);
            row.reorder(&order);
        }
    }
}
