//! Linear layers with 8-bit integer weights.
//!
//! Each input row is quantized when it is read: `x * factors = scale * (q - zero)`,
//! where q is 0 to 255 ([`quantize`]). Products of q and the weights are summed
//! exactly, as integers, and each sum is converted to a float once ([`epilogue`]). An
//! output row without gelu is therefore bitwise equal on every machine. The output of a
//! row does not depend on other rows or on the number of threads.
//!
//! Weights are packed in panels of output columns ([`pack`]). The input is read in
//! tiles of rows. The sums for a tile and a panel remain in registers until all
//! products are added ([`tile`]).

mod epilogue;
mod feed_forward;
mod linear;
mod pack;
mod quantize;
#[cfg(test)]
mod tests;
mod tile;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use feed_forward::Int8FeedForward;
pub use linear::{linear, linear_then_rotate};

use crate::scratch::ScratchBuffers;

/// A linear layer: `(x * factors) @ (weight * scales).T + bias`. The output of a row
/// that contains NaN or infinity is NaN.
#[derive(Clone, Copy, Debug)]
pub struct Int8Layer<'a> {
    /// The integer weights `(outputs, inputs)`.
    pub weight: &'a [i8],
    /// The factor by which the weights of each output are multiplied.
    pub scales: &'a [f32],
    /// The factor by which each input is multiplied before quantization. There are at
    /// most [`MAX_INPUTS`] inputs.
    pub factors: &'a [f32],
    /// The bias of each output.
    pub bias: Option<&'a [f32]>,
}

/// The largest number of inputs for which the integer sums fit in 32 bits.
pub const MAX_INPUTS: usize = 1 << 16;

/// Calls `work` with uninitialised scratch memory of this thread, as 32-bit words.
fn with_word_buffer<R>(length: usize, work: impl FnOnce(&mut [u32]) -> R) -> R {
    thread_local! {
        static SCRATCH: ScratchBuffers<u32> = const { ScratchBuffers::new() };
    }
    SCRATCH.with(|spare| spare.with_buffer(length, work))
}
