//! One random change, or several in a row.

use super::{
    AugmentedRow, Crop, Mask, Mutate, QualityNoise, ReverseComplement, Shift, ShuffleKmers,
};
use seqloom_core::{Key, Result};

/// One random change, or several in a row.
#[derive(Clone, Debug)]
pub enum Augmentation {
    /// The other strand.
    ReverseComplement(ReverseComplement),
    /// Substitutions, insertions and deletions.
    Mutate(Mutate),
    /// A part of a long sequence.
    Crop(Crop),
    /// The same length, moved.
    Shift(Shift),
    /// Letters hidden.
    Mask(Mask),
    /// Another order of the same k-mers.
    ShuffleKmers(ShuffleKmers),
    /// Substitutions as likely as the qualities say.
    QualityNoise(QualityNoise),
    /// One after the other; member `i` has the key folded by `i`.
    Compose(Vec<Self>),
}

impl Augmentation {
    /// Changes one sequence.
    pub fn apply(&self, row: &mut AugmentedRow, key: Key) -> Result<()> {
        match self {
            Self::ReverseComplement(one) => return one.apply(row, key),
            Self::Mutate(one) => one.apply(row, key),
            Self::Crop(one) => one.apply(row, key),
            Self::Shift(one) => one.apply(row, key),
            Self::Mask(one) => one.apply(row, key),
            Self::ShuffleKmers(one) => one.apply(row, key),
            Self::QualityNoise(one) => return one.apply(row, key),
            Self::Compose(members) => return compose(members, row, key),
        }
        Ok(())
    }
}

fn compose(members: &[Augmentation], row: &mut AugmentedRow, key: Key) -> Result<()> {
    (0_u32..)
        .zip(members)
        .try_for_each(|(position, member)| member.apply(row, Key(key.words([0, position]))))
}
