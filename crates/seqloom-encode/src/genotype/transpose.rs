//! A matrix of two-bit codes, transposed: its lines become its positions.
//!
//! It is transposed tile by tile: 256 lines of 256 positions come into the first-level cache, eight
//! times 32 of the lines are transposed in registers, and whole lines of the cache go out. Of 32
//! lines, each a 64-bit word of 32 codes, those that differ in one bit of their number
//! exchange halves, then quarters and so on down to single codes: after five such steps word
//! `p` holds position `p` of all 32 lines. The words of eight neighbouring columns go through
//! the steps side by side, as one vector.

use rayon::prelude::*;
use seqloom_core::simd::dispatch;
use seqloom_macros::vectorized;

/// Lines and positions of a tile.
const SIDE: usize = 256;

/// Positions that a thread transposes: enough of each line that it is worth the way to its memory.
const BAND: usize = 16 * SIDE;

/// Codes of a word, and lines that are transposed together.
const WORD: usize = 32;

/// Words of a tile's line: 64 bytes, a line of the cache.
const WORDS: usize = SIDE / WORD;

/// The codes of one line of a tile.
type TileLine = [u64; WORDS];

/// Transposes lines of `stride` bytes into lines of `width` bytes, one for each of the first
/// positions: as many as `to` has. What is left of a line after the last code is 0.
///
/// Inside a rayon pool the work is shared among its threads.
///
/// # Panics
///
/// If a line of `to` cannot hold a code of each line of `from`, or there are not so many
/// positions.
pub fn transpose(from: &[u8], stride: usize, to: &mut [u8], width: usize) {
    let (stride, width) = (stride.max(1), width.max(1));
    let lines = from.len() / stride;
    assert!(
        lines.div_ceil(4) <= width,
        "a line is too short for {lines} codes"
    );
    assert!(
        to.len() / width <= 4 * stride,
        "more lines than there are positions"
    );
    let band = |(number, band): (usize, &mut [u8])| {
        turn_band(TransposeBand {
            from,
            stride,
            first: number * BAND / 4,
            to: band,
            width,
        });
    };
    // Outside a pool rayon would build its global one.
    if rayon::current_thread_index().is_none() {
        to.chunks_mut(BAND * width).enumerate().for_each(band);
    } else {
        to.par_chunks_mut(BAND * width).enumerate().for_each(band);
    }
}

/// Some positions of all lines, which become whole lines.
struct TransposeBand<'a> {
    from: &'a [u8],
    stride: usize,
    /// The byte of each line where the positions begin.
    first: usize,
    to: &'a mut [u8],
    width: usize,
}

#[vectorized]
fn turn_band(band: TransposeBand<'_>) {
    let (mut tile, mut transposed) = ([TileLine::default(); SIDE], [TileLine::default(); SIDE]);
    for (number, lines) in band.from.chunks(SIDE * band.stride).enumerate() {
        let start = number * SIDE / 4;
        for (column, out) in band.to.chunks_mut(SIDE * band.width).enumerate() {
            let first = band.first + column * SIDE / 4;
            fetch(lines, band.stride, first, &mut tile);
            transpose_tile(&mut tile, &mut transposed);
            for (line, codes) in out.chunks_mut(band.width).zip(&transposed) {
                store(codes, &mut line[start..]);
            }
        }
    }
    let used = (band.from.len() / band.stride).div_ceil(SIDE) * SIDE / 4;
    for line in band.to.chunks_mut(band.width) {
        line.iter_mut().skip(used).for_each(|byte| *byte = 0);
    }
}

/// Transposes a tile, 32 lines at a time.
#[inline(always)]
fn transpose_tile(tile: &mut [TileLine; SIDE], transposed: &mut [TileLine; SIDE]) {
    for (group, lines) in tile.as_chunks_mut::<WORD>().0.iter_mut().enumerate() {
        transpose_word(lines);
        spread(lines, group, transposed);
    }
}

/// Copies a tile's part of each line; where there is none, codes are 0.
#[inline(always)]
fn fetch(lines: &[u8], stride: usize, first: usize, tile: &mut [TileLine; SIDE]) {
    let mut lines = lines.chunks_exact(stride);
    for words in tile {
        let bytes = lines.next().map_or(&[][..], |line| &line[first..]);
        let mut whole = [0; 8 * WORDS];
        match bytes.first_chunk() {
            Some(bytes) => whole = *bytes,
            None => whole[..bytes.len()].copy_from_slice(bytes),
        }
        for (word, bytes) in words.iter_mut().zip(whole.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
    }
}

/// Transposes 32 lines, eight squares of 32 codes side by side.
#[inline(always)]
fn transpose_word(lines: &mut [TileLine; WORD]) {
    exchange::<16>(lines, 0x0000_0000_ffff_ffff);
    exchange::<8>(lines, 0x0000_ffff_0000_ffff);
    exchange::<4>(lines, 0x00ff_00ff_00ff_00ff);
    exchange::<2>(lines, 0x0f0f_0f0f_0f0f_0f0f);
    exchange::<1>(lines, 0x3333_3333_3333_3333);
}

/// Lines whose numbers differ by `APART` exchange codes that stand so far apart.
#[inline(always)]
fn exchange<const APART: usize>(lines: &mut [TileLine; WORD], mask: u64) {
    for first in (0..WORD).filter(|number| number & APART == 0) {
        let (mut low, mut high) = (lines[first], lines[first + APART]);
        for (low, high) in low.iter_mut().zip(&mut high) {
            let differing = ((*low >> (2 * APART)) ^ *high) & mask;
            *high ^= differing;
            *low ^= differing << (2 * APART);
        }
        (lines[first], lines[first + APART]) = (low, high);
    }
}

/// Lays each word where its line of the transposed tile wants it.
#[inline(always)]
fn spread(lines: &[TileLine; WORD], group: usize, transposed: &mut [TileLine; SIDE]) {
    for (column, positions) in transposed.as_chunks_mut::<WORD>().0.iter_mut().enumerate() {
        for (line, position) in lines.iter().zip(positions) {
            position[group] = line[column];
        }
    }
}

/// Writes a line of a tile, as far as it fits.
#[inline(always)]
fn store(codes: &TileLine, out: &mut [u8]) {
    if let Some(whole) = out.first_chunk_mut::<{ 8 * WORDS }>() {
        for (bytes, word) in whole.as_chunks_mut().0.iter_mut().zip(codes) {
            *bytes = word.to_le_bytes();
        }
        return;
    }
    for (bytes, word) in out.chunks_mut(8).zip(codes) {
        bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code at a position of a line.
    fn code(codes: &[u8], stride: usize, line: usize, position: usize) -> u8 {
        codes[line * stride + position / 4] >> (2 * (position % 4)) & 3
    }

    /// The same, code by code.
    fn naive(from: &[u8], stride: usize, lines: usize, positions: usize, width: usize) -> Vec<u8> {
        let mut to = vec![0; positions * width];
        for position in 0..positions {
            for line in 0..lines {
                to[position * width + line / 4] |=
                    code(from, stride, line, position) << (2 * (line % 4));
            }
        }
        to
    }

    fn check(lines: usize, positions: usize, spare: usize) {
        let (stride, width) = (positions.div_ceil(4), lines.div_ceil(4) + spare);
        let from: Vec<u8> = (0..=250).cycle().take(lines * stride).collect();
        let mut to = vec![0xaa; positions * width];
        transpose(&from, stride, &mut to, width);
        let expected = naive(&from, stride, lines, positions, width);
        assert!(to == expected, "{lines} lines of {positions} positions");
    }

    #[test]
    fn every_code_changes_line_and_position() {
        for lines in [1, 2, 3, 4, 5, 31, 32, 33, 255, 256, 257, 514, 1023] {
            for positions in [1, 2, 3, 4, 6, 31, 64, 255, 256, 259, 513] {
                check(lines, positions, 0);
            }
        }
    }

    #[test]
    fn what_is_left_of_a_line_is_zero() {
        check(5, 7, 3);
        check(257, 9, 200);
    }

    #[test]
    fn nothing_is_nothing() {
        transpose(&[], 3, &mut [], 0);
    }
}
