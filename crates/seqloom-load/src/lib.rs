//! The order in which a loader visits its records.

pub mod order;

pub use order::Permutation;
