//! Bindings of `seqloom-kernels`.

pub(crate) mod activation;
pub(crate) mod adamw;
pub(crate) mod attention;
pub(crate) mod batch_norm;
mod booleans;
pub(crate) mod conv;
pub(crate) mod dense;
pub(crate) mod dropout;
pub(crate) mod embedding;
mod floats;
pub(crate) mod int8;
pub(crate) mod max_pool1d;
pub(crate) mod norm;
pub(crate) mod product;
pub(crate) mod random;
pub(crate) mod recurrent;
pub(crate) mod softmax;
mod strided;
