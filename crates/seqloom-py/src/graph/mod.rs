//! Bindings of `seqloom-graph`.

pub(crate) mod model;
