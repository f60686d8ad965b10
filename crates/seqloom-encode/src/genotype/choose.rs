//! Decodes selected columns of packed genotypes, in any order.
//!
//! First, the byte that contains each selected column is gathered, and then the codes
//! of many columns are extracted with masks. If many columns are selected, 16 rows are
//! transposed first, so that one load gathers a byte of all 16 rows. The decoded rows
//! are then transposed back.

use super::square::{self, SQUARE_SIDE, Square};
#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{CodeTable, Genotype, column};

/// The number of columns that are gathered together. The bytes of these columns in 16
/// rows fit in an L1 cache.
const BLOCK_POSITIONS: usize = 512;

/// The maximum size in bytes of transposed rows, which must fit in an L2 cache.
const MAX_TRANSPOSED_BYTES: usize = 1 << 14;

/// Rows are transposed only if they have at most this number of bytes per selected
/// column.
const MAX_BYTES_PER_POSITION: usize = 5;

/// The minimum number of rows for which transposing saves time.
const MIN_TRANSPOSED_LINES: usize = 6;

/// The selected columns of packed genotypes, in output order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedPositions {
    /// The byte offset of each column in a packed row, padded with zeros to a multiple
    /// of [`SQUARE_SIDE`].
    bytes: Vec<usize>,
    /// The mask of the two bits of each column in its byte.
    masks: Vec<u8>,
}

impl SelectedPositions {
    /// Creates the selection from the indices of the columns.
    pub fn new(positions: &[usize]) -> Self {
        let mut bytes: Vec<usize> = positions.iter().map(|at| at / 4).collect();
        bytes.resize(positions.len().next_multiple_of(SQUARE_SIDE), 0);
        let masks = positions.iter().map(|at| 3 << (2 * (at % 4))).collect();
        Self { bytes, masks }
    }

    /// Decodes the selected columns of each packed row into an output row. `lines`
    /// contains the packed rows and their length in bytes. `transposed` is a buffer
    /// that is reused between calls.
    ///
    /// # Panics
    ///
    /// Panics if a packed row is shorter than the given length or lacks a selected
    /// column, or if an output row is too short.
    pub fn decode<T: Genotype>(
        &self,
        lines: (&[&[u8]], usize),
        table: &CodeTable<T>,
        rows: &mut [&mut [T]],
        transposed: &mut Vec<[u8; SQUARE_SIDE]>,
    ) {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = seqloom_core::simd::avx2() {
            let work = (rows, transposed);
            return simd.vectorize(
                #[inline(always)]
                || {
                    self.decode_with_transpose(
                        #[inline(always)]
                        |square| x86::transpose_square(simd, square),
                        lines,
                        table,
                        work,
                    );
                },
            );
        }
        self.decode_with_transpose(square::transpose_square, lines, table, (rows, transposed));
    }

    /// Decodes the selected columns. `transpose_square` is a function that transposes
    /// 16 by 16 bytes.
    #[inline(always)]
    fn decode_with_transpose<T: Genotype>(
        &self,
        transpose_square: impl Fn(Square) -> Square,
        (lines, width): (&[&[u8]], usize),
        table: &CodeTable<T>,
        (rows, transposed): (&mut [&mut [T]], &mut Vec<[u8; SQUARE_SIDE]>),
    ) {
        let is_dense = width <= MAX_TRANSPOSED_BYTES.min(MAX_BYTES_PER_POSITION * self.masks.len());
        for (lines, rows) in lines.chunks(SQUARE_SIDE).zip(rows.chunks_mut(SQUARE_SIDE)) {
            if is_dense && lines.len() >= MIN_TRANSPOSED_LINES {
                transpose_lines(&transpose_square, lines, width, transposed);
                self.decode_transposed(&transpose_square, transposed, table, rows);
            } else {
                let lines = lines.iter().zip(rows);
                lines.for_each(|(line, row)| self.decode_line(&line[..width], table, row));
            }
        }
    }

    /// Decodes the selected columns of one packed row.
    #[inline(always)]
    fn decode_line<T: Genotype>(&self, line: &[u8], table: &CodeTable<T>, row: &mut [T]) {
        let mut block_bytes = [0; BLOCK_POSITIONS];
        let masks = self.masks.chunks(BLOCK_POSITIONS);
        let blocks = self.bytes.chunks(BLOCK_POSITIONS).zip(masks);
        for ((bytes, masks), out) in blocks.zip(row.chunks_mut(BLOCK_POSITIONS)) {
            let gathered = block_bytes.as_chunks_mut::<SQUARE_SIDE>().0.iter_mut();
            for (gathered, bytes) in gathered.zip(bytes.as_chunks::<SQUARE_SIDE>().0) {
                for (gathered, at) in gathered.iter_mut().zip(bytes) {
                    *gathered = line[*at];
                }
            }
            decode_masked(&mut block_bytes[..masks.len()], masks, table, out);
        }
    }

    /// Decodes the selected columns of at most 16 transposed rows.
    #[inline(always)]
    fn decode_transposed<T: Genotype>(
        &self,
        transpose_square: &impl Fn(Square) -> Square,
        transposed: &[[u8; SQUARE_SIDE]],
        table: &CodeTable<T>,
        rows: &mut [&mut [T]],
    ) {
        let mut block = [[0; BLOCK_POSITIONS]; SQUARE_SIDE];
        let masks = self.masks.chunks(BLOCK_POSITIONS);
        let blocks = self.bytes.chunks(BLOCK_POSITIONS).zip(masks);
        for (number, (bytes, masks)) in blocks.enumerate() {
            for (group, bytes) in bytes.as_chunks::<SQUARE_SIDE>().0.iter().enumerate() {
                let mut square = [[0; SQUARE_SIDE]; SQUARE_SIDE];
                for (row, at) in square.iter_mut().zip(bytes) {
                    *row = transposed[*at];
                }
                let square = transpose_square(square);
                for (gathered, line) in block.iter_mut().zip(square) {
                    // The bytes are copied as an array, because the compiler would call
                    // `memmove` for a slice.
                    gathered.as_chunks_mut::<SQUARE_SIDE>().0[group] = line;
                }
            }
            for (gathered, row) in block.iter_mut().zip(&mut *rows) {
                let out = &mut row[number * BLOCK_POSITIONS..][..masks.len()];
                decode_masked(&mut gathered[..masks.len()], masks, table, out);
            }
        }
    }
}

/// Transposes at most 16 rows of bytes: afterwards, `transposed[b][l]` contains byte
/// `b` of row `l`.
#[inline(always)]
fn transpose_lines(
    transpose_square: &impl Fn(Square) -> Square,
    lines: &[&[u8]],
    width: usize,
    transposed: &mut Vec<[u8; SQUARE_SIDE]>,
) {
    transposed.resize(width.next_multiple_of(SQUARE_SIDE), [0; SQUARE_SIDE]);
    let squares = transposed.as_chunks_mut::<SQUARE_SIDE>().0;
    for (number, out) in squares.iter_mut().enumerate() {
        let start = number * SQUARE_SIDE;
        let mut square = [[0; SQUARE_SIDE]; SQUARE_SIDE];
        // Whole squares are copied in a separate loop. In a single loop, the compiler
        // would call `memmove` for each copy.
        if start + SQUARE_SIDE <= width {
            for (row, line) in square.iter_mut().zip(lines) {
                *row = line.as_chunks::<SQUARE_SIDE>().0[number];
            }
        } else {
            for (row, line) in square.iter_mut().zip(lines) {
                row[..width - start].copy_from_slice(&line[start..width]);
            }
        }
        *out = transpose_square(square);
    }
}

/// Extracts the code of each byte with its mask, and converts the code to a number.
#[inline(always)]
fn decode_masked<T: Genotype>(bytes: &mut [u8], masks: &[u8], table: &CodeTable<T>, out: &mut [T]) {
    for (byte, mask) in bytes.iter_mut().zip(masks) {
        let code = *byte & mask;
        let code = (code | code >> 4) & 0x0f;
        *byte = (code | code >> 2) & 0x03;
    }
    column::decode_column(bytes, 0, table, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the decoded columns with a separate lookup of each column.
    fn check_codes(stride: usize, count: usize, positions: &[usize]) {
        let bytes = (0..count * stride).map(|i: usize| (i * i * 31 + i).to_le_bytes()[0]);
        let bytes: Vec<u8> = bytes.collect();
        let lines: Vec<&[u8]> = bytes.chunks(stride).collect();
        let mut out = vec![0_i8; count * positions.len()];
        let mut rows: Vec<&mut [i8]> = out.chunks_mut(positions.len()).collect();
        let (chosen, table) = (SelectedPositions::new(positions), [2, -127, 1, 0]);
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
    fn selected_positions_of_lines_decode_to_the_values_of_their_codes() {
        for stride in [1, 15, 16, 33, 300, MAX_TRANSPOSED_BYTES + 1] {
            let minimum = MIN_TRANSPOSED_LINES;
            for count in [1, minimum - 1, minimum, 16, 17, 40] {
                let positions = 4 * stride;
                check_codes(stride, count, &[positions - 1]);
                check_codes(stride, count, &[positions - 1, 0, 0]);
                let many: Vec<usize> = (0..1100).map(|i| i * 7919 % positions).collect();
                check_codes(stride, count, &many);
            }
        }
    }

    #[test]
    fn floats_decode_to_the_values_of_their_codes() {
        let (chosen, mut out) = (SelectedPositions::new(&[3, 0, 2, 1]), [0.0_f64; 4]);
        let lines: [&[u8]; 1] = [&[0b11_10_01_00]];
        let table = [0.5, 1.5, 2.5, 3.5];
        chosen.decode((&lines, 1), &table, &mut [&mut out], &mut Vec::new());
        assert_eq!(
            out.map(f64::to_bits),
            [3.5, 0.5, 2.5, 1.5].map(f64::to_bits)
        );
    }
}
