//! Fused kernels for the NumPy backend: they read arrays of numbers and fill arrays of numbers.
//!
//! One source serves `f32` and `f64` ([`Float`]) and every instruction set, which is chosen when a
//! kernel is called. A kernel takes the number of `threads` last, and with more than one works in
//! rayon's current pool. The result depends on the inputs only: the number of threads changes no
//! bit of it.
//!
//! A public kernel of any [`Float`] has the attribute `compiled_once`: without it, every crate
//! that calls the kernel would compile it again for each instruction set.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined into a kernel is compiled for the oldest machine"
)]

pub mod activation;
pub mod adamw;
pub mod attention;
pub mod batch_norm;
pub mod conv;
pub mod cross_entropy;
pub mod dense;
pub mod depthwise;
pub mod dropout;
pub mod embedding;
mod float;
mod floats;
pub mod int8;
pub mod lanes;
pub mod machine;
mod map;
mod matrix;
pub mod max_pool1d;
pub mod norm;
mod parallel;
pub mod pool;
pub mod product;
pub mod random;
pub mod recurrent;
mod scratch;
pub mod softmax;
pub mod special;
mod tuned;

pub use float::{Float, Instances};
pub use parallel::{each, is_alone, worth_waking};
