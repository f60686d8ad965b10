//! Genotype files through the kernels, in parallel.
//!
//! ```text
//! picks    which lines and which positions are asked for
//! source   lines of a file, or lines that are in memory
//! gather   the positions that are wanted, moved together
//! along    a line of the file becomes a line of the result
//! across   a line of the file becomes a column: many lines are transposed together
//! read     which of the two, and what is checked
//! stats    how often each genotype occurs
//! lay      lines in another order, in memory or in a file (sink), transposed if needed (transpose)
//! codes    such lines: their numbers, by a table for each position, and their counts
//! content  what names the content of a file
//! ```

pub mod codes;
pub mod content;
pub mod lay;
pub mod progress;
pub mod read;
pub mod sink;
pub mod source;
pub mod stats;
pub mod transpose;

mod across;
mod along;
mod gather;
mod picks;
mod shares;

pub use picks::{LineRequest, Picks};
pub use read::{GenotypeRequest, MatrixOrder, read};

#[cfg(test)]
mod lay_tests;
#[cfg(test)]
mod read_tests;
