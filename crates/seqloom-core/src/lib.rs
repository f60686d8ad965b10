//! The nouns of sequence data: alphabets, errors, ragged batches and
//! counter-based random keys. No input or output, no arrays, no threads.

pub mod alphabet;
pub mod error;
pub mod key;
pub mod ragged;
pub mod shelf;

pub use alphabet::Alphabet;
pub use error::{Error, Result};
pub use key::Key;
pub use ragged::Ragged;
pub use shelf::Shelf;
