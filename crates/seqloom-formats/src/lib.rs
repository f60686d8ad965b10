//! Bytes to sequence records: FASTA and FASTQ, plain and compressed.
//!
//! ```text
//! >chr1 assembled 2024     header: the id, then a description
//! ACGTACGTAC               letters, wrapped at any width
//! ACGT
//! ```
//!
//! [`input`] reads a file, [`compression`] makes text of it, [`fasta`] and
//! [`fastq`] make records of the text, [`reader`] makes batches of the records.
//! Nothing is cut or dropped silently: what is neither FASTA nor FASTQ is an
//! error that names file, record, line and byte.

pub mod batch;
mod bytes;
pub mod compression;
mod cursor;
pub mod fasta;
pub mod fastq;
pub mod index;
mod inflate;
pub mod input;
pub mod locate;
pub mod options;
pub mod pairs;
mod parser;
pub mod patience;
mod pieces;
pub mod plink;
pub mod profile;
pub mod reader;
pub mod render;
pub mod report;
pub mod rows;
pub mod sink;
mod sniff;
pub mod write;

pub use batch::Batch;
pub use locate::locate;
pub use options::Options;
pub use reader::Reader;
pub use report::Report;
