//! Linear layers whose weights are whole numbers of 8 bits.
//!
//! A row of the input is quantized when it is read: `x * factors = scale * (q - zero)`, where
//! q is from 0 to 255 ([`quantize`]). Products of q and the weights are summed as integers,
//! which is exact, and each sum becomes a float once ([`epilogue`]). So a row of the output
//! has the same bits on every machine, but for those of gelu; and it has the same with any
//! other rows and with any number of threads.
//!
//! Weights are packed in panels of some columns of the output ([`pack`]). The input is read
//! in tiles of some rows, and the sums of a tile and a panel stay in registers from the first
//! product to the last ([`tile`]).

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

use crate::scratch::Spare;

/// A linear layer: `(x * factors) @ (weight * scales).T + bias`. A row that holds a NaN or an
/// infinity gives NaN.
#[derive(Clone, Copy, Debug)]
pub struct Int8Layer<'a> {
    /// A row of whole numbers for each output.
    pub weight: &'a [i8],
    /// What the weights of each output are multiplied by.
    pub scales: &'a [f32],
    /// What each input is multiplied by, before it is rounded; at most [`MAX_INPUTS`].
    pub factors: &'a [f32],
    /// Added to each output.
    pub bias: Option<&'a [f32]>,
}

/// The largest number of inputs whose sums fit in 32 bits.
pub const MAX_INPUTS: usize = 1 << 16;

/// Calls `work` with scratch space of this thread, whose words are whatever they are.
fn with_words<R>(length: usize, work: impl FnOnce(&mut [u32]) -> R) -> R {
    thread_local! {
        static SPARE: Spare<u32> = const { Spare::new() };
    }
    SPARE.with(|spare| spare.lend(length, work))
}
