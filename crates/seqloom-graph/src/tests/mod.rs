//! Exports made by hand, opened.

mod files;
mod opening;

pub(crate) use files::Files;
