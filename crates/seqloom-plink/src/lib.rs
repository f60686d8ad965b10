//! PLINK 1 files: a `.bed` of two-bit genotypes, with its tables `.fam` and `.bim`.
//!
//! ```text
//! bytes 0 and 1   6c 1b
//! byte 2          01: a line is a variant, and its positions are individuals; 00: the reverse
//! byte 3 ...      the lines: four positions in a byte, the first in the lowest bits; zeros pad
//!                 the last byte
//! ```
//!
//! A `.bed` does not contain the numbers of individuals and variants. [`bed`] compares
//! the length of the file with the numbers of rows of the tables. [`padding`] checks
//! the padding bits and the last genotypes of each row.

#![deny(clippy::indexing_slicing)] // numbers in a file are not trusted as indices

pub mod bed;
pub mod layout;
pub mod padding;
pub mod table;

pub use bed::Bed;
pub use layout::{BedLayout, Major};
