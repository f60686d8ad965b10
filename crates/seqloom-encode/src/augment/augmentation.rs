//! The augmentations of sequences, and their composition.

use super::{
    AugmentedRow, Crop, Mask, Mutate, QualityNoise, ReverseComplement, Shift, ShuffleKmers,
};
use seqloom_core::{Key, Result};

/// An augmentation of sequences, or several augmentations that are applied one after
/// the other.
#[derive(Clone, Debug)]
pub enum Augmentation {
    /// Takes the reverse complement with a given probability.
    ReverseComplement(ReverseComplement),
    /// Substitutes, inserts and deletes random residues.
    Mutate(Mutate),
    /// Crops a longer sequence to a window.
    Crop(Crop),
    /// Shifts the sequence without changing its length.
    Shift(Shift),
    /// Masks random residues.
    Mask(Mask),
    /// Shuffles the sequence but preserves its k-mer counts.
    ShuffleKmers(ShuffleKmers),
    /// Substitutes residues with the error probabilities of their qualities.
    QualityNoise(QualityNoise),
    /// Applies several augmentations one after the other. The key of augmentation `i`
    /// is derived from the given key and `i`.
    Compose(Vec<Self>),
}

impl Augmentation {
    /// Applies the augmentation to one sequence.
    pub fn apply(&self, row: &mut AugmentedRow, key: Key) -> Result<()> {
        match self {
            Self::ReverseComplement(one) => return one.apply(row, key),
            Self::Mutate(one) => one.apply(row, key),
            Self::Crop(one) => one.apply(row, key),
            Self::Shift(one) => one.apply(row, key),
            Self::Mask(one) => one.apply(row, key),
            Self::ShuffleKmers(one) => one.apply(row, key),
            Self::QualityNoise(one) => return one.apply(row, key),
            Self::Compose(members) => return apply_in_sequence(members, row, key),
        }
        Ok(())
    }
}

fn apply_in_sequence(members: &[Augmentation], row: &mut AugmentedRow, key: Key) -> Result<()> {
    (0_u32..)
        .zip(members)
        .try_for_each(|(position, member)| member.apply(row, Key(key.random_words([0, position]))))
}
