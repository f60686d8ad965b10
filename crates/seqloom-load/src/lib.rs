//! The order in which a loader visits its records; large files read by many threads; records
//! packed without padding.

pub mod checksum;
pub mod gather;
pub mod genotype;
pub mod order;
pub mod packed;
pub mod strand;

pub use order::Permutation;
