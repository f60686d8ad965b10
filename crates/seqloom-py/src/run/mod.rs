//! Bindings of `seqloom-run`.

pub(crate) mod exported;
