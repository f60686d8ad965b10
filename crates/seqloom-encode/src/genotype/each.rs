//! Decodes packed rows with a separate table for each column. If the columns are
//! variants, the tables can impute or standardise genotypes.

use seqloom_core::simd::dispatch;
use seqloom_macros::vectorized;

/// One slice for each of the four codes, with the number for this code in each column.
pub type CodeTables<'a, T> = [&'a [T]; 4];

/// A number type with a branch-free selection of one number out of four. Branches would
/// be slow, because genotypes are unpredictable.
pub trait SelectByCode: Copy + Send + Sync {
    /// Returns the number for a code, which is in the two lowest bits of `code`.
    fn select_by_code(code: u32, values: [Self; 4]) -> Self;
}

macro_rules! impl_select_by_code {
    ($number:ty, $bits:ty, $to_bits:expr, $from_bits:expr) => {
        impl SelectByCode for $number {
            #[inline(always)]
            fn select_by_code(code: u32, values: [Self; 4]) -> Self {
                let [a, b, c, d] = values.map($to_bits);
                let code = <$bits>::from((code & 3) as u8);
                let odd = <$bits>::wrapping_sub(0, code & 1);
                let high = <$bits>::wrapping_sub(0, code >> 1);
                let (low, other) = (a ^ ((a ^ b) & odd), c ^ ((c ^ d) & odd));
                $from_bits(low ^ ((low ^ other) & high))
            }
        }
    };
}
impl_select_by_code!(i8, u8, i8::cast_unsigned, u8::cast_signed);
impl_select_by_code!(f32, u32, f32::to_bits, f32::from_bits);
impl_select_by_code!(f64, u64, f64::to_bits, f64::from_bits);

/// The number of columns whose tables fit in an L1 cache.
const TILE_POSITIONS: usize = 1024;

/// The number of columns that are decoded together: the codes in a 32-bit word.
const WORD_POSITIONS: usize = 16;

/// Decodes packed rows of `stride` bytes. Each output row has as many columns as the
/// tables.
///
/// # Panics
///
/// Panics if a packed row has fewer columns than the tables.
#[vectorized]
pub fn decode_by_column<T: SelectByCode>(
    lines: &[u8],
    stride: usize,
    tables: CodeTables<'_, T>,
    out: &mut [T],
) {
    let positions = tables[0].len();
    for first in (0..positions).step_by(TILE_POSITIONS) {
        let last = positions.min(first + TILE_POSITIONS);
        let tables = tables.map(|table| &table[first..last]);
        let lines = lines.chunks_exact(stride.max(1));
        for (line, row) in lines.zip(out.chunks_exact_mut(positions)) {
            decode_tile(&line[first / 4..], tables, &mut row[first..last]);
        }
    }
}

/// Decodes some columns of one packed row.
#[inline(always)]
fn decode_tile<T: SelectByCode>(codes: &[u8], tables: CodeTables<'_, T>, out: &mut [T]) {
    let (words, _) = codes.as_chunks::<{ WORD_POSITIONS / 4 }>();
    let [first, second, third, fourth] = tables.map(|table| table.as_chunks::<WORD_POSITIONS>().0);
    let runs = first.iter().zip(second).zip(third).zip(fourth);
    let done = WORD_POSITIONS * first.len();
    for ((word, out), (((a, b), c), d)) in words
        .iter()
        .zip(out.as_chunks_mut::<WORD_POSITIONS>().0)
        .zip(runs)
    {
        let word = u32::from_le_bytes(*word);
        for at in 0..WORD_POSITIONS {
            out[at] = T::select_by_code(word >> (2 * at), [a[at], b[at], c[at], d[at]]);
        }
    }
    for (position, out) in out.iter_mut().enumerate().skip(done) {
        *out = tables[usize::from(codes[position / 4] >> (2 * (position % 4)) & 3)][position];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_codes<T: SelectByCode + PartialEq>(
        positions: usize,
        value: impl Fn(usize, usize) -> T,
    ) {
        let (lines, stride) = (3, positions.div_ceil(4));
        let codes: Vec<u8> = (0..=250).cycle().take(lines * stride).collect();
        let planes: [Vec<T>; 4] = std::array::from_fn(|code| {
            (0..positions)
                .map(|position| value(code, position))
                .collect()
        });
        let mut out = vec![value(0, 0); lines * positions];
        decode_by_column(
            &codes,
            stride,
            planes.each_ref().map(Vec::as_slice),
            &mut out,
        );
        for (at, found) in out.iter().enumerate() {
            let (line, position) = (at / positions, at % positions);
            let code = codes[line * stride + position / 4] >> (2 * (position % 4)) & 3;
            assert!(
                *found == value(usize::from(code), position),
                "{at} of {positions}"
            );
        }
    }

    #[test]
    fn every_column_is_decoded_with_its_table() {
        for positions in [1, 3, 4, 15, 16, 17, 63, 1023, 1024, 1025, 1040, 2053] {
            let small = |code, position| i8::try_from((position + 61 * code) % 127).unwrap();
            check_codes(positions, small);
            check_codes(positions, |code, position| {
                f32::from(small(code, position)) / 3.0
            });
            check_codes(positions, |code, position| {
                f64::from(small(code, position)) / 7.0
            });
        }
    }

    #[test]
    fn zero_positions_decode_to_an_empty_output() {
        decode_by_column::<f32>(&[], 0, [&[]; 4], &mut []);
    }
}
