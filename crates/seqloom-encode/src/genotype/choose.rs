//! Some positions of lines, in any order, straight to numbers.
//!
//! First the byte of each position is moved to where the position is wanted, then its code is masked
//! out, many positions at once. Where a good part of a line is wanted, sixteen lines are transposed:
//! one load then moves a position of all sixteen, and the outcome is transposed back.

use super::square::{self, Square, WIDTH};
#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{CodeTable, Genotype, column};

/// So many positions are moved together: their bytes of sixteen lines stay in the first-level
/// cache.
const PIECE: usize = 512;

/// Transposed lines of more bytes would leave the second-level cache.
const LONGEST: usize = 1 << 14;

/// Lines are transposed where they have at most so many bytes for each position that is wanted.
const SPARSEST: usize = 5;

/// Fewer lines are not worth transposing.
const FEWEST: usize = 6;

/// The positions of a line that are wanted, in the order in which they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenPositions {
    /// The byte of each; a multiple of [`WIDTH`], filled up with 0.
    bytes: Vec<usize>,
    /// Its two bits in that byte.
    masks: Vec<u8>,
}

impl ChosenPositions {
    /// Those at some positions of a line.
    pub fn new(positions: &[usize]) -> Self {
        let mut bytes: Vec<usize> = positions.iter().map(|at| at / 4).collect();
        bytes.resize(positions.len().next_multiple_of(WIDTH), 0);
        let masks = positions.iter().map(|at| 3 << (2 * (at % 4))).collect();
        Self { bytes, masks }
    }

    /// Decodes these positions of lines, of which so many bytes count: of each into a row.
    /// `transposed` is memory that is used again.
    ///
    /// # Panics
    ///
    /// If a line is shorter than that, a position is behind its end, or a row has not a number
    /// for each position.
    pub fn decode<T: Genotype>(
        &self,
        lines: (&[&[u8]], usize),
        table: &CodeTable<T>,
        rows: &mut [&mut [T]],
        transposed: &mut Vec<[u8; WIDTH]>,
    ) {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = seqloom_core::simd::avx2() {
            let work = (rows, transposed);
            return simd.vectorize(
                #[inline(always)]
                || {
                    self.decode_by(
                        #[inline(always)]
                        |square| x86::flip(simd, square),
                        lines,
                        table,
                        work,
                    );
                },
            );
        }
        self.decode_by(square::flip, lines, table, (rows, transposed));
    }

    /// Decodes with a function that transposes a square.
    #[inline(always)]
    fn decode_by<T: Genotype>(
        &self,
        flip: impl Fn(Square) -> Square,
        (lines, width): (&[&[u8]], usize),
        table: &CodeTable<T>,
        (rows, transposed): (&mut [&mut [T]], &mut Vec<[u8; WIDTH]>),
    ) {
        let is_dense = width <= LONGEST.min(SPARSEST * self.masks.len());
        for (lines, rows) in lines.chunks(WIDTH).zip(rows.chunks_mut(WIDTH)) {
            if is_dense && lines.len() >= FEWEST {
                transpose(&flip, lines, width, transposed);
                self.together(&flip, transposed, table, rows);
            } else {
                let lines = lines.iter().zip(rows);
                lines.for_each(|(line, row)| self.alone(&line[..width], table, row));
            }
        }
    }

    /// Decodes the positions of one line.
    #[inline(always)]
    fn alone<T: Genotype>(&self, line: &[u8], table: &CodeTable<T>, row: &mut [T]) {
        let mut piece = [0; PIECE];
        let pieces = self.bytes.chunks(PIECE).zip(self.masks.chunks(PIECE));
        for ((bytes, masks), out) in pieces.zip(row.chunks_mut(PIECE)) {
            let found = piece.as_chunks_mut::<WIDTH>().0.iter_mut();
            for (found, bytes) in found.zip(bytes.as_chunks::<WIDTH>().0) {
                for (found, at) in found.iter_mut().zip(bytes) {
                    *found = line[*at];
                }
            }
            decode(&mut piece[..masks.len()], masks, table, out);
        }
    }

    /// Decodes the positions of at most sixteen lines, which are transposed.
    #[inline(always)]
    fn together<T: Genotype>(
        &self,
        flip: &impl Fn(Square) -> Square,
        transposed: &[[u8; WIDTH]],
        table: &CodeTable<T>,
        rows: &mut [&mut [T]],
    ) {
        let mut block = [[0; PIECE]; WIDTH];
        let pieces = self.bytes.chunks(PIECE).zip(self.masks.chunks(PIECE));
        for (number, (bytes, masks)) in pieces.enumerate() {
            for (group, bytes) in bytes.as_chunks::<WIDTH>().0.iter().enumerate() {
                let mut square = [[0; WIDTH]; WIDTH];
                for (row, at) in square.iter_mut().zip(bytes) {
                    *row = transposed[*at];
                }
                let square = flip(square);
                for (found, line) in block.iter_mut().zip(square) {
                    // As an array, because a slice is copied by a call of `memmove`.
                    found.as_chunks_mut::<WIDTH>().0[group] = line;
                }
            }
            for (found, row) in block.iter_mut().zip(&mut *rows) {
                let out = &mut row[number * PIECE..][..masks.len()];
                decode(&mut found[..masks.len()], masks, table, out);
            }
        }
    }
}

/// Transposes at most sixteen lines: byte `b` of line `l` comes to stand at `transposed[b][l]`.
#[inline(always)]
fn transpose(
    flip: &impl Fn(Square) -> Square,
    lines: &[&[u8]],
    width: usize,
    transposed: &mut Vec<[u8; WIDTH]>,
) {
    transposed.resize(width.next_multiple_of(WIDTH), [0; WIDTH]);
    for (number, out) in transposed.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
        let start = number * WIDTH;
        let mut square = [[0; WIDTH]; WIDTH];
        // Copies of WIDTH bytes have a loop of their own: with those of fewer bytes in it, each
        // would be a call of `memmove`.
        if start + WIDTH <= width {
            for (row, line) in square.iter_mut().zip(lines) {
                *row = line.as_chunks::<WIDTH>().0[number];
            }
        } else {
            for (row, line) in square.iter_mut().zip(lines) {
                row[..width - start].copy_from_slice(&line[start..width]);
            }
        }
        *out = flip(square);
    }
}

/// Decodes the code that a mask leaves of each byte.
#[inline(always)]
fn decode<T: Genotype>(bytes: &mut [u8], masks: &[u8], table: &CodeTable<T>, out: &mut [T]) {
    for (byte, mask) in bytes.iter_mut().zip(masks) {
        let code = *byte & mask;
        let code = (code | code >> 4) & 0x0f;
        *byte = (code | code >> 2) & 0x03;
    }
    column::decode(bytes, 0, table, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes positions of lines, and looks each of them up in a slow way.
    fn agrees(stride: usize, count: usize, positions: &[usize]) {
        let bytes = (0..count * stride).map(|i: usize| (i * i * 31 + i).to_le_bytes()[0]);
        let bytes: Vec<u8> = bytes.collect();
        let lines: Vec<&[u8]> = bytes.chunks(stride).collect();
        let mut out = vec![0_i8; count * positions.len()];
        let mut rows: Vec<&mut [i8]> = out.chunks_mut(positions.len()).collect();
        let (chosen, table) = (ChosenPositions::new(positions), [2, -127, 1, 0]);
        chosen.decode((&lines, stride), &table, &mut rows, &mut Vec::new());
        let pairs = lines
            .iter()
            .flat_map(|line| positions.iter().map(move |at| (line, at)));
        for (value, (line, at)) in out.iter().zip(pairs) {
            let code = line[at / 4] >> (2 * (at % 4)) & 3;
            assert_eq!(
                *value,
                table[usize::from(code)],
                "position {at} of {stride} bytes"
            );
        }
    }

    #[test]
    fn any_positions_of_any_number_of_lines_have_their_codes_values() {
        for stride in [1, 15, 16, 33, 300, LONGEST + 1] {
            for count in [1, FEWEST - 1, FEWEST, 16, 17, 40] {
                let positions = 4 * stride;
                agrees(stride, count, &[positions - 1]);
                agrees(stride, count, &[positions - 1, 0, 0]);
                let many: Vec<usize> = (0..1100).map(|i| i * 7919 % positions).collect();
                agrees(stride, count, &many);
            }
        }
    }

    #[test]
    fn floats_have_their_codes_values() {
        let (chosen, mut out) = (ChosenPositions::new(&[3, 0, 2, 1]), [0.0_f64; 4]);
        let lines: [&[u8]; 1] = [&[0b11_10_01_00]];
        let table = [0.5, 1.5, 2.5, 3.5];
        chosen.decode((&lines, 1), &table, &mut [&mut out], &mut Vec::new());
        assert_eq!(
            out.map(f64::to_bits),
            [3.5, 0.5, 2.5, 1.5].map(f64::to_bits)
        );
    }
}
