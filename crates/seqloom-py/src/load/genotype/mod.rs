//! Genotype files.

pub(crate) mod bed_file;
pub(crate) mod codes;
pub(crate) mod stats;
