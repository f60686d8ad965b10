//! What each of the 256 bytes means to an encoder, by a declared policy.

mod build;
mod checker;
mod expected;
mod plain;
mod table;
mod verdict;

pub use checker::{LetterChecker, LetterCounts};
pub(crate) use plain::{CHUNK, ChunkFlags};
pub use table::LetterTable;

#[cfg(test)]
mod tests;
