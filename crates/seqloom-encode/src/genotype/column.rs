//! One position of many lines: the lines' bytes are transposed first.

use std::ops::Range;

pub use super::square::WIDTH;
use super::square::{Square, flip};
use super::value::code;
#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{CodeTable, Genotype};

/// Transposes the bytes from `first` on of lines that lie end to end: byte `b` of line `l` comes to
/// stand at `out[b * lines + l]`.
///
/// # Panics
///
/// If the length of `out` is no multiple of a line's bytes, or they lie behind the lines' ends.
pub fn transpose(lines: &[u8], stride: usize, first: usize, out: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = seqloom_core::simd::avx2() {
        return simd.vectorize(
            #[inline(always)]
            || {
                turn_by(
                    #[inline(always)]
                    |square| x86::flip(simd, square),
                    lines,
                    (stride, first),
                    out,
                );
            },
        );
    }
    turn_by(flip, lines, (stride, first), out);
}

/// Transposes with a function that transposes a square.
#[inline(always)]
fn turn_by(
    flip: impl Fn(Square) -> Square,
    lines: &[u8],
    (stride, first): (usize, usize),
    out: &mut [u8],
) {
    let count = lines.len() / stride.max(1);
    let width = out.len() / count.max(1);
    for (group, out) in out.chunks_mut(WIDTH * count.max(1)).enumerate() {
        let start = first + group * WIDTH;
        let bytes = start..(start + WIDTH).min(first + width);
        turn_group(&flip, (lines, stride), bytes, out);
    }
}

/// Transposes at most sixteen bytes of each line.
#[inline(always)]
fn turn_group(
    flip: &impl Fn(Square) -> Square,
    (lines, stride): (&[u8], usize),
    bytes: Range<usize>,
    out: &mut [u8],
) {
    let count = lines.len() / stride;
    let whole = if bytes.len() == WIDTH {
        count / WIDTH * WIDTH
    } else {
        0
    };
    for top in (0..whole).step_by(WIDTH) {
        let lines = &lines[top * stride + bytes.start..];
        square(flip, (lines, stride), (&mut out[top..], count));
    }
    for line in whole..count {
        let bytes = &lines[line * stride..][bytes.clone()];
        let column = out[line..].iter_mut().step_by(count);
        column.zip(bytes).for_each(|(out, byte)| *out = *byte);
    }
}

/// Sixteen bytes of sixteen lines.
#[inline(always)]
fn square(
    flip: &impl Fn(Square) -> Square,
    (lines, stride): (&[u8], usize),
    (out, count): (&mut [u8], usize),
) {
    let mut rows = [[0_u8; WIDTH]; WIDTH];
    for (row, line) in rows.iter_mut().zip(lines.chunks(stride)) {
        row.copy_from_slice(&line[..WIDTH]);
    }
    for (row, out) in flip(rows).iter().zip(out.chunks_mut(count)) {
        out[..WIDTH].copy_from_slice(row);
    }
}

/// Decodes one position of each byte.
///
/// # Panics
///
/// If there are fewer bytes than positions in `out`.
pub fn decode<T: Genotype>(bytes: &[u8], position: usize, table: &CodeTable<T>, out: &mut [T]) {
    let bytes = &bytes[..out.len()];
    let shift = 2 * u32::from(position.to_le_bytes()[0] & 3);
    let done = T::columns(bytes, shift, table, out);
    for (out, byte) in out.iter_mut().zip(bytes).skip(done) {
        *out = table[code(*byte, position)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_turned_whatever_the_number_of_lines() {
        let stride = 21;
        for count in [1, 15, 16, 17, 40] {
            let lines: Vec<u8> = (0..count * stride)
                .map(|i: usize| (i * 31).to_le_bytes()[0])
                .collect();
            for (first, width) in [(0, 16), (5, 16), (16, 5), (3, 1), (2, 17)] {
                let mut out = vec![0; width * count];
                transpose(&lines, stride, first, &mut out);
                for (at, byte) in out.iter().enumerate() {
                    assert_eq!(*byte, lines[at % count * stride + first + at / count]);
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_instructions_turn_a_square_as_the_loop_does() {
        let Some(simd) = seqloom_core::simd::avx2() else {
            return;
        };
        let byte = |at: usize| (at * 7919).to_le_bytes()[1];
        let square = std::array::from_fn(|row| std::array::from_fn(|at| byte(row * WIDTH + at)));
        let transposed = simd.vectorize(|| x86::flip(simd, square));
        assert_eq!(transposed, flip(square));
        assert_eq!(transposed[3][5], square[5][3]);
    }

    #[test]
    fn a_position_of_each_byte_has_its_codes_value() {
        let bytes: Vec<u8> = (0..=255).collect();
        for count in [0, 1, 31, 32, 33, 256] {
            for position in 0..8 {
                let mut small = vec![0_i8; count];
                decode(&bytes, position, &[0, 1, 2, 3], &mut small);
                let mut single = vec![0.0_f32; count];
                decode(&bytes, position, &[0.0, 1.0, 2.0, 3.0], &mut single);
                let mut double = vec![0.0_f64; count];
                decode(&bytes, position, &[0.0, 1.0, 2.0, 3.0], &mut double);
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
