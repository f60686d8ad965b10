//! PLINK 1 files: a `.bed` of two-bit genotypes, and the tables `.fam` and `.bim` beside it.
//!
//! ```text
//! bytes 0 and 1   6c 1b
//! byte 2          01: a line is a variant, its positions are the individuals; 00: the other way
//! then            the lines: four positions a byte, the first lowest, the last byte filled
//!                 up with zeros
//! ```
//!
//! A `.bed` does not contain the numbers of individuals and variants. [`bed`] compares its
//! length with those of the tables; [`padding`] checks the bits that pad each line and the last
//! positions.

#![deny(clippy::indexing_slicing)] // what a file says is no proof of a bound

pub mod bed;
pub mod layout;
pub mod padding;
pub mod table;

pub use bed::Bed;
pub use layout::{BedLayout, Major};
