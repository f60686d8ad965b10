//! What each of the 256 bytes means to an encoder, by a declared policy.

mod build;
mod expected;
mod judge;
mod plain;
mod table;
mod verdict;

pub use judge::{Counts, Judge};
pub(crate) use plain::{CHUNK, Seen};
pub use table::Letters;

#[cfg(test)]
mod tests;
