//! Parsing of sizes in bytes with units, such as `4G`.

use seqloom_run::{Error, Result};

const BYTE_UNITS: [(&str, u64); 9] = [
    ("", 1),
    ("k", 1000),
    ("m", 1_000_000),
    ("g", 1_000_000_000),
    ("t", 1_000_000_000_000),
    ("ki", 1 << 10),
    ("mi", 1 << 20),
    ("gi", 1 << 30),
    ("ti", 1 << 40),
];

/// Parses a number of bytes, such as `512M` or `4 GB`.
pub(super) fn parse_byte_size(text: &str) -> Result<usize> {
    let lower = text.trim().to_ascii_lowercase();
    let number = lower.trim_end_matches(|it: char| it.is_ascii_alphabetic());
    let unit = lower.get(number.len()..).unwrap_or_default();
    let unit = unit.strip_suffix('b').unwrap_or(unit);
    let factor = BYTE_UNITS.iter().find(|(name, _)| *name == unit);
    let number: Option<u64> = number.trim().parse().ok();
    let bytes = number
        .zip(factor)
        .and_then(|(number, (_, factor))| number.checked_mul(*factor));
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| {
        Error::argument(format!(
            "--memory must be a number of bytes such as 512M or 4G, got {text:?}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_with_units_are_parsed() {
        for (text, bytes) in [
            ("7", 7),
            ("512M", 512_000_000),
            ("4 GiB", 1 << 32),
            ("1kb", 1000),
        ] {
            assert_eq!(parse_byte_size(text).unwrap(), bytes, "{text}");
        }
        for text in [
            "",
            "M",
            "-1",
            "0",
            "1.5G",
            "3 parsecs",
            "99999999999999999999T",
        ] {
            assert!(parse_byte_size(text).is_err(), "{text}");
        }
    }
}
