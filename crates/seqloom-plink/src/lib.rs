//! PLINK 1 files: a `.bed` of two-bit genotypes, and the tables `.fam` and `.bim` beside it.
//!
//! ```text
//! bytes 0 and 1   6c 1b
//! byte 2          01: a line is a variant, its positions are the individuals; 00: the other way
//! then            the lines: four positions a byte, the first lowest, the last byte filled
//!                 up with zeros
//! ```
//!
//! A `.bed` does not say how many individuals and variants it has: [`bed`] compares its length,
//! the bits that fill each line up, and the last positions with what the tables say.

#![deny(clippy::indexing_slicing)] // what a file says is no proof of a bound

pub mod bed;
pub mod layout;
pub mod table;
pub mod tail;

pub use bed::Bed;
pub use layout::{Layout, Major};
