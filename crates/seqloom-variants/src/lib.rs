//! Reads and writes VCF and BCF files, and makes sequences of a genome with their alleles.
//!
//! ```text
//! reader         reads records in batches of columns (vcf and record: VCF, bcf: BCF)
//! index          finds the records of regions with a .tbi or .csi index
//! write          writes the records of a file with further INFO fields, and an index
//! genome         reads ranges of contigs in blocks
//! check          compares REF with the genome, and names the kinds of ALT
//! normalise      makes a table of alleles in normal form from a batch of records
//! window         makes sequences with the reference or the alternative allele
//! ```

#![deny(clippy::indexing_slicing)] // numbers in a file are not trusted as indices

mod bcf;
mod bcf_text;
mod bytes;
pub mod check;
mod columns;
mod fields;
pub mod genome;
mod genotypes;
mod header;
mod index;
mod index_writer;
pub mod normalise;
mod numbers;
mod reader;
mod record;
mod region;
mod report;
mod samples;
mod typed;
mod vcf;
pub mod window;
mod write;

pub use columns::{BytesColumn, VariantColumns};
pub use fields::{Field, FieldColumn, FieldNumber, NumberColumn};
pub use genotypes::Genotypes;
pub use header::{Contig, Declaration, Header, Kind};
pub use index_writer::IndexKind;
pub use reader::{VariantReader, VariantReaderOptions};
pub use report::{Oddity, VariantReport};
pub use samples::SampleChoice;
pub use write::{InfoLine, VariantSummary, VariantWriter};
