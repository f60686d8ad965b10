//! Sixteen bytes of sixteen lines, transposed.

/// So many bytes of a line are transposed together.
pub const WIDTH: usize = 16;

/// Some bytes of some lines.
pub(super) type Square = [[u8; WIDTH]; WIDTH];

/// Transposes a square by halves, quarters, eighths and sixteenths.
pub(super) fn flip(mut square: Square) -> Square {
    for _ in 0..WIDTH.ilog2() {
        square = shuffled(&square);
    }
    square
}

/// A perfect shuffle of all 256 bytes: four of them transpose the square.
#[inline(always)]
fn shuffled(rows: &Square) -> Square {
    let mut out = [[0; WIDTH]; WIDTH];
    let (upper, lower) = rows.split_at(WIDTH / 2);
    for (pair, (upper, lower)) in out.chunks_exact_mut(2).zip(upper.iter().zip(lower)) {
        for (position, (&a, &b)) in upper.iter().zip(lower).enumerate() {
            pair[position / 8][position % 8 * 2] = a;
            pair[position / 8][position % 8 * 2 + 1] = b;
        }
    }
    out
}
