//! Writes a table separated by tabs or commas: the id, then a column for each output.

use super::number::write_number;

/// Returns a name for the id column that differs from the names of all outputs.
pub(super) fn id_column(columns: &[String]) -> String {
    let mut name = "id".to_owned();
    while columns.contains(&name) {
        name = format!("record_{name}");
    }
    name
}

pub(super) fn write_head(columns: &[String], separator: u8, text: &mut Vec<u8>) {
    write_text(id_column(columns).as_bytes(), separator, text);
    for column in columns {
        text.push(separator);
        write_text(column.as_bytes(), separator, text);
    }
    text.push(b'\n');
}

pub(super) fn write_row((name, values): (&[u8], &[f32]), separator: u8, text: &mut Vec<u8>) {
    write_text(name, separator, text);
    for value in values {
        text.push(separator);
        write_number(*value, text);
    }
    text.push(b'\n');
}

/// Writes the value of a cell. In a comma-separated table, the value is quoted if it
/// contains a comma, a quote or a line end.
fn write_text(cell: &[u8], separator: u8, text: &mut Vec<u8>) {
    let is_special = |byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    if separator != COMMA || !cell.iter().any(is_special) {
        text.extend_from_slice(cell);
        return;
    }
    text.push(b'"');
    for byte in cell {
        text.push(*byte);
        if *byte == b'"' {
            text.push(b'"');
        }
    }
    text.push(b'"');
}

/// The cell separators of the two table formats.
pub(super) const TAB: u8 = b'\t';
pub(super) const COMMA: u8 = b',';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_column_has_a_unique_name() {
        let columns = ["id".to_owned(), "record_id".to_owned()];
        assert_eq!(id_column(&columns), "record_record_id");
        assert_eq!(id_column(&["EI".to_owned()]), "id");
    }

    #[test]
    fn cells_are_quoted_in_comma_separated_tables_only() {
        for (separator, expected) in [(COMMA, "\"a,\"\"b\",1.0\n"), (TAB, "a,\"b\t1.0\n")] {
            let mut text = Vec::new();
            write_row((b"a,\"b", &[1.0]), separator, &mut text);
            assert_eq!(String::from_utf8(text).unwrap(), expected);
        }
    }
}
