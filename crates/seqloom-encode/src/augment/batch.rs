//! Augmentation of batches, with results that do not depend on the number of threads.

use rayon::prelude::*;
use seqloom_core::{Error, Key, Ragged, Result};

use super::{AugmentedRow, augmentation::Augmentation};

/// The sequences and qualities of a batch, with a random key for each sequence.
#[derive(Clone, Copy, Debug)]
pub struct AugmentInput<'a> {
    letters: Ragged<'a>,
    qualities: Option<Ragged<'a>>,
    /// The random keys: two 32-bit numbers for each sequence.
    keys: &'a [u32],
}

impl<'a> AugmentInput<'a> {
    /// Creates the input. Checks that there is a key for each sequence and a quality
    /// for each residue.
    pub fn new(
        letters: Ragged<'a>,
        qualities: Option<Ragged<'a>>,
        keys: &'a [u32],
    ) -> Result<Self> {
        if keys.len() != 2 * letters.len() {
            return Err(Error::argument(format!(
                "keys must have shape ({}, 2), got {} numbers",
                letters.len(),
                keys.len()
            )));
        }
        let all = Self {
            letters,
            qualities,
            keys,
        };
        all.check_qualities()?;
        Ok(all)
    }

    fn check_qualities(&self) -> Result<()> {
        let Some(qualities) = self.qualities else {
            return Ok(());
        };
        let differs = |index: &usize| qualities.get(*index).len() != self.letters.get(*index).len();
        match (0..self.letters.len().max(qualities.len())).find(differs) {
            None => Ok(()),
            Some(index) => Err(Error::argument(format!(
                "sequence {index} has {} residues and {} qualities",
                self.letters.get(index).len(),
                qualities.get(index).len()
            ))),
        }
    }

    fn load_row(&self, index: usize, row: &mut AugmentedRow) -> Key {
        let qualities = self.qualities.as_ref().map(|all| all.get(index));
        row.load(index, self.letters.get(index), qualities);
        Key([self.keys[2 * index], self.keys[2 * index + 1]])
    }
}

/// The sequences of a batch after augmentation, concatenated.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AugmentedBatch {
    /// The residues.
    pub letters: Vec<u8>,
    /// The qualities of the residues, or an empty vector if the sequences have no
    /// qualities.
    pub qualities: Vec<u8>,
    /// The offset of the first residue of each sequence, and the end of the last
    /// sequence.
    pub offsets: Vec<i64>,
}

impl AugmentedBatch {
    /// Removes all sequences but keeps the allocated memory for reuse.
    fn clear(&mut self) {
        self.letters.clear();
        self.qualities.clear();
        self.offsets.clear();
        self.offsets.push(0);
    }

    fn end_offset(&self) -> i64 {
        i64::try_from(self.letters.len()).unwrap_or(i64::MAX)
    }

    fn push(&mut self, row: &AugmentedRow) {
        self.letters.extend_from_slice(&row.letters);
        self.qualities.extend_from_slice(&row.qualities);
        self.offsets.push(self.end_offset());
    }

    fn append(&mut self, part: &Self) {
        let end = self.end_offset();
        self.letters.extend_from_slice(&part.letters);
        self.qualities.extend_from_slice(&part.qualities);
        let offsets = part.offsets.iter().skip(1);
        self.offsets.extend(offsets.map(|offset| end + offset));
    }
}

impl Augmentation {
    /// Applies the augmentation to every sequence with its key. Replaces the content of
    /// `out`. If `threads` is above 1, the current rayon pool is used.
    pub fn augment_batch(
        &self,
        sequences: &AugmentInput<'_>,
        out: &mut AugmentedBatch,
        threads: usize,
    ) -> Result<()> {
        out.clear();
        let count = sequences.letters.len();
        // Outside a pool, this thread does all work, because a parallel iterator would
        // create rayon's global pool.
        if threads < 2 || count < 2 || rayon::current_thread_index().is_none() {
            return self.append_augmented_range(sequences, (0, count), out);
        }
        let size = count.div_ceil(threads);
        let parts: Vec<(usize, usize)> = (0..count)
            .step_by(size)
            .map(|start| (start, (start + size).min(count)))
            .collect();
        let parts: Vec<Result<AugmentedBatch>> = parts
            .into_par_iter()
            .map(|bounds| self.augment_range(sequences, bounds))
            .collect();
        parts
            .into_iter()
            .try_for_each(|part| part.map(|part| out.append(&part)))
    }

    fn augment_range(
        &self,
        sequences: &AugmentInput<'_>,
        bounds: (usize, usize),
    ) -> Result<AugmentedBatch> {
        let mut out = AugmentedBatch::default();
        out.clear();
        self.append_augmented_range(sequences, bounds, &mut out)?;
        Ok(out)
    }

    fn append_augmented_range(
        &self,
        sequences: &AugmentInput<'_>,
        (start, stop): (usize, usize),
        out: &mut AugmentedBatch,
    ) -> Result<()> {
        let mut row = AugmentedRow::default();
        (start..stop).try_for_each(|index| {
            let key = sequences.load_row(index, &mut row);
            self.apply(&mut row, key)?;
            out.push(&row);
            Ok(())
        })
    }
}
