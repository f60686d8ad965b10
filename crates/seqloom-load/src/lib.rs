//! The order in which a loader visits its records; large files read by many threads.

pub mod checksum;
pub mod gather;
pub mod genotype;
pub mod order;
pub mod strand;

pub use order::Permutation;
