//! Quantization of rows of floats to 8-bit integers.

use bytemuck::Pod;
use pulp::Simd;
use seqloom_macros::vectorized;

use super::{pack::PackedWeights, tile::CHUNK_WORDS};
use crate::machine::dispatch;

/// The parameters that convert a quantized row back to floats: `scale * (q - zero)`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QuantizedRow {
    pub(super) scale: f32,
    pub(super) zero: i32,
}

/// Quantizes rows, and writes the results as the words of a tile. The words after the
/// end of a row are not cleared, because the weights for these words are 0.
#[vectorized]
pub(super) fn quantize_rows<S: Simd>(
    _simd: S,
    packed: &PackedWeights<'_>,
    x: &[f32],
    rows: &mut [QuantizedRow],
    words: &mut [u32],
) {
    let (tile, factors) = (packed.tile, packed.factors);
    let inputs = factors.len();
    let tiles = words.chunks_mut(tile.tile_words(inputs));
    for (first, (rows, words)) in rows.chunks_mut(tile.rows).zip(tiles).enumerate() {
        let x = &x[first * tile.rows * inputs..];
        for (number, row) in rows.iter_mut().enumerate() {
            let x = &x[number * inputs..][..inputs];
            let chunks = words[number * CHUNK_WORDS..].chunks_mut(tile.rows * CHUNK_WORDS);
            let step = Rounding::new(x, factors);
            *row = step.row;
            if tile.group == 4 {
                step.store_words::<u8>(x, factors, chunks);
            } else {
                step.store_words::<u16>(x, factors, chunks);
            }
        }
    }
}

/// The parameters for rounding the values of a row.
struct Rounding {
    row: QuantizedRow,
    /// The factor by which the values are multiplied.
    inverse: f32,
    /// The offset that is added to the scaled values, so that their lowest bits are q.
    zero: f32,
}

/// A large float. The sum of a small float and this constant has the nearest integer in
/// its lowest bits.
const INTEGER_OFFSET: f32 = 12_582_912.0;

/// The number of quantization steps between the smallest and the largest value of a
/// row. The number is 254 and not 255, because zero and the largest value may both be
/// rounded up.
const QUANTIZATION_STEPS: f32 = 254.0;

impl Rounding {
    #[inline(always)]
    fn new(x: &[f32], factors: &[f32]) -> Self {
        let (low, high) = value_range(x, factors);
        let scale = high / QUANTIZATION_STEPS - low / QUANTIZATION_STEPS;
        let inverse = scale.recip();
        if !scale.is_finite() {
            return Self::zero_row(f32::NAN);
        }
        // If the scale has no finite inverse, all values are 0 or extremely small.
        if !inverse.is_finite() {
            return Self::zero_row(0.0);
        }
        let zero = INTEGER_OFFSET - low * inverse;
        let row = QuantizedRow {
            scale,
            zero: (zero.to_bits() & 255).cast_signed(),
        };
        Self { row, inverse, zero }
    }

    /// Returns the parameters of a row of zeros, with the given scale.
    #[inline(always)]
    fn zero_row(scale: f32) -> Self {
        let row = QuantizedRow { scale, zero: 0 };
        Self {
            row,
            inverse: 0.0,
            zero: INTEGER_OFFSET,
        }
    }

    /// Returns the quantized value q: the lowest eight bits of the rounded float.
    #[inline(always)]
    fn quantize_value(&self, x: f32, factor: f32) -> u8 {
        let [byte, ..] = (x * factor * self.inverse + self.zero)
            .to_bits()
            .to_le_bytes();
        byte
    }

    /// Writes the quantized values of a row as words.
    #[inline(always)]
    fn store_words<'a, T: Pod + From<u8>>(
        &self,
        x: &[f32],
        factors: &[f32],
        chunks: impl Iterator<Item = &'a mut [u32]>,
    ) {
        let length = CHUNK_WORDS * size_of::<u32>() / size_of::<T>();
        let inputs = x.chunks(length).zip(factors.chunks(length));
        for ((x, factors), words) in inputs.zip(chunks) {
            let numbers: &mut [T] = bytemuck::cast_slice_mut(&mut words[..CHUNK_WORDS]);
            for ((number, &x), &factor) in numbers.iter_mut().zip(x).zip(factors) {
                *number = T::from(self.quantize_value(x, factor));
            }
        }
    }
}

/// Returns the minimum and the maximum of the scaled values and 0. NaN is treated as
/// larger than infinity.
#[inline(always)]
fn value_range(x: &[f32], factors: &[f32]) -> (f32, f32) {
    // The bit patterns of the floats are compared as integers, which gives the same
    // order and also defines the order of NaN.
    let order = |bits: i32| bits ^ (bits >> 31 & i32::MAX);
    let (mut low, mut high) = (0, 0);
    for (x, factor) in x.iter().zip(factors) {
        let number = order((x * factor).to_bits().cast_signed());
        low = low.min(number);
        high = high.max(number);
    }
    let float = |number: i32| f32::from_bits(order(number).cast_unsigned());
    (float(low), float(high))
}
