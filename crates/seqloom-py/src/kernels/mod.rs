//! The border of `seqloom-kernels`.

pub(crate) mod activation;
pub(crate) mod adamw;
pub(crate) mod batch_norm;
pub(crate) mod conv1d;
pub(crate) mod dropout;
mod floats;
pub(crate) mod max_pool1d;
mod pool;
pub(crate) mod softmax;
