//! The tables of a `.bed` file, as columns.
//!
//! ```text
//! fam1 ann 0 0 2 1.5        .fam, a line for each individual
//! 1 rs12 0 10583 G A        .bim, a line for each variant
//! ```
//!
//! Spaces and tabs separate fields; any other character, also `#`, is part of a field. Fields are
//! not copied: a column stores the offset of each field in the text.

mod fields;
pub mod lines;
mod number;
pub mod render;
mod rows;
mod scan;
mod table_kind;

use std::path::{Path, PathBuf};

use seqloom_core::{Error, Result, error::Fault};

use self::scan::{FIRST_LINE_NUMBER, FieldStarts};
pub use self::table_kind::{COLUMN_COUNT, TableKind};

/// A validated table, and the columns that were requested.
#[derive(Debug)]
pub struct TextTable<T> {
    path: PathBuf,
    text: T,
    sheet: TableKind,
    rows: usize,
    is_ascii: bool,
    columns: [FieldStarts; COLUMN_COUNT],
}

/// The size of the text in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnSize {
    /// The number of characters in the longest field.
    pub longest: usize,
    /// The number of bytes of all fields.
    pub bytes: usize,
}

impl<T: AsRef<[u8]>> TextTable<T> {
    /// Validates the whole text and finds the fields of the `wanted` columns. Error
    /// messages name `path`.
    pub fn parse(path: &Path, sheet: TableKind, wanted: &[String], text: T) -> Result<Self> {
        let mut columns = <[FieldStarts; COLUMN_COUNT]>::default();
        for name in wanted {
            if let Some(column) = columns.get_mut(sheet.position(name)?) {
                column.is_wanted = true;
            }
        }
        let bytes = text.as_ref();
        let is_ascii = bytes.is_ascii();
        let scanned = scan::check_utf8(bytes, is_ascii)
            .and_then(|()| scan::find_fields(bytes, sheet, &mut columns));
        Ok(Self {
            rows: scanned.map_err(|fault| Error::format(path, fault))?,
            path: path.to_path_buf(),
            text,
            sheet,
            is_ascii,
            columns,
        })
    }

    /// Returns the number of rows.
    pub fn row_count(&self) -> usize {
        self.rows
    }

    /// Returns the size of the text in a column.
    pub fn column_size(&self, name: &str) -> Result<ColumnSize> {
        let FieldStarts { longest, bytes, .. } = *self.field_starts(name)?;
        if self.is_ascii {
            return Ok(ColumnSize { longest, bytes });
        }
        let longest = self.max_field_chars(name, 0..self.rows)?;
        Ok(ColumnSize { longest, bytes })
    }

    fn field_starts(&self, name: &str) -> Result<&FieldStarts> {
        let column = self.columns.get(self.sheet.position(name)?);
        column
            .filter(|column| column.is_wanted)
            .ok_or_else(|| Error::argument(format!("the column {name} was not parsed")))
    }

    /// Returns the error for a field that begins at byte `start`. The line number is
    /// computed from the row, because no line is blank.
    fn field_error(&self, row: usize, start: usize, fault: Fault) -> Error {
        let fault = Fault {
            line: u64::try_from(row).ok().map(|row| row + FIRST_LINE_NUMBER),
            byte: u64::try_from(start).ok(),
            ..fault
        };
        Error::format(&self.path, fault)
    }
}

#[cfg(test)]
mod tests;
