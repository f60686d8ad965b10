//! Random augmentations of sequences. The result depends only on the sequence and its
//! random key.
//!
//! Each decision compares a random integer with a threshold. With the same key, a
//! sequence therefore changes in the same way on every machine, alone or in a batch,
//! with any number of threads. [`random`] documents how the random integers are
//! computed.

mod augmentation;
mod batch;
mod chance;
mod complement;
mod crop;
mod euler;
mod mutate;
mod noise;
mod random;
mod replace;
mod row;
mod shuffle;

pub use augmentation::Augmentation;
pub use batch::{AugmentInput, AugmentedBatch};
pub use chance::Chance;
pub use complement::ReverseComplement;
pub use crop::{Crop, CropMode, Shift};
pub use mutate::{Mask, Mutate};
pub use noise::QualityNoise;
pub use replace::Replacement;
pub use row::AugmentedRow;
pub use shuffle::ShuffleKmers;

#[cfg(test)]
mod tests;
