//! What each of the 256 bytes means to an encoder, by a declared policy.

mod build;
mod expected;
mod checker;
mod plain;
mod table;
mod verdict;

pub use checker::{LetterCounts, LetterChecker};
pub(crate) use plain::{CHUNK, ChunkFlags};
pub use table::LetterTable;

#[cfg(test)]
mod tests;
