//! The order in which a loader visits its records.

pub mod gather;
pub mod genotype;
pub mod order;
pub mod strand;

pub use order::Permutation;
