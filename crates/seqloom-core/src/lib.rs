//! Types that all crates share: alphabets, element types, errors, ragged batches and random keys.
//!
//! The crate also contains thread pools, worker threads and cancellation, and chooses
//! the SIMD instruction set. Only the module [`system`] reads and writes files.

pub mod alphabet;
pub mod buffer_pool;
mod dtype;
pub mod error;
pub mod interrupt;
pub mod key;
pub mod number;
pub mod pool;
pub mod process;
pub mod ragged;
pub mod simd;
pub mod system;
pub mod threads;
pub mod workers;

pub use alphabet::Alphabet;
pub use buffer_pool::BufferPool;
pub use dtype::Dtype;
pub use error::{Error, Result};
pub use key::Key;
pub use ragged::Ragged;
