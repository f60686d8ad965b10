//! Random access to the records of a file, with an index.
//!
//! An index is created once by scanning the file, and is stored next to the file:
//!
//! ```text
//! row            the position, length, line layout and checksum of a record
//! index_file     reads an index: rows, ids and tables (header, pages, id_column)
//! file_changes   the size, time and hash that detect a changed file
//! whole_file     reads a whole gzip file with several threads
//! fetch          reads many records: sorts, reads, parses and checks them
//! fai, gzi       the index files of samtools and bgzip
//! ```
//!
//! An index is not assumed to be correct. Positions are checked before they are used,
//! and the text at a position is parsed and compared with the index.

#![deny(clippy::indexing_slicing)] // numbers in a file are not trusted as indices

mod build;
mod build_options;
mod cache;
mod errors;
mod export;
mod fai;
mod fetch;
mod file_changes;
mod gzi;
mod header;
mod id_column;
mod index_file;
mod interval;
mod open;
mod pages;
mod row;
mod scan;
mod whole_file;
mod write;

pub use build::{build_in_memory, build_index_file};
pub use build_options::BuildOptions;
pub use fai::{FaiRow, parse_fai};
pub use gzi::parse_gzi;
pub use index_file::parse_index_rows;
pub use open::{Index, IndexState};
pub use row::IndexRow;
pub use whole_file::{open_reader, open_reader_at_record, text_by_index};

#[cfg(test)]
mod tests;
