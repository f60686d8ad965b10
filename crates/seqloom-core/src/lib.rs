//! The nouns of sequence data: alphabets, errors, ragged batches and
//! counter-based random keys; and threads that do jobs in order, for whoever
//! may not use a pool; and the instruction set that kernels use. No input or output
//! but one call at a position of a file ([`system`]), no arrays.

pub mod alphabet;
pub mod error;
pub mod interrupt;
pub mod key;
pub mod number;
pub mod pool;
pub mod process;
pub mod ragged;
pub mod shelf;
pub mod simd;
pub mod system;
pub mod threads;
pub mod workers;

pub use alphabet::Alphabet;
pub use error::{Error, Result};
pub use key::Key;
pub use ragged::Ragged;
pub use shelf::Shelf;
