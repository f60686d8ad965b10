//! The border of `seqloom-graph`.

pub(crate) mod model;
