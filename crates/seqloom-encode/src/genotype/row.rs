//! Decodes consecutive codes.

use super::{CodeTable, Genotype, value::code_in_byte};

/// Decodes consecutive codes until `out` is full.
///
/// # Panics
///
/// Panics if `codes` has fewer codes than `out` has elements.
pub fn decode_row<T: Genotype>(codes: &[u8], table: &CodeTable<T>, out: &mut [T]) {
    let codes = &codes[..out.len().div_ceil(4)];
    let done = T::decode_rows(codes, table, out);
    for (position, value) in out.iter_mut().enumerate().skip(done) {
        *value = table[code_in_byte(codes[position / 4], position)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_codes<T: Genotype + std::fmt::Debug + Default>(table: &CodeTable<T>) {
        let codes: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        for positions in (0..70).chain([1000, 2047, 2048]) {
            let mut out = vec![T::default(); positions];
            decode_row(&codes, table, &mut out);
            for (position, value) in out.iter().enumerate() {
                let expected = table[usize::from(codes[position / 4] >> (2 * (position % 4)) & 3)];
                assert_eq!(*value, expected, "position {position} of {positions}");
            }
        }
    }

    #[test]
    fn positions_decode_to_the_values_of_their_codes_for_all_lengths() {
        check_codes::<i8>(&[2, -127, 1, 0]);
        check_codes::<f32>(&[2.0, -9.0, 1.0, 0.0]);
        check_codes::<f64>(&[0.1, -9.5, 1.25, 7.0]);
    }

    #[test]
    fn a_missing_float_is_nan() {
        let mut out = [0.0_f32; 4];
        decode_row(&[0b11_10_01_00], &f32::code_table(true), &mut out);
        assert_eq!((out[0], out[2], out[3]), (2.0, 1.0, 0.0));
        assert!(out[1].is_nan());
    }

    #[test]
    fn either_allele_can_be_counted() {
        let mut out = [0_i8; 4];
        decode_row(&[0b11_10_01_00], &i8::code_table(false), &mut out);
        assert_eq!(out, [0, -127, 1, 2]);
    }
}
