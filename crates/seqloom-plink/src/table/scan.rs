//! Finds the fields of a table and validates its lines.

use seqloom_core::error::Fault;

use super::table_kind::{COLUMN_COUNT, TableKind};
use super::{lines, rows};
use seqloom_core::number::as_u64;

/// The number of the first line.
pub(super) const FIRST_LINE_NUMBER: u64 = 1;

/// The columns of a `.bim` without centimorgans, which PLINK 1.9 accepts.
const COLUMNS_WITHOUT_CM: [usize; COLUMN_COUNT - 1] = [0, 1, 3, 4, 5];
const ALL_COLUMNS: [usize; COLUMN_COUNT] = [0, 1, 2, 3, 4, 5];

/// The offsets of the fields of a column.
#[derive(Debug, Default)]
pub(super) struct FieldStarts {
    pub(super) is_wanted: bool,
    /// The file omits the optional column.
    pub(super) is_absent: bool,
    pub(super) starts: Vec<usize>,
    /// The number of bytes of the longest field, and of all fields.
    pub(super) longest: usize,
    pub(super) bytes: usize,
}

impl FieldStarts {
    fn push_field(&mut self, start: usize, end: usize) {
        if self.is_wanted {
            self.starts.push(start);
            self.longest = self.longest.max(end - start);
            self.bytes += end - start;
        }
    }
}

/// Finds the fields of the wanted columns; returns the number of lines.
pub(super) fn find_fields(
    text: &[u8],
    sheet: TableKind,
    columns: &mut [FieldStarts; COLUMN_COUNT],
) -> Result<usize, Fault> {
    rows::check_header(text, sheet)?;
    let rows = lines::count_lines(text);
    let text = lines::trim_trailing_blanks(text);
    let mut at = lines::text_start(text);
    let (order, fields) = file_columns(text, at, sheet);
    for (position, column) in columns.iter_mut().enumerate() {
        column.is_absent = !order.contains(&position);
        column
            .starts
            .reserve_exact(if column.is_wanted { rows } else { 0 });
    }
    for row in 0..rows {
        let start = at;
        let found;
        (at, found) = scan_line(text, at, order, columns);
        at = line_end(text, at)
            .ok_or_else(|| fault_at_byte(row, at, describe_stray_byte(text, at)))?;
        if found != fields {
            return Err(fault_at_byte(
                row,
                start,
                wrong_field_count_message(sheet, fields, found),
            ));
        }
    }
    Ok(rows)
}

/// Finds the fields of one line; returns the end of the line and the number of fields.
#[inline]
fn scan_line(
    text: &[u8],
    mut at: usize,
    order: &[usize],
    columns: &mut [FieldStarts; COLUMN_COUNT],
) -> (usize, usize) {
    let mut found = 0;
    loop {
        at += count_while(text, at, |byte| byte == b' ' || byte == b'\t');
        let end = at + count_while(text, at, is_field_byte);
        if end == at {
            return (at, found);
        }
        if let Some(column) = order
            .get(found)
            .and_then(|position| columns.get_mut(*position))
        {
            column.push_field(at, end);
        }
        found += 1;
        at = end;
    }
}

/// Returns the field at an offset.
#[inline]
pub(super) fn field_at(text: &[u8], start: usize) -> &[u8] {
    let end = start + count_while(text, start, is_field_byte);
    text.get(start..end).unwrap_or_default()
}

/// Returns whether a byte is part of a field.
#[inline]
fn is_field_byte(byte: u8) -> bool {
    byte > b' '
}

#[inline]
fn count_while(text: &[u8], start: usize, is_so: impl Fn(u8) -> bool) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let end = rest.iter().position(|byte| !is_so(*byte));
    end.unwrap_or(rest.len())
}

/// Returns the columns of the file and the number of fields of a line, from its first line.
/// A `.fam` may have more phenotypes at the end, which are ignored.
fn file_columns(text: &[u8], start: usize, sheet: TableKind) -> (&'static [usize], usize) {
    let (_, found) = scan_line(
        text,
        start,
        &[],
        &mut <[FieldStarts; COLUMN_COUNT]>::default(),
    );
    match (sheet, found) {
        (TableKind::Bim, 5) => (&COLUMNS_WITHOUT_CM, 5),
        (TableKind::Fam, COLUMN_COUNT..) => (&ALL_COLUMNS, found),
        _ => (&ALL_COLUMNS, COLUMN_COUNT),
    }
}

/// Returns the offset of the next line, or `None` if the current line does not end at
/// `at`.
fn line_end(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at..).unwrap_or_default() {
        [] => Some(at),
        [b'\n', ..] => Some(at + 1),
        [b'\r', b'\n', ..] => Some(at + 2),
        _ => None,
    }
}

fn describe_stray_byte(text: &[u8], at: usize) -> String {
    match text.get(at) {
        Some(b'\r') => "expected lines that end in \\n or \\r\\n, found a lone \\r".into(),
        byte => format!(
            "expected text, found the control byte 0x{:02x}",
            byte.copied().unwrap_or(0)
        ),
    }
}

fn wrong_field_count_message(sheet: TableKind, fields: usize, found: usize) -> String {
    let names = sheet.names().join(", ");
    match (sheet, fields) {
        _ if found == 0 => "expected a line of the table, found a blank line".into(),
        (TableKind::Fam, COLUMN_COUNT) => {
            format!("expected 6 columns ({names}; or more in every line), found {found}")
        }
        (TableKind::Fam, _) => format!("expected {fields} columns, as in line 1, found {found}"),
        (TableKind::Bim, COLUMN_COUNT) => {
            format!(
                "expected 6 columns ({names}; or 5, without cm_position, in every line), found {found}"
            )
        }
        (TableKind::Bim, _) => format!("expected 5 columns, as in line 1, found {found}"),
    }
}

fn fault_at_byte(row: usize, byte: usize, message: String) -> Fault {
    Fault {
        line: Some(as_u64(row) + FIRST_LINE_NUMBER),
        byte: Some(as_u64(byte)),
        ..Fault::of_file(message)
    }
}

/// Returns an error if the text is not UTF-8.
pub(super) fn check_utf8(text: &[u8], is_ascii: bool) -> Result<(), Fault> {
    if is_ascii {
        return Ok(());
    }
    let Err(error) = str::from_utf8(text) else {
        return Ok(());
    };
    let at = error.valid_up_to();
    let (before, rest) = text.split_at_checked(at).unwrap_or_default();
    let found = rest.first().copied().unwrap_or(0);
    let message = format!("expected text in UTF-8, found the byte 0x{found:02x}");
    Err(fault_at_byte(lines::count_line_ends(before), at, message))
}
