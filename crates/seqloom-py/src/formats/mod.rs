//! Bindings of the crates that read and write files.

pub(crate) mod alleles;
pub(crate) mod columns;
pub(crate) mod index;
pub(crate) mod locate;
pub(crate) mod plink;
pub(crate) mod profile;
pub(crate) mod reader;
pub(crate) mod source;
pub(crate) mod tracks;
pub(crate) mod variants;
pub(crate) mod write;
