//! Random numbers that depend only on a key and a position, and are bitwise equal to
//! those of JAX.

mod integers;
mod normal;
mod uniform;
pub(crate) mod words;

pub use integers::{permutation, randint};
pub use normal::{NormalFloat, Truncation, normal, truncated_normal};
pub(crate) use uniform::bernoulli_bound;
pub use uniform::{UniformFloat, bernoulli, random_bits, uniform};
