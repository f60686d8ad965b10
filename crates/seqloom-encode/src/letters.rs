//! Tables that define how an encoder converts each character, and the validation of
//! sequences.

mod build;
mod checker;
mod expected;
mod kinds;
mod plain;
mod table;

pub use checker::{LetterChecker, LetterCounts};
pub(crate) use plain::{CHUNK_RESIDUES, ChunkFlags};
pub use table::LetterTable;

#[cfg(test)]
mod tests;
