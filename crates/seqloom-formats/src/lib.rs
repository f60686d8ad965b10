//! Bytes to sequence records: FASTA, plain and compressed.
//!
//! ```text
//! >chr1 assembled 2024     header: the id, then a description
//! ACGTACGTAC               letters, wrapped at any width
//! ACGT
//! ```
//!
//! [`input`] reads a file, [`compression`] makes text of it, [`fasta`] makes
//! records of the text. Nothing is cut or dropped silently: what is not FASTA
//! is an error that names file, record, line and byte.

pub mod batch;
pub mod compression;
pub mod fasta;
pub mod input;
pub mod locate;
pub mod reader;
mod sniff;

pub use batch::Batch;
pub use locate::locate;
pub use reader::Reader;
