//! Copies the codes of selected columns.

/// Copies the codes of the given columns from one packed row to another. The columns
/// may have any order.
///
/// # Panics
///
/// Panics if a column is after the end of the packed row.
pub fn repack_columns(codes: &[u8], positions: &[usize], out: &mut [u8]) {
    out.fill(0);
    for (four, byte) in positions.chunks(4).zip(out) {
        for (at, &position) in four.iter().enumerate() {
            *byte |= (codes[position / 4] >> (2 * (position % 4)) & 3) << (2 * at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repacked_codes_follow_the_order_of_the_positions() {
        let mut out = [0xff; 3];
        repack_columns(
            &[0b11_10_01_00, 0b00_01_10_11],
            &[3, 0, 1, 1, 4, 7],
            &mut out,
        );
        assert_eq!(out, [0b01_01_00_11, 0b00_00_00_11, 0]);
    }
}
