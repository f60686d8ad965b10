//! Transposes a matrix of two-bit codes.
//!
//! A tile of 256 rows and 256 columns fits in an L1 cache and is written as whole cache
//! lines. Inside a tile, squares of 32 rows and 32 columns are transposed in registers.
//! A row of a square is a 64-bit word. In five steps, pairs of rows exchange halves,
//! quarters, and so on down to single codes. After the five steps, word `p` contains
//! column `p` of all 32 rows. Eight squares are transposed together, as vectors.

use rayon::prelude::*;
use seqloom_core::simd::dispatch;
use seqloom_macros::vectorized;

/// The number of rows and columns of a tile.
const TILE_SIDE: usize = 256;

/// The number of columns that a thread transposes, large enough for reading the rows
/// efficiently.
const BAND_POSITIONS: usize = 16 * TILE_SIDE;

/// The number of codes in a word, and of rows in a square.
const WORD_CODES: usize = 32;

/// The number of words in a row of a tile. One row of a tile fills a cache line of 64
/// bytes.
const TILE_WORDS: usize = TILE_SIDE / WORD_CODES;

/// The codes of one row of a tile.
type TileLine = [u64; TILE_WORDS];

/// The rows of a tile.
type Tile = [TileLine; TILE_SIDE];

/// Transposes packed rows of `stride` bytes into packed rows of `width` bytes, one for
/// each column, until `to` is full. The padding after the last code of a row is 0.
///
/// Inside a rayon pool, the threads of the pool share the work.
///
/// # Panics
///
/// Panics if a row of `to` is too short for one code of each row of `from`, or if `to`
/// has too many rows.
pub fn transpose_codes(from: &[u8], stride: usize, to: &mut [u8], width: usize) {
    let (stride, width) = (stride.max(1), width.max(1));
    let lines = from.len() / stride;
    assert!(
        lines.div_ceil(4) <= width,
        "a row is too short for {lines} codes"
    );
    assert!(
        to.len() / width <= 4 * stride,
        "more rows than the input has columns"
    );
    let band = |(number, band): (usize, &mut [u8])| {
        transpose_band(TransposeBand {
            from,
            stride,
            first: number * BAND_POSITIONS / 4,
            to: band,
            width,
        });
    };
    let band_bytes = BAND_POSITIONS * width;
    // Outside a pool, this thread does all work, because a parallel iterator would
    // create rayon's global pool.
    if rayon::current_thread_index().is_none() {
        to.chunks_mut(band_bytes).enumerate().for_each(band);
    } else {
        to.par_chunks_mut(band_bytes).enumerate().for_each(band);
    }
}

/// A range of columns, which become whole rows of the output.
struct TransposeBand<'a> {
    from: &'a [u8],
    stride: usize,
    /// The offset in bytes of the first column in each packed row.
    first: usize,
    to: &'a mut [u8],
    width: usize,
}

#[vectorized]
fn transpose_band(band: TransposeBand<'_>) {
    let mut tile = [TileLine::default(); TILE_SIDE];
    let mut transposed = tile;
    for (number, lines) in band.from.chunks(TILE_SIDE * band.stride).enumerate() {
        let start = number * TILE_SIDE / 4;
        for (column, out) in band.to.chunks_mut(TILE_SIDE * band.width).enumerate() {
            let first = band.first + column * TILE_SIDE / 4;
            load_tile(lines, band.stride, first, &mut tile);
            transpose_tile(&mut tile, &mut transposed);
            for (line, codes) in out.chunks_mut(band.width).zip(&transposed) {
                store_line(codes, &mut line[start..]);
            }
        }
    }
    let used = (band.from.len() / band.stride).div_ceil(TILE_SIDE) * TILE_SIDE / 4;
    for line in band.to.chunks_mut(band.width) {
        line.iter_mut().skip(used).for_each(|byte| *byte = 0);
    }
}

/// Transposes a tile, 32 rows at a time.
#[inline(always)]
fn transpose_tile(tile: &mut Tile, transposed: &mut Tile) {
    for (group, lines) in tile.as_chunks_mut::<WORD_CODES>().0.iter_mut().enumerate() {
        transpose_squares(lines);
        copy_words(lines, group, transposed);
    }
}

/// Loads the codes of a tile. Codes outside the matrix are 0.
#[inline(always)]
fn load_tile(lines: &[u8], stride: usize, first: usize, tile: &mut Tile) {
    let mut lines = lines.chunks_exact(stride);
    for words in tile {
        let bytes = lines.next().map_or(&[][..], |line| &line[first..]);
        let mut whole = [0; 8 * TILE_WORDS];
        match bytes.first_chunk() {
            Some(bytes) => whole = *bytes,
            None => whole[..bytes.len()].copy_from_slice(bytes),
        }
        for (word, bytes) in words.iter_mut().zip(whole.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
    }
}

/// Transposes 32 rows, as eight adjacent squares.
#[inline(always)]
fn transpose_squares(lines: &mut [TileLine; WORD_CODES]) {
    exchange_codes::<16>(lines, 0x0000_0000_ffff_ffff);
    exchange_codes::<8>(lines, 0x0000_ffff_0000_ffff);
    exchange_codes::<4>(lines, 0x00ff_00ff_00ff_00ff);
    exchange_codes::<2>(lines, 0x0f0f_0f0f_0f0f_0f0f);
    exchange_codes::<1>(lines, 0x3333_3333_3333_3333);
}

/// Exchanges codes between rows whose indices differ by `APART`. `mask` selects the
/// codes.
#[inline(always)]
fn exchange_codes<const APART: usize>(lines: &mut [TileLine; WORD_CODES], mask: u64) {
    for first in (0..WORD_CODES).filter(|number| number & APART == 0) {
        let (mut low, mut high) = (lines[first], lines[first + APART]);
        for (low, high) in low.iter_mut().zip(&mut high) {
            let differing = ((*low >> (2 * APART)) ^ *high) & mask;
            *high ^= differing;
            *low ^= differing << (2 * APART);
        }
        (lines[first], lines[first + APART]) = (low, high);
    }
}

/// Copies each word to its row of the transposed tile.
#[inline(always)]
fn copy_words(lines: &[TileLine; WORD_CODES], group: usize, transposed: &mut Tile) {
    let columns = transposed.as_chunks_mut::<WORD_CODES>().0;
    for (column, positions) in columns.iter_mut().enumerate() {
        for (line, position) in lines.iter().zip(positions) {
            position[group] = line[column];
        }
    }
}

/// Writes a row of a tile, truncated to the length of `out`.
#[inline(always)]
fn store_line(codes: &TileLine, out: &mut [u8]) {
    if let Some(whole) = out.first_chunk_mut::<{ 8 * TILE_WORDS }>() {
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

    /// Returns the code at a column of a packed row.
    fn code_at(codes: &[u8], stride: usize, line: usize, position: usize) -> u8 {
        codes[line * stride + position / 4] >> (2 * (position % 4)) & 3
    }

    /// Transposes a matrix code by code, as the reference for tests.
    fn transpose_naively(
        from: &[u8],
        stride: usize,
        lines: usize,
        positions: usize,
        width: usize,
    ) -> Vec<u8> {
        let mut to = vec![0; positions * width];
        for position in 0..positions {
            for line in 0..lines {
                to[position * width + line / 4] |=
                    code_at(from, stride, line, position) << (2 * (line % 4));
            }
        }
        to
    }

    fn check_codes(lines: usize, positions: usize, spare: usize) {
        let (stride, width) = (positions.div_ceil(4), lines.div_ceil(4) + spare);
        let from: Vec<u8> = (0..=250).cycle().take(lines * stride).collect();
        let mut to = vec![0xaa; positions * width];
        transpose_codes(&from, stride, &mut to, width);
        let expected = transpose_naively(&from, stride, lines, positions, width);
        assert!(to == expected, "{lines} lines of {positions} positions");
    }

    #[test]
    fn rows_and_columns_are_exchanged() {
        for lines in [1, 2, 3, 4, 5, 31, 32, 33, 255, 256, 257, 514, 1023] {
            for positions in [1, 2, 3, 4, 6, 31, 64, 255, 256, 259, 513] {
                check_codes(lines, positions, 0);
            }
        }
    }

    #[test]
    fn the_padding_of_a_line_is_zero() {
        check_codes(5, 7, 3);
        check_codes(257, 9, 200);
    }

    #[test]
    fn an_empty_matrix_is_transposed_to_an_empty_matrix() {
        transpose_codes(&[], 3, &mut [], 0);
    }
}
