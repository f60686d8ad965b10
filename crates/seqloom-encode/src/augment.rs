//! Random changes of sequences, each a pure function of a sequence and a key.
//!
//! Every decision compares an integer of the key's random words with a
//! threshold, so the same key gives the same letters on every machine, alone or
//! in a batch, for any number of threads. [`draw`] says which word decides what.

mod augmentation;
mod batch;
mod chance;
mod complement;
mod cut;
mod draw;
mod euler;
mod mutate;
mod noise;
mod replace;
mod row;
mod shuffle;

pub use augmentation::Augmentation;
pub use batch::{AugmentInput, Augmented};
pub use chance::Chance;
pub use complement::ReverseComplement;
pub use cut::{Crop, CropMode, Shift};
pub use mutate::{Mask, Mutate};
pub use noise::QualityNoise;
pub use replace::Replacement;
pub use row::AugmentedRow;
pub use shuffle::ShuffleKmers;

#[cfg(test)]
mod tests;
