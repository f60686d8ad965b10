//! Reads and writes plain and compressed FASTA and FASTQ files.
//!
//! ```text
//! >chr1 assembled 2024     header: the id, then a description
//! ACGTACGTAC               residues, wrapped at any width
//! ACGT
//! ```
//!
//! [`fasta`] and [`fastq`] parse the text that `seqloom-compression` decompresses, and
//! [`reader`] collects the records in batches. Invalid text is never ignored silently:
//! an error names the file, record, line and byte.

#![deny(clippy::indexing_slicing)] // numbers in a file are not trusted as indices

pub mod batch;
pub mod bytes;
mod cursor;
pub mod fasta;
pub mod fastq;
pub mod locate;
pub mod options;
pub mod pairs;
pub mod parser;
pub mod profile;
mod pushback;
pub mod reader;
pub mod render;
pub mod report;
pub mod rows;
pub mod sink;
pub mod sniff;
pub mod write;

pub use batch::Batch;
pub use locate::locate_residue;
pub use options::ReaderOptions;
pub use reader::Reader;
pub use report::ReadReport;
