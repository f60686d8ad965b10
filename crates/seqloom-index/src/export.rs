//! Exports an index as a `.fai` file for other programs.

use std::collections::HashSet;
use std::ops::Range;

use seqloom_core::{Error, Result, error::Fault};

use super::cache::ReadCache;
use super::fai::{FaiRow, write_row};
use super::open::Index;
use super::row::{IndexRow, id_of};
use seqloom_compression::checksum::hash_64;
use seqloom_sequences::options::Format;

impl Index {
    /// Returns the lines of a `.fai` file for a range of records. The ids must be
    /// unique and not in `names`, and the lines of a record must have equal lengths.
    pub fn fai_lines(&self, range: Range<u64>, names: &mut HashSet<u64>) -> Result<Vec<u8>> {
        let mut cache = self.borrow_cache();
        let mut lines = Vec::new();
        for number in range.start..range.end.min(self.len()) {
            let row = self.row(number, &mut cache)?;
            let line = self.fai_row(&row, &mut cache)?;
            let line =
                line.ok_or_else(|| self.unsupported_error(number, "has lines of unequal length"))?;
            if !names.insert(hash_64(&line.name)) {
                return Err(self.unsupported_error(number, "has the id of an earlier record"));
            }
            lines.extend(write_row(&line));
        }
        self.return_cache(cache);
        Ok(lines)
    }

    fn unsupported_error(&self, number: u64, what: &str) -> Error {
        let message = format!("record {number} {what}, which a .fai file does not support");
        Error::format(&self.path, Fault::of_file(message))
    }

    fn fai_row(&self, row: &IndexRow, cache: &mut ReadCache) -> Result<Option<FaiRow>> {
        let header = self
            .read_header(row, cache)
            .map_err(|error| self.path_error(error))?;
        if row.length > 0 && row.line_letters == 0 {
            return Ok(None);
        }
        let mut line = FaiRow {
            name: id_of(&header).to_vec(),
            length: row.length,
            letters: row.begin + u64::from(row.header),
            line_letters: row.line_letters.into(),
            line_bytes: row.line_bytes.into(),
            qualities: None,
        };
        if self.format() == Format::Fastq {
            line.qualities = self.quality_offset(row, cache)?;
            return Ok(line.qualities.is_some().then_some(line));
        }
        Ok(Some(line))
    }

    /// Returns the offset of the qualities of a record, if their lines have the same
    /// lengths as those of the residues.
    fn quality_offset(&self, row: &IndexRow, cache: &mut ReadCache) -> Result<Option<u64>> {
        let mut record = Vec::new();
        let read = self.text.read_range(
            row.begin..row.begin + row.size,
            &mut record,
            &mut cache.text,
        );
        read.map_err(|error| self.path_error(error))?;
        let last = row.length.checked_sub(1).and_then(|last| row.offset(last));
        let letters = last.map_or(u64::from(row.header), |position| position + 1 - row.begin);
        let start = usize::try_from(letters).unwrap_or(usize::MAX);
        // The residues are followed by a line end or an empty line, and then by the '+'
        // line.
        let plus = record.get(start..).and_then(|rest| {
            let plus = rest.iter().position(|byte| *byte == b'+')?;
            Some(start + plus + memchr::memchr(b'\n', rest.get(plus..)?)? + 1)
        });
        let Some(plus) = plus else {
            return Ok(None);
        };
        let extent = letters - u64::from(row.header);
        let lines = usize::try_from(extent).unwrap_or(usize::MAX);
        let found = record.get(plus..);
        let found = found.and_then(|found| found.split_at_checked(lines));
        let is_alike = found.is_some_and(|(found, behind)| {
            let width = (row.line_bytes as usize).max(1);
            let ends = |position: usize| position % width >= row.line_letters as usize;
            let mut bytes = found.iter().enumerate();
            behind.trim_ascii().is_empty()
                && bytes.all(|(position, byte)| ends(position) == byte.is_ascii_whitespace())
        });
        Ok(is_alike.then(|| row.begin + plus as u64))
    }
}
