//! Bindings of `seqloom-encode`.

pub(crate) mod augment;
pub(crate) mod count;
pub(crate) mod genotype;
pub(crate) mod kernel;
pub(crate) mod letters;
pub(crate) mod pack;
