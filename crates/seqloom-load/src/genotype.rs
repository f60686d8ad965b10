//! Reads, decodes, counts and transposes genotype files in parallel.
//!
//! ```text
//! picks      the selected lines and positions
//! source     access to lines in a file or in memory
//! gather     fetches the selected positions of lines
//! along      decodes each line of the file to a row of the result
//! across     decodes each line of the file to a column of the result
//! read       chooses `along` or `across`, and checks the arguments
//! stats      counts of genotypes
//! relayout   copies lines with another layout to a sink
//! sink       receives lines in memory or in a file
//! transpose  swaps the axes of a file
//! codes      decodes and counts lines that a sink received
//! content    a hash of a file
//! ```

pub mod codes;
pub mod content;
pub mod progress;
pub mod read;
pub mod relayout;
pub mod sink;
pub mod source;
pub mod stats;
pub mod transpose;

mod by_row;
mod chunks;
mod gather;
mod indices;
mod transposed;

pub use indices::{Indices, LineRequest};
pub use read::{GenotypeRequest, MatrixOrder, read_genotypes};
