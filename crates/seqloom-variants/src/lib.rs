//! Variants: VCF and BCF files, normal forms of alleles, and sequences with an allele.

#![deny(clippy::indexing_slicing)] // numbers in a file are not trusted as indices
