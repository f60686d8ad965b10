//! Recovery after an invalid record: reading continues at the next record.
//!
//! In FASTA, the next record begins at the next line that begins with `>`. In FASTQ a
//! line that begins with `@` may be qualities, and the text of the invalid record may
//! include the next record. Therefore, the text of the invalid record is stored, and
//! parsing is tried again from each of its lines that begin with `@`. The next record
//! begins at the first line from which a record can be parsed.

use memchr::memchr;
use seqloom_core::Error;
use seqloom_core::error::{Fault, FaultKind, Result};

use super::{Reader, to_path_error};
use crate::options::{Format, OnError};
use crate::sink::Position;
use seqloom_core::number::as_u64;

impl Reader {
    /// Stores the text of an incomplete record if the record may have to be read again.
    /// Returns false if there is not enough memory.
    pub(super) fn keep_record_text(&mut self, from: u64, used: usize) -> Result<bool> {
        let may_be_reread =
            self.parser.format() == Format::Fastq && !self.parser.is_between_records();
        if self.options.on_error == OnError::Raise || !may_be_reread {
            self.record_text.clear();
            return Ok(true);
        }
        let start = self.parser.record_start().byte;
        if start >= from {
            self.record_text.clear();
        }
        let text = self.text.fill_buffer();
        let text = text.map_err(|error| to_path_error(&self.path, error))?;
        let stored = text.get(to_usize(start.saturating_sub(from))..used);
        let stored = stored.unwrap_or_default();
        let has_memory = self.record_text.try_reserve(stored.len()).is_ok();
        if has_memory {
            self.record_text.extend_from_slice(stored);
        }
        Ok(has_memory)
    }

    /// Counts an invalid record and finds the position at which to continue. `from` is
    /// the offset of the current chunk.
    pub(super) fn skip_invalid_record(&mut self, fault: Fault, from: u64) -> Result<()> {
        let used = to_usize(self.parser.position().byte - from);
        let can_go_back =
            self.parser.format() == Format::Fastq && !self.parser.is_between_records();
        let is_new = !(can_go_back && self.is_repeated_fault(&fault));
        if can_go_back {
            self.reread_record(from, used)?;
        } else {
            self.text.consume(used);
            self.parser.seek_record();
        }
        if is_new {
            self.last_fault = (fault.line.unwrap_or(0), self.parser.record_count());
            self.report.add(fault, self.options.on_error);
        } else {
            self.parser.uncount_last_record();
        }
        Ok(())
    }

    /// Returns true if an error is only a consequence of the previous error. After the
    /// previous error, the reader may have tried to parse a record from a line with `@`
    /// that does not begin a record. A record that is parsed from such a line begins
    /// before the previous error, or its parsing fails at once.
    fn is_repeated_fault(&self, fault: &Fault) -> bool {
        let (line, completed) = self.last_fault;
        let start = self.parser.record_start().line;
        let fails_at_once = matches!(fault.kind, FaultKind::Header | FaultKind::Cut)
            && fault.line.is_some_and(|line| line <= start + 1);
        line > 0 && completed == self.parser.record_count() && (start <= line || fails_at_once)
    }

    /// Moves the reader back to the line after the header of the invalid record.
    fn reread_record(&mut self, from: u64, used: usize) -> Result<()> {
        let start = self.parser.record_start();
        let found = memchr(b'\n', &self.record_text).filter(|_| start.byte < from);
        match found {
            Some(end) => {
                let out_of_memory =
                    |_| Error::format(&self.path, self.parser.out_of_memory_fault());
                let rest = self.record_text.get(end + 1..).unwrap_or_default();
                self.text.push_back(rest).map_err(out_of_memory)?;
                self.parser
                    .seek_record_from(position_after(start, start.byte, end));
            }
            None => self.skip_header(from, used)?,
        }
        self.record_text.clear();
        Ok(())
    }

    /// Skips the header, which ends in the current chunk or in a later chunk.
    fn skip_header(&mut self, from: u64, used: usize) -> Result<()> {
        let start = self.parser.record_start();
        let text = self.text.fill_buffer();
        let text = text.map_err(|error| to_path_error(&self.path, error))?;
        let skipped = to_usize(start.byte.saturating_sub(from));
        let end = text.get(skipped..).and_then(|text| memchr(b'\n', text));
        if let Some(end) = end {
            self.text.consume(skipped + end + 1);
            let position = position_after(start, start.byte.max(from), end);
            self.parser.seek_record_from(position);
        } else {
            self.text.consume(used);
            self.parser.seek_record();
        }
        Ok(())
    }
}

/// Returns the position after a line end that is `end` bytes after `byte`.
fn position_after(start: Position, byte: u64, end: usize) -> Position {
    Position {
        line: start.line + 1,
        byte: byte + as_u64(end) + 1,
    }
}

/// Converts the length of a chunk to `usize`.
fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
