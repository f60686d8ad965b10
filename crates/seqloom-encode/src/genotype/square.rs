//! Transposes squares of 16 by 16 bytes.

/// The number of rows of a square, and of bytes in each row.
pub const SQUARE_SIDE: usize = 16;

/// The bytes of a square, row by row.
pub(super) type Square = [[u8; SQUARE_SIDE]; SQUARE_SIDE];

/// Transposes a square with four perfect shuffles.
pub(super) fn transpose_square(mut square: Square) -> Square {
    for _ in 0..SQUARE_SIDE.ilog2() {
        square = perfect_shuffle(&square);
    }
    square
}

/// Returns a perfect shuffle of all 256 bytes, in which the bytes of the two halves
/// alternate.
#[inline(always)]
fn perfect_shuffle(rows: &Square) -> Square {
    let mut out = [[0; SQUARE_SIDE]; SQUARE_SIDE];
    let (upper, lower) = rows.split_at(SQUARE_SIDE / 2);
    for (pair, (upper, lower)) in out.chunks_exact_mut(2).zip(upper.iter().zip(lower)) {
        for (position, (&a, &b)) in upper.iter().zip(lower).enumerate() {
            pair[position / 8][position % 8 * 2] = a;
            pair[position / 8][position % 8 * 2 + 1] = b;
        }
    }
    out
}
