//! Records at any position of a file.
//!
//! An index is made once, by looking through the file, and kept beside it:
//!
//! ```text
//! row      where a record begins, how long it is, how its lines are laid out, a checksum
//! side     rows, names and tables as bytes: pages with a hash each (head, pages, names)
//! text     the text of a range: plain, out of bgzip's blocks, or of gzip from a position
//!          where inflating can start (walk finds such positions)
//! stamp    whether the file is still the one that was indexed
//! whole    all of the text in order, by several threads, each from such a position
//! fetch    many records at once: sorted, read together, parsed, compared
//! fai, gzi the files of samtools and bgzip that say the same, in part
//! ```
//!
//! Nothing in an index is believed: a position is checked before it is used, and
//! what stands there is parsed and compared with what the index says.

#![deny(clippy::indexing_slicing)] // what a file says is no proof of a bound

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
