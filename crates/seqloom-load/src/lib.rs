//! The data loader: the order of records, parallel reads of large files, and batches
//! packed without padding.

pub mod checksum;
pub mod gather;
pub mod genotype;
pub mod order;
pub mod packed;
pub mod strand;

pub use order::Permutation;
