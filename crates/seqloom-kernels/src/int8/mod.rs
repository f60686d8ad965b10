//! Linear layers whose weights are whole numbers of 8 bits.
//!
//! A row of the input is quantized when it is read: `x = scale * (q - zero)`, where q is from
//! 0 to 255 ([`quantize`]). Products of q and the weights are summed as integers, which is
//! exact, and each sum becomes a float once ([`epilogue`]). So a row of the output has the
//! same bits on every machine, but for those of gelu; and it has the same beside any other
//! rows and with any number of threads.
//!
//! Weights are packed in panels of some columns of the output ([`pack`]). The input is read
//! in tiles of some rows, and the sums of a tile and a panel stay in registers from the first
//! product to the last ([`tile`]).

mod epilogue;
mod pack;
mod quantize;
#[cfg(test)]
mod tests;
mod tile;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use epilogue::Epilogue;
use epilogue::put_tile;
use pack::Packed;
use quantize::{Row, quantize};
use tile::{BAND, LARGEST, Tile};

use crate::parallel;
use crate::scratch::Spare;

/// Weights of 8 bits, and the factor that those of each output are multiplied by.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    /// The numbers (outputs, inputs).
    pub values: &'a [i8],
    /// The factors (outputs).
    pub scales: &'a [f32],
    /// How many inputs there are, at most [`DEEPEST`].
    pub inputs: usize,
}

/// As many inputs as sums of 32 bits have room for.
pub const DEEPEST: usize = 1 << 16;

/// Fills `out` (rows, outputs) with the product of x (rows, inputs) and the weights, turned,
/// and with what the epilogue makes of it. A row that holds a NaN or an infinity gives NaN.
pub fn linear(
    x: &[f32],
    weights: Weights<'_>,
    epilogue: Epilogue<'_>,
    out: &mut [f32],
    threads: usize,
) {
    linear_by(Tile::chosen(), x, (weights, epilogue), out, threads);
}

/// The same by these instructions.
fn linear_by(
    tile: Tile,
    x: &[f32],
    (weights, epilogue): (Weights<'_>, Epilogue<'_>),
    out: &mut [f32],
    threads: usize,
) {
    let (inputs, outputs) = (weights.inputs, weights.scales.len());
    if out.is_empty() {
        return;
    }
    let band = tile.band(out.len() / outputs, threads);
    Packed::pack(tile, weights, epilogue.bias, threads, |packed| {
        parallel::chunks(out, band * outputs, threads, |number, out| {
            let start = number * band;
            let x = &x[start * inputs..][..out.len() / outputs * inputs];
            let epilogue = epilogue.of(start * outputs, out.len());
            multiply(x, packed, epilogue, out);
        });
    });
}

/// Fills a band of rows of the output, on one thread.
fn multiply(x: &[f32], packed: &Packed<'_>, epilogue: Epilogue<'_>, out: &mut [f32]) {
    let tile = packed.tile;
    let length = tile.words(packed.inputs);
    let mut rows = [Row::default(); BAND];
    let rows = &mut rows[..out.len() / packed.outputs];
    with_words(rows.len().div_ceil(tile.rows) * length, |words| {
        quantize(x, packed, rows, words);
        let mut sums = [0; LARGEST];
        let sums = &mut sums[..tile.rows * tile.columns];
        for (number, panel) in packed.panels().enumerate() {
            let column = number * tile.columns;
            for (number, words) in words.chunks(length).enumerate() {
                (tile.sum)(words, panel, sums);
                let row = number * tile.rows;
                let rows = &rows[row..rows.len().min(row + tile.rows)];
                put_tile(packed, epilogue, (row, column), (sums, rows), out);
            }
        }
    });
}

/// Calls `work` with scratch space of this thread, whose words are whatever they are.
fn with_words<R>(length: usize, work: impl FnOnce(&mut [u32]) -> R) -> R {
    thread_local! {
        static SPARE: Spare<u32> = const { Spare::new() };
    }
    SPARE.with(|spare| spare.lend(length, work))
}
