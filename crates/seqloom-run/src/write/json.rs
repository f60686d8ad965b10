//! Writes scores as JSON lines: one object per record, with the id and a number for
//! each output.

use super::number::write_number;

/// Writes the JSON line of a record. NaN is written as null, because JSON has no NaN.
pub(super) fn write_row(
    (id, name): (&str, &[u8]),
    (columns, values): (&[String], &[f32]),
    text: &mut Vec<u8>,
) {
    text.push(b'{');
    write_text(id.as_bytes(), text);
    text.push(b':');
    write_text(name, text);
    for (column, value) in columns.iter().zip(values) {
        text.push(b',');
        write_text(column.as_bytes(), text);
        text.push(b':');
        if value.is_finite() {
            write_number(*value, text);
        } else {
            text.extend_from_slice(b"null");
        }
    }
    text.extend_from_slice(b"}\n");
}

/// Writes a string in quotes. Bytes that are not UTF-8 are written as the replacement
/// character.
fn write_text(bytes: &[u8], text: &mut Vec<u8>) {
    let found = String::from_utf8_lossy(bytes);
    // A string can always be represented as JSON, and writing to memory cannot fail.
    let _ = serde_json::to_writer(text, &found);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_json_line_is_an_object() {
        let columns = ["a \"b\"".to_owned(), "c".to_owned()];
        let mut text = Vec::new();
        write_row(("id", b"x\xff"), (&columns, &[1e-9, f32::NAN]), &mut text);
        let expected = "{\"id\":\"x\u{fffd}\",\"a \\\"b\\\"\":1e-09,\"c\":null}\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
