//! Writes columns as the lines of a table; parsing the lines returns the same columns.

use std::fmt::Display;
use std::io::Write;

use seqloom_core::{Error, Result};

use super::lines;
use super::table_kind::{COLUMN_COUNT, TableKind};

/// The values of a range of rows of a column.
#[derive(Clone, Debug)]
pub enum ColumnValues<'a> {
    /// Strings as code points, with the same number of code points for each string,
    /// padded with zeros.
    Points(&'a [u32], usize),
    /// Strings.
    Texts(Vec<&'a str>),
    /// Integers.
    Integers(&'a [i32]),
    /// Floats.
    Floats(&'a [f32]),
}

/// Appends rows to `text`, from row `first` of the table. Spaces separate the fields of a `.fam`,
/// tabs those of a `.bim`.
pub fn render_rows(
    sheet: TableKind,
    columns: &[ColumnValues<'_>; COLUMN_COUNT],
    first: usize,
    text: &mut Vec<u8>,
) -> Result<()> {
    let [leading, ..] = columns;
    let rows = leading.len();
    if columns.iter().any(|column| column.len() != rows) {
        let lengths = columns.each_ref().map(ColumnValues::len);
        let message = format!("expected columns of one length, got {lengths:?}");
        return Err(Error::argument(message));
    }
    let start = text.len();
    for row in 0..rows {
        push_line(sheet, columns, row, text)
            .map_err(|(name, value)| unwritable_value_error(name, first + row, &value))?;
    }
    let rendered = text.get(start..).unwrap_or_default();
    if first == 0 && lines::text_start(rendered) > 0 {
        return Err(unwritable_value_error(sheet.names()[0], 0, "\u{FEFF}"));
    }
    Ok(())
}

/// Writes one line. Returns an error with the column and the field, if parsing would
/// change the field.
fn push_line(
    sheet: TableKind,
    columns: &[ColumnValues<'_>; COLUMN_COUNT],
    row: usize,
    text: &mut Vec<u8>,
) -> std::result::Result<(), (&'static str, String)> {
    let separator = if sheet == TableKind::Fam { b' ' } else { b'\t' };
    for (column, name) in columns.iter().zip(sheet.names()) {
        let start = text.len();
        let is_whole = column.push_value(row, text);
        let field = text.get(start..).unwrap_or_default();
        if !is_whole || field.is_empty() || field.iter().any(|byte| *byte <= b' ') {
            return Err((name, String::from_utf8_lossy(field).into_owned()));
        }
        text.push(separator);
    }
    text.pop();
    text.push(b'\n');
    Ok(())
}

fn unwritable_value_error(name: &str, row: usize, value: &str) -> Error {
    Error::argument(format!(
        "{name}, row {row}: expected text without white space, of at least one letter, found \
         {value:?}: it would not read back"
    ))
}

impl ColumnValues<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Points(points, width) => points.len() / (*width).max(1),
            Self::Texts(texts) => texts.len(),
            Self::Integers(numbers) => numbers.len(),
            Self::Floats(numbers) => numbers.len(),
        }
    }

    /// Writes one value; returns false if the code points are not a valid string.
    fn push_value(&self, row: usize, text: &mut Vec<u8>) -> bool {
        match self {
            Self::Points(points, width) => {
                let points = points.chunks_exact((*width).max(1)).nth(row);
                return push_code_points(points.unwrap_or_default(), text);
            }
            Self::Texts(texts) => {
                text.extend_from_slice(texts.get(row).unwrap_or(&"").as_bytes());
            }
            Self::Integers(numbers) => push_number(numbers.get(row), text),
            // The float is written in the shortest form that parses to the same float;
            // 0 is written as 0.0.
            Self::Floats(numbers) => {
                push_number(numbers.get(row).map(|number| format!("{number:?}")), text);
            }
        }
        true
    }
}

fn push_code_points(points: &[u32], text: &mut Vec<u8>) -> bool {
    let end = points.iter().rposition(|point| *point != 0);
    let points = points.get(..end.map_or(0, |last| last + 1));
    points.unwrap_or_default().iter().all(|point| {
        let letter = char::from_u32(*point);
        if let Some(letter) = letter {
            text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        }
        letter.is_some()
    })
}

fn push_number(number: Option<impl Display>, text: &mut Vec<u8>) {
    if let Some(number) = number {
        // Writing to a `Vec` cannot fail.
        let _ = write!(text, "{number}");
    }
}
