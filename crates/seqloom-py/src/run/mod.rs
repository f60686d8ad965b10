//! `seqloom-run`.

pub(crate) mod exported;
