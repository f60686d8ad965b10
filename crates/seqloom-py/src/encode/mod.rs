//! The border of `seqloom-encode`.

pub(crate) mod count;
pub(crate) mod one_hot;
