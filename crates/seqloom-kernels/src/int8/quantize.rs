//! Rows of floats as whole numbers of 8 bits.

use bytemuck::Pod;
use pulp::Simd;
use seqloom_macros::vectorized;

use super::pack::PackedWeights;
use super::tile::WORDS;
use crate::machine::dispatch;

/// What turns the numbers of a row back into floats: `scale * (q - zero)`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QuantizedRow {
    pub(super) scale: f32,
    pub(super) zero: i32,
}

/// Quantizes rows into the words of tiles. What is behind the last number of a row stays
/// as it is: weights are zero there.
#[vectorized]
pub(super) fn quantize<S: Simd>(
    _simd: S,
    packed: &PackedWeights<'_>,
    x: &[f32],
    rows: &mut [QuantizedRow],
    words: &mut [u32],
) {
    let (tile, factors) = (packed.tile, packed.factors);
    let inputs = factors.len();
    let tiles = words.chunks_mut(tile.words(inputs));
    for (first, (rows, words)) in rows.chunks_mut(tile.rows).zip(tiles).enumerate() {
        let x = &x[first * tile.rows * inputs..];
        for (number, row) in rows.iter_mut().enumerate() {
            let x = &x[number * inputs..][..inputs];
            let chunks = words[number * WORDS..].chunks_mut(tile.rows * WORDS);
            let step = Rounding::of(x, factors);
            *row = step.row;
            if tile.group == 4 {
                step.put::<u8>(x, factors, chunks);
            } else {
                step.put::<u16>(x, factors, chunks);
            }
        }
    }
}

/// How the numbers of a row are rounded.
struct Rounding {
    row: QuantizedRow,
    /// What they are multiplied by.
    inverse: f32,
    /// What is added then: it leaves q in the lowest bits.
    zero: f32,
}

/// Adding it to a small float leaves the nearest whole number in the lowest bits.
const ROUNDER: f32 = 12_582_912.0;

/// Steps from the least number of a row to the greatest: one less than 8 bits hold,
/// because zero and the greatest may both be rounded up.
const STEPS: f32 = 254.0;

impl Rounding {
    #[inline(always)]
    fn of(x: &[f32], factors: &[f32]) -> Self {
        let (low, high) = range(x, factors);
        let scale = high / STEPS - low / STEPS;
        let inverse = scale.recip();
        if !scale.is_finite() {
            return Self::zero(f32::NAN);
        }
        // All are zero, or so near to it that their scale has no inverse.
        if !inverse.is_finite() {
            return Self::zero(0.0);
        }
        let zero = ROUNDER - low * inverse;
        let row = QuantizedRow {
            scale,
            zero: (zero.to_bits() & 255).cast_signed(),
        };
        Self { row, inverse, zero }
    }

    /// A row whose sums are multiplied by `scale` only.
    #[inline(always)]
    fn zero(scale: f32) -> Self {
        let row = QuantizedRow { scale, zero: 0 };
        Self {
            row,
            inverse: 0.0,
            zero: ROUNDER,
        }
    }

    /// The lowest eight bits, which are q.
    #[inline(always)]
    fn byte(&self, x: f32, factor: f32) -> u8 {
        let [byte, ..] = (x * factor * self.inverse + self.zero)
            .to_bits()
            .to_le_bytes();
        byte
    }

    /// Writes a row's numbers in words of its chunks.
    #[inline(always)]
    fn put<'a, T: Pod + From<u8>>(
        &self,
        x: &[f32],
        factors: &[f32],
        chunks: impl Iterator<Item = &'a mut [u32]>,
    ) {
        let length = WORDS * size_of::<u32>() / size_of::<T>();
        let inputs = x.chunks(length).zip(factors.chunks(length));
        for ((x, factors), words) in inputs.zip(chunks) {
            let numbers: &mut [T] = bytemuck::cast_slice_mut(&mut words[..WORDS]);
            for ((number, &x), &factor) in numbers.iter_mut().zip(x).zip(factors) {
                *number = T::from(self.byte(x, factor));
            }
        }
    }
}

/// The least of the numbers to round, if it is below zero, and the greatest, if above; a NaN is beyond
/// infinity.
#[inline(always)]
fn range(x: &[f32], factors: &[f32]) -> (f32, f32) {
    // As integers, which have the order of the floats, and none of which is unordered.
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
