//! Variants: normal forms of alleles, their comparison with a genome, and sequences with an allele.
//!
//! ```text
//! genome         reads ranges of contigs in blocks
//! check          compares REF with the genome, and names the kinds of ALT
//! normalise      makes a table of alleles in normal form from a batch of records
//! window         makes sequences with the reference or the alternative allele
//! ```

#![deny(clippy::indexing_slicing)] // numbers in a file are not trusted as indices

pub mod check;
pub mod genome;
pub mod normalise;
pub mod window;
