//! A table: the id, then a column for each output.

use super::number::write_number;

/// Names the column of ids so that no output has the same name.
pub(super) fn id_column(columns: &[String]) -> String {
    let mut name = "id".to_owned();
    while columns.contains(&name) {
        name = format!("record_{name}");
    }
    name
}

pub(super) fn write_head(columns: &[String], text: &mut Vec<u8>) {
    text.extend_from_slice(id_column(columns).as_bytes());
    for column in columns {
        text.push(b'\t');
        text.extend_from_slice(column.as_bytes());
    }
    text.push(b'\n');
}

pub(super) fn write_row(name: &[u8], values: &[f32], text: &mut Vec<u8>) {
    text.extend_from_slice(name);
    for value in values {
        text.push(b'\t');
        write_number(*value, text);
    }
    text.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_output_has_the_name_of_the_ids() {
        let columns = ["id".to_owned(), "record_id".to_owned()];
        assert_eq!(id_column(&columns), "record_record_id");
        assert_eq!(id_column(&["EI".to_owned()]), "id");
    }
}
