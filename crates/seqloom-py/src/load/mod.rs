//! The border of `seqloom-load`.

pub(crate) mod order;
