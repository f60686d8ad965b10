//! Parsing of fields as numbers.

use std::num::IntErrorKind;

use seqloom_core::error::{Fault, FaultKind};

/// The parsed number, or the error in the field.
pub(super) type FieldResult<T> = Result<T, Fault>;

/// The number of characters of an invalid field that an error message shows.
const MAX_FIELD_CHARS: usize = 40;

/// Parses an integer; "7.0" is also accepted as an integer.
pub(super) fn parse_integer(name: &str, field: &[u8]) -> FieldResult<i32> {
    let text = str::from_utf8(field).unwrap_or_default();
    match text.parse::<i32>() {
        Ok(number) => Ok(number),
        Err(error) => match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
                Err(out_of_range_fault(name, field, "a 32-bit integer"))
            }
            _ => parse_integral_float(name, text),
        },
    }
}

fn parse_integral_float(name: &str, text: &str) -> FieldResult<i32> {
    let number = text.parse::<f64>().ok();
    let Some(number) = number.filter(|number| number.fract() == 0.0) else {
        return Err(invalid_number_fault(name, text.as_bytes(), "an integer"));
    };
    if !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number) {
        return Err(out_of_range_fault(
            name,
            text.as_bytes(),
            "a 32-bit integer",
        ));
    }
    #[expect(clippy::cast_possible_truncation, reason = "an integer in range")]
    Ok(number as i32)
}

/// Parses a 32-bit float by rounding a 64-bit float, as in NumPy.
pub(super) fn parse_float(name: &str, field: &[u8]) -> FieldResult<f32> {
    let text = str::from_utf8(field).unwrap_or_default();
    let number = text.parse::<f64>();
    let number = number.map_err(|_| invalid_number_fault(name, field, "a number"))?;
    #[expect(clippy::cast_possible_truncation, reason = "rounded on purpose")]
    let short = number as f32;
    if number.is_finite() && short.is_infinite() {
        return Err(out_of_range_fault(name, field, "a number of float32"));
    }
    Ok(short)
}

fn invalid_number_fault(name: &str, field: &[u8], expected: &str) -> Fault {
    let found = quote_field(field);
    Fault::of_file(format!("{name}: expected {expected}, found {found}"))
}

fn out_of_range_fault(name: &str, field: &[u8], expected: &str) -> Fault {
    Fault {
        kind: FaultKind::Range,
        ..invalid_number_fault(name, field, expected)
    }
}

fn quote_field(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    let head: String = text.chars().take(MAX_FIELD_CHARS).collect();
    let more = if head.len() < text.len() { "..." } else { "" };
    format!("{head:?}{more}")
}
