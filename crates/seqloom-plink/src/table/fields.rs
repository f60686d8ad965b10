//! The fields of a column, as strings and as numbers.

use std::ops::Range;

use seqloom_core::{Error, Result};

use super::{TextTable, number, scan};

impl<T: AsRef<[u8]>> TextTable<T> {
    /// Returns the fields of a column in a range of rows, which may extend beyond the
    /// table.
    pub fn fields(&self, name: &str, rows: Range<usize>) -> Result<impl Iterator<Item = &str>> {
        let fields = self.field_spans(name, rows)?.map(|(_, field)| field);
        // The whole text is UTF-8, and no blank is part of a multi-byte character.
        Ok(fields.map(|field| str::from_utf8(field).unwrap_or_default()))
    }

    /// Returns the number of characters in the longest field of a range of rows.
    pub fn max_field_chars(&self, name: &str, rows: Range<usize>) -> Result<usize> {
        let fields = self.fields(name, rows)?;
        Ok(fields.map(|field| field.chars().count()).max().unwrap_or(0))
    }

    /// Writes the fields of a column as code points, from row `first`. Each field has the same
    /// number of code points, padded with zeros.
    pub fn write_code_points(
        &self,
        name: &str,
        first: usize,
        width: usize,
        out: &mut [u32],
    ) -> Result<()> {
        let rows = out.chunks_exact_mut(width.max(1));
        let range = first..first.saturating_add(rows.len());
        let fits = if self.is_ascii {
            let spans = self.field_spans(name, range)?;
            rows.zip(spans).all(|(row, (_, field))| {
                write_row_of_points(row, field.iter().map(|byte| u32::from(*byte)))
            })
        } else {
            let fields = self.fields(name, range)?;
            rows.zip(fields)
                .all(|(row, field)| write_row_of_points(row, field.chars().map(u32::from)))
        };
        if fits {
            return Ok(());
        }
        let message = format!("{name}: a field has more than {width} characters");
        Err(Error::argument(message))
    }

    /// Writes a column of integers.
    pub fn write_integers(&self, name: &str, out: &mut [i32]) -> Result<()> {
        self.write_numbers(name, out, |field| number::parse_integer(name, field))
    }

    /// Writes a column of floats, or zeros if the file omits the column.
    pub fn write_floats(&self, name: &str, out: &mut [f32]) -> Result<()> {
        if self.field_starts(name)?.is_absent {
            out.fill(0.0);
            return Ok(());
        }
        self.write_numbers(name, out, |field| number::parse_float(name, field))
    }

    fn write_numbers<N>(
        &self,
        name: &str,
        out: &mut [N],
        read: impl Fn(&[u8]) -> number::FieldResult<N>,
    ) -> Result<()> {
        check_output_size(name, self.rows, out.len())?;
        let spans = self.field_spans(name, 0..self.rows)?;
        for (row, (to, (start, field))) in out.iter_mut().zip(spans).enumerate() {
            *to = read(field).map_err(|fault| self.field_error(row, start, fault))?;
        }
        Ok(())
    }

    /// Returns the offset and the bytes of each field.
    fn field_spans(
        &self,
        name: &str,
        rows: Range<usize>,
    ) -> Result<impl Iterator<Item = (usize, &[u8])>> {
        let text = self.text.as_ref();
        let starts = self.field_starts(name)?.starts.as_slice();
        let first = rows.start.min(starts.len());
        let starts = starts.get(first..rows.end.clamp(first, starts.len()));
        let starts = starts.unwrap_or_default().iter();
        Ok(starts.map(|start| (*start, scan::field_at(text, *start))))
    }
}

/// Fills a row of code points; returns false if the row is too short.
fn write_row_of_points(row: &mut [u32], mut points: impl Iterator<Item = u32>) -> bool {
    for to in row {
        *to = points.next().unwrap_or(0);
    }
    points.next().is_none()
}

fn check_output_size(name: &str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::argument(format!(
        "{name}: expected room for {expected} numbers, got {found}"
    )))
}
