use proptest::prelude::*;

use super::render::{ColumnValues, render_rows};
use super::*;

const FAM_TEXT: &[u8] = b"f a 0 0 1 x\ng bb m n 2 \xC3\xA4y";
const FAM_COLUMNS: [&str; COLUMN_COUNT] = TableKind::Fam.names();

fn parse_table(sheet: TableKind, text: &[u8]) -> Result<TextTable<&[u8]>> {
    TextTable::parse(
        Path::new("t"),
        sheet,
        &sheet.names().map(String::from),
        text,
    )
}

fn error_message(sheet: TableKind, text: &[u8]) -> String {
    parse_table(sheet, text).unwrap_err().to_string()
}

fn column_fields(table: &TextTable<&[u8]>, name: &str) -> Vec<String> {
    let fields = table.fields(name, 0..table.row_count()).unwrap();
    fields.map(String::from).collect()
}

#[test]
fn columns_are_the_fields_of_every_line() {
    let table = parse_table(TableKind::Fam, FAM_TEXT).unwrap();
    assert_eq!(column_fields(&table, "iid"), ["a", "bb"]);
    assert_eq!(column_fields(&table, "pheno"), ["x", "äy"]);
    assert_eq!(
        table.column_size("pheno").unwrap(),
        ColumnSize {
            longest: 2,
            bytes: 4
        }
    );
    assert_eq!(table.max_field_chars("iid", 0..1).unwrap(), 1);
}

#[test]
fn code_points_are_in_rows_of_equal_width() {
    let table = parse_table(TableKind::Fam, FAM_TEXT).unwrap();
    let mut out = [9; 6];
    table.write_code_points("pheno", 0, 3, &mut out).unwrap();
    assert_eq!(
        out,
        [u32::from('x'), 0, 0, u32::from('ä'), u32::from('y'), 0]
    );
    table
        .write_code_points("pheno", 1, 2, &mut out[..2])
        .unwrap();
    assert_eq!(out[..2], [u32::from('ä'), u32::from('y')]);
    assert!(
        table
            .write_code_points("pheno", 0, 1, &mut out[..2])
            .is_err()
    );
}

#[test]
fn a_bim_without_centimorgans_has_zeros() {
    let table = parse_table(TableKind::Bim, b"1 s 7 A G\n2 t 8.0 C T\n").unwrap();
    let (mut floats, mut integers) = ([1.0; 2], [0; 2]);
    table.write_floats("cm_position", &mut floats).unwrap();
    table.write_integers("bp_position", &mut integers).unwrap();
    assert_eq!((floats, integers), ([0.0; 2], [7, 8]));
    assert_eq!(column_fields(&table, "allele_1"), ["A", "C"]);
}

#[test]
fn a_fault_names_line_and_byte() {
    let cases: [(&[u8], &str); 5] = [
        (
            b"a b 0 0 1 2\na b 0 0 1\n",
            "line 2, byte 12 of the text: expected 6 columns",
        ),
        (
            b"a b 0 0 1 2\n \na b 0 0 1 2",
            "line 2, byte 12 of the text: expected a line of the table",
        ),
        (
            b"a b 0 0 1 2\na \xFF 0 0 1 2",
            "line 2, byte 14 of the text: expected text in UTF-8",
        ),
        (
            b"a b 0 0 1\r2\n",
            "line 1, byte 9 of the text: expected lines that end in",
        ),
        (
            b"a \x07 0 0 1 2\n",
            "line 1, byte 2 of the text: expected text, found the control byte 0x07",
        ),
    ];
    for (text, expected) in cases {
        let found = error_message(TableKind::Fam, text);
        assert!(found.starts_with(&format!("t: {expected}")), "{found}");
    }
}

#[test]
fn a_number_that_does_not_fit_is_out_of_range() {
    let table = parse_table(TableKind::Bim, b"1 s 1e39 2147483648 A G\n").unwrap();
    let found = table.write_integers("bp_position", &mut [0]).unwrap_err();
    assert!(matches!(found, Error::Range { .. }), "{found}");
    let found = table.write_floats("cm_position", &mut [0.0]).unwrap_err();
    assert!(matches!(found, Error::Range { .. }), "{found}");
}

#[test]
fn an_unknown_or_unparsed_column_is_an_error() {
    let wanted = ["iid".to_owned()];
    let table = TextTable::parse(Path::new("t"), TableKind::Fam, &wanted, FAM_TEXT).unwrap();
    assert!(table.column_size("fid").is_err());
    assert!(table.column_size("sid").is_err());
}

#[test]
fn floats_are_written_in_the_fewest_digits_that_parse_to_them() {
    let numbers = [0.0, -1.5, 1e-7, 0.1, 1e16, 123_456.78, f32::NAN];
    let words = vec!["w"; numbers.len()];
    let texts = || ColumnValues::Texts(words.clone());
    let zeros = vec![0; numbers.len()];
    let columns = [
        texts(),
        texts(),
        ColumnValues::Floats(&numbers),
        ColumnValues::Integers(&zeros),
        texts(),
        texts(),
    ];
    let mut text = Vec::new();
    render_rows(TableKind::Bim, &columns, 0, &mut text).unwrap();
    let table = parse_table(TableKind::Bim, &text).unwrap();
    let shown = ["0.0", "-1.5", "1e-7", "0.1", "1e16", "123456.78", "NaN"];
    assert_eq!(column_fields(&table, "cm_position"), shown);
}

proptest! {
    #[test]
    fn any_bytes_parse_to_the_counted_number_of_lines_or_are_an_error(
        text in "[ab\\x{FEFF}ä \t\r\n]{0,60}",
    ) {
        if let Ok(table) = parse_table(TableKind::Fam, text.as_bytes()) {
            let expected = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
            let lines = expected.trim_end().lines().count();
            prop_assert_eq!(table.row_count(), lines);
            prop_assert_eq!(lines::count_lines(text.as_bytes()), lines);
        }
    }

    #[test]
    fn written_columns_parse_to_the_same_columns(rows in prop::collection::vec("[!-~ä中]{1,5}", 0..5)) {
        let words: Vec<&str> = rows.iter().map(String::as_str).collect();
        let points: Vec<u32> = rows
            .iter()
            .flat_map(|row| row.chars().map(u32::from).chain([0; 5]).take(5).collect::<Vec<_>>())
            .collect();
        let columns = FAM_COLUMNS.map(|name| match name {
            "iid" => ColumnValues::Points(&points, 5),
            "sex" => ColumnValues::Texts(vec!["0"; words.len()]),
            _ => ColumnValues::Texts(words.clone()),
        });
        let mut text = Vec::new();
        render_rows(TableKind::Fam, &columns, 0, &mut text).unwrap();
        let table = parse_table(TableKind::Fam, &text).unwrap();
        for name in ["iid", "pheno"] {
            prop_assert_eq!(column_fields(&table, name), rows.clone());
        }
    }
}
