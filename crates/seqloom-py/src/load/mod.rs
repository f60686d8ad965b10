//! The border of `seqloom-load`.

pub(crate) mod order;
pub(crate) mod store;
