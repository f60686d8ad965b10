//! Text to sequence records and back: FASTA and FASTQ, plain and compressed.
//!
//! ```text
//! >chr1 assembled 2024     header: the id, then a description
//! ACGTACGTAC               letters, wrapped at any width
//! ACGT
//! ```
//!
//! [`fasta`] and [`fastq`] make records of the text that `seqloom-compression` reads, and
//! [`reader`] makes batches of the records. Nothing is cut or dropped silently: what is neither
//! FASTA nor FASTQ is an error that names file, record, line and byte.

#![deny(clippy::indexing_slicing)] // what a file says is no proof of a bound

pub mod batch;
pub mod bytes;
mod cursor;
pub mod fasta;
pub mod fastq;
pub mod locate;
pub mod options;
pub mod pairs;
pub mod parser;
mod pieces;
pub mod profile;
pub mod reader;
pub mod render;
pub mod report;
pub mod rows;
pub mod sink;
pub mod sniff;
pub mod write;

pub use batch::Batch;
pub use locate::locate;
pub use options::ReaderOptions;
pub use reader::Reader;
pub use report::Report;
