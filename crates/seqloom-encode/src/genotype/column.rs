//! Decodes one column of many packed rows, after the bytes of the rows are transposed.

use std::ops::Range;

pub use super::square::SQUARE_SIDE;
use super::square::{Square, transpose_square};
use super::value::code_in_byte;
#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{CodeTable, Genotype};

/// Transposes the bytes of consecutive packed rows, beginning with byte `first` of each
/// row. After the call, `out[b * lines + l]` contains byte `b` of row `l`.
///
/// # Panics
///
/// Panics if the length of `out` is not a multiple of the number of rows, or if the
/// rows are too short.
pub fn transpose_packed_rows(lines: &[u8], stride: usize, first: usize, out: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = seqloom_core::simd::avx2() {
        return simd.vectorize(
            #[inline(always)]
            || {
                transpose_row_bytes(
                    #[inline(always)]
                    |square| x86::transpose_square(simd, square),
                    lines,
                    (stride, first),
                    out,
                );
            },
        );
    }
    transpose_row_bytes(transpose_square, lines, (stride, first), out);
}

/// Transposes the bytes of the rows. `transpose_square` is a function that transposes
/// 16 by 16 bytes.
#[inline(always)]
fn transpose_row_bytes(
    transpose_square: impl Fn(Square) -> Square,
    lines: &[u8],
    (stride, first): (usize, usize),
    out: &mut [u8],
) {
    let count = lines.len() / stride.max(1);
    let width = out.len() / count.max(1);
    for (group, out) in out.chunks_mut(SQUARE_SIDE * count.max(1)).enumerate() {
        let start = first + group * SQUARE_SIDE;
        let bytes = start..(start + SQUARE_SIDE).min(first + width);
        transpose_bytes(&transpose_square, (lines, stride), bytes, out);
    }
}

/// Transposes at most 16 bytes of each row.
#[inline(always)]
fn transpose_bytes(
    transpose_square: &impl Fn(Square) -> Square,
    (lines, stride): (&[u8], usize),
    bytes: Range<usize>,
    out: &mut [u8],
) {
    let count = lines.len() / stride;
    let whole = if bytes.len() == SQUARE_SIDE {
        count / SQUARE_SIDE * SQUARE_SIDE
    } else {
        0
    };
    for top in (0..whole).step_by(SQUARE_SIDE) {
        let lines = &lines[top * stride + bytes.start..];
        transpose_block(transpose_square, (lines, stride), (&mut out[top..], count));
    }
    for line in whole..count {
        let bytes = &lines[line * stride..][bytes.clone()];
        let column = out[line..].iter_mut().step_by(count);
        column.zip(bytes).for_each(|(out, byte)| *out = *byte);
    }
}

/// Transposes 16 bytes of 16 rows.
#[inline(always)]
fn transpose_block(
    transpose_square: &impl Fn(Square) -> Square,
    (lines, stride): (&[u8], usize),
    (out, count): (&mut [u8], usize),
) {
    let mut rows = [[0_u8; SQUARE_SIDE]; SQUARE_SIDE];
    for (row, line) in rows.iter_mut().zip(lines.chunks(stride)) {
        row.copy_from_slice(&line[..SQUARE_SIDE]);
    }
    for (row, out) in transpose_square(rows).iter().zip(out.chunks_mut(count)) {
        out[..SQUARE_SIDE].copy_from_slice(row);
    }
}

/// Decodes one column: the code at the same bits of each byte.
///
/// # Panics
///
/// Panics if `out` is longer than `bytes`.
pub fn decode_column<T: Genotype>(
    bytes: &[u8],
    position: usize,
    table: &CodeTable<T>,
    out: &mut [T],
) {
    let bytes = &bytes[..out.len()];
    let shift = 2 * u32::from(position.to_le_bytes()[0] & 3);
    let done = T::decode_columns(bytes, shift, table, out);
    for (out, byte) in out.iter_mut().zip(bytes).skip(done) {
        *out = table[code_in_byte(*byte, position)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_transposed_for_any_number_of_lines() {
        let stride = 21;
        for count in [1, 15, 16, 17, 40] {
            let lines: Vec<u8> = (0..count * stride)
                .map(|i: usize| (i * 31).to_le_bytes()[0])
                .collect();
            for (first, width) in [(0, 16), (5, 16), (16, 5), (3, 1), (2, 17)] {
                let mut out = vec![0; width * count];
                transpose_packed_rows(&lines, stride, first, &mut out);
                for (at, byte) in out.iter().enumerate() {
                    assert_eq!(*byte, lines[at % count * stride + first + at / count]);
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn avx2_and_the_loop_give_the_same_transposed_square() {
        let Some(simd) = seqloom_core::simd::avx2() else {
            return;
        };
        let byte = |at: usize| (at * 7919).to_le_bytes()[1];
        let square =
            std::array::from_fn(|row| std::array::from_fn(|at| byte(row * SQUARE_SIDE + at)));
        let transposed = simd.vectorize(|| x86::transpose_square(simd, square));
        assert_eq!(transposed, transpose_square(square));
        assert_eq!(transposed[3][5], square[5][3]);
    }

    #[test]
    fn a_position_of_each_byte_decodes_to_the_value_of_its_code() {
        let bytes: Vec<u8> = (0..=255).collect();
        for count in [0, 1, 31, 32, 33, 256] {
            for position in 0..8 {
                let mut small = vec![0_i8; count];
                decode_column(&bytes, position, &[0, 1, 2, 3], &mut small);
                let mut single = vec![0.0_f32; count];
                decode_column(&bytes, position, &[0.0, 1.0, 2.0, 3.0], &mut single);
                let mut double = vec![0.0_f64; count];
                decode_column(&bytes, position, &[0.0, 1.0, 2.0, 3.0], &mut double);
                for (at, byte) in bytes[..count].iter().enumerate() {
                    let expected = byte >> (2 * (position % 4)) & 3;
                    assert_eq!(small[at], expected.cast_signed());
                    assert_eq!(single[at].to_bits(), f32::from(expected).to_bits());
                    assert_eq!(double[at].to_bits(), f64::from(expected).to_bits());
                }
            }
        }
    }
}
