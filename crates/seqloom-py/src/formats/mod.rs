//! The border of `seqloom-formats`.

pub(crate) mod locate;
pub(crate) mod reader;
