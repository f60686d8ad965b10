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
//! lay      lines laid down anew, in memory or in a file (sink), transposed where needed (transpose)
//! codes    such lines: their numbers, by a table for each position, and their counts
//! content  what names the content of a file
//! ```

pub mod codes;
pub mod content;
pub mod lay;
pub mod read;
pub mod sink;
pub mod source;
pub mod stats;
pub mod transpose;
pub mod watch;

mod across;
mod along;
mod gather;
mod picks;
mod shares;

pub use picks::{Picks, Request};
pub use read::{Order, read};

#[cfg(test)]
mod lay_tests;
#[cfg(test)]
mod read_tests;
