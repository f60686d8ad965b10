//! Bindings of `seqloom-load`.

pub(crate) mod checksum;
pub(crate) mod genotype;
pub(crate) mod maker;
pub(crate) mod order;
pub(crate) mod packed;
pub(crate) mod store;
mod tokeniser;
