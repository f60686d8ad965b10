//! Formats a float as the shortest text that reads back to the same float, as NumPy
//! does.

use std::io::Write;

/// Numbers below this limit and numbers of at least 1e16 are written in scientific
/// notation.
const MIN_DECIMAL: f32 = 1e-4;
const MAX_DECIMAL: f32 = 1e16;

/// Writes a number in the same form as `str(numpy.float32(number))` in Python.
///
/// ```
/// let mut text = Vec::new();
/// seqloom_run::write_number(1.0 / 3.0, &mut text);
/// assert_eq!(text, b"0.33333334");
/// ```
pub fn write_number(number: f32, text: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ = match number.abs() {
        size if size.is_nan() => write!(text, "nan"),
        size if size.is_infinite() || size == 0.0 || (MIN_DECIMAL..MAX_DECIMAL).contains(&size) => {
            write!(text, "{number:?}")
        }
        _ => write_scientific(number, text),
    };
}

/// Writes a number in scientific notation. The exponent has a sign and at least two
/// digits.
fn write_scientific(number: f32, text: &mut Vec<u8>) -> std::io::Result<()> {
    let found = format!("{number:e}");
    let (digits, exponent) = found.split_once('e').unwrap_or((&found, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(rest) => ('-', rest),
        None => ('+', exponent),
    };
    write!(text, "{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text_of(number: f32) -> String {
        let mut text = Vec::new();
        write_number(number, &mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn numbers_are_formatted_as_in_numpy() {
        for (number, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e-4, "0.0001"),
            (9.999e-5, "9.999e-05"),
            (1e-5, "1e-05"),
            (-1.5e-30, "-1.5e-30"),
            (123_456_789.0, "123456790.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (3.402_823_5e38, "3.4028235e+38"),
            (1e-45, "1e-45"),
            (f32::INFINITY, "inf"),
            (f32::NEG_INFINITY, "-inf"),
            (f32::NAN, "nan"),
        ] {
            assert_eq!(text_of(number), text);
        }
    }

    proptest! {
        #[test]
        fn every_number_is_read_back_unchanged(bits: u32) {
            let number = f32::from_bits(bits);
            let back: f32 = text_of(number).parse().unwrap();
            prop_assert!(back.to_bits() == bits || (number.is_nan() && back.is_nan()));
        }
    }
}
