//! Fused kernels for the NumPy backend. Kernels read slices of floats and fill slices
//! of floats.
//!
//! Kernels are generic over `f32` and `f64` ([`Float`]), and the instruction set is
//! chosen at run time. The last argument of a kernel is the number of `threads`; if
//! this number is greater than 1, the kernel uses the current rayon pool. Results are
//! bitwise equal for any number of threads.
//!
//! Public kernels have the attribute `compiled_once`. Without the attribute
//! `compiled_once`, every crate that calls the kernel would compile it again for each
//! instruction set.

#![expect(
    clippy::inline_always,
    reason = "functions that are not inlined are compiled for the baseline instruction set"
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
pub use parallel::{is_single_threaded, run_tasks, useful_threads};
