//! Sequences to one-hot arrays, and back.
//!
//! A [`Table`] holds one verdict for each of the 256 bytes, made once from the
//! declared policy. Filling reads each sequence twice: to judge its letters,
//! and, channel by channel, to compare them; neither allocates.

mod decode;
mod fill;
mod layout;
mod table;

pub use fill::{Counts, Number};
pub use layout::Layout;
pub use table::Table;

#[cfg(test)]
mod tests;
