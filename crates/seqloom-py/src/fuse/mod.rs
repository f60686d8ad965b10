//! Bindings of `seqloom-fuse`.

mod arrays;
pub(crate) mod program;
