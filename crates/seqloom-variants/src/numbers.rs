//! Numbers in the text of a VCF file.

/// Powers of ten that are exact in 32-bit floating point.
const POWERS: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];
/// The largest integer below which every integer is exact in 32-bit floating point.
const MAX_EXACT: u32 = 1 << 24;

/// Parses a position: digits only.
#[inline]
pub(crate) fn parse_position(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0_i64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| value * 10 + i64::from(digit))
    })
}

/// Parses an integer of 32 bits.
#[inline]
pub(crate) fn parse_integer(text: &[u8]) -> Option<i32> {
    let (is_negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let value = parse_position(digits)?;
    i32::try_from(if is_negative { -value } else { value }).ok()
}

/// Parses a number of 32 bits: the nearest one, as `str::parse` does.
#[inline]
pub(crate) fn parse_float(text: &[u8]) -> Option<f32> {
    parse_short_decimal(text).or_else(|| std::str::from_utf8(text).ok()?.parse().ok())
}

/// Parses a decimal number whose digits and power of ten are exact; then the quotient is
/// the nearest number. Returns `None` for other numbers.
#[inline]
fn parse_short_decimal(text: &[u8]) -> Option<f32> {
    let (sign, digits) = match text {
        [b'-', rest @ ..] => (-1.0_f32, rest),
        _ => (1.0, text),
    };
    let (mut value, mut decimals, mut is_fraction, mut count) = (0_u32, 0_usize, false, 0);
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        match byte {
            b'.' if !is_fraction => is_fraction = true,
            _ if digit < 10 && value < MAX_EXACT / 16 => {
                value = value * 10 + u32::from(digit);
                decimals += usize::from(is_fraction);
                count += 1;
            }
            _ => return None,
        }
    }
    let power = POWERS.get(decimals).filter(|_| count > 0)?;
    #[expect(clippy::cast_precision_loss, reason = "the integer is below 2^24")]
    Some(sign * (value as f32 / power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_is_the_nearest_number() {
        for text in [
            "0",
            "-0.1",
            "99",
            "1e-3",
            "0.000199681",
            "30.5",
            "16777217",
            "3.4028236e38",
            "0.0000000001",
            "1.",
            ".5",
            "inf",
            "-inf",
            "1048575.9",
            "1048576.7",
        ] {
            let expected: f32 = text.parse().unwrap();
            let found = parse_float(text.as_bytes()).unwrap();
            assert_eq!(found.to_bits(), expected.to_bits(), "{text}");
        }
    }

    #[test]
    fn text_that_is_not_a_number_is_refused() {
        for text in ["", ".", "-", "1x", "1,2", "--1"] {
            assert!(parse_float(text.as_bytes()).is_none(), "{text}");
            assert!(parse_integer(text.as_bytes()).is_none(), "{text}");
        }
        assert!(parse_integer(b"2147483648").is_none());
        assert!(parse_position(b"-1").is_none());
    }
}
