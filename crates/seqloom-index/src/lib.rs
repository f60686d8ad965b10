//! Random access to the records of a file, with an index.
//!
//! An index is created once by scanning the file, and is stored next to the file:
//!
//! ```text
//! row      the position, length, line layout and checksum of a record
//! side     the index file: rows, names and tables (head, pages, names)
//! stamp    the size, time and hash that detect a changed file
//! whole    reads a whole gzip file with several threads
//! fetch    reads many records: sorts, reads, parses and checks them
//! fai, gzi the index files of samtools and bgzip
//! ```
//!
//! An index is not assumed to be correct. Positions are checked before they are used,
//! and the text at a position is parsed and compared with the index.

#![deny(clippy::indexing_slicing)] // numbers in a file are not trusted as indices

mod build;
mod building;
mod cache;
mod export;
mod fai;
mod fetch;
mod gzi;
mod head;
mod interval;
mod names;
mod open;
mod pages;
mod row;
mod scan;
mod side;
mod stamp;
mod trouble;
mod whole;
mod write;

pub use build::{build, build_in_memory};
pub use building::Building;
pub use fai::{FaiRow, parse_fai};
pub use gzi::parse_gzi;
pub use open::{Index, IndexState};
pub use row::IndexRow;
pub use side::parse_side;
pub use whole::{open_reader, open_reader_at, text_by_index};

#[cfg(test)]
mod tests;
