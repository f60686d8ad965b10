//! Going on behind a fault, at the next record.
//!
//! FASTA goes on at the next line of `>`. In FASTQ a line that begins with `@`
//! may be qualities, and the record with the fault may have swallowed the
//! next: so each line of `@` behind the record's header is tried in turn, and
//! what parses as a record is one. For that the record's text is kept.

use memchr::memchr;
use seqloom_core::Error;
use seqloom_core::error::{Fault, Kind, Result};

use super::{Reader, translate};
use crate::options::{Format, OnError};
use crate::sink::Position;
use seqloom_core::number::as_u64;

impl Reader {
    /// Keeps the text of a record that is not complete, where it may have to be
    /// read again. False where there is no memory for it.
    pub(super) fn keep_trail(&mut self, from: u64, used: usize) -> Result<bool> {
        let is_kept = self.parser.format() == Format::Fastq && !self.parser.is_between();
        if self.options.on_error == OnError::Raise || !is_kept {
            self.trail.clear();
            return Ok(true);
        }
        let start = self.parser.record_start().byte;
        if start >= from {
            self.trail.clear();
        }
        let text = self.pieces.fill();
        let text = text.map_err(|trouble| translate(&self.path, trouble))?;
        let kept = text.get(size(start.saturating_sub(from))..used);
        let kept = kept.unwrap_or_default();
        let has_room = self.trail.try_reserve(kept.len()).is_ok();
        if has_room {
            self.trail.extend_from_slice(kept);
        }
        Ok(has_room)
    }

    /// Counts a fault and finds where to go on. `from` is where the piece of
    /// text begins that waits.
    pub(super) fn recover(&mut self, fault: Fault, from: u64) -> Result<()> {
        let used = size(self.parser.position().byte - from);
        let goes_back = self.parser.format() == Format::Fastq && !self.parser.is_between();
        let is_new = !(goes_back && self.is_echo(&fault));
        if goes_back {
            self.go_back(from, used)?;
        } else {
            self.pieces.consume(used);
            self.parser.seek();
        }
        if is_new {
            self.last_fault = (fault.line.unwrap_or(0), self.parser.completed());
            self.report.add(fault, self.options.on_error);
        } else {
            self.parser.uncount();
        }
        Ok(())
    }

    /// Whether what failed was hardly a record: a line of `@` that was tried
    /// after a fault, and lies before that fault or fails at once.
    fn is_echo(&self, fault: &Fault) -> bool {
        let (line, completed) = self.last_fault;
        let start = self.parser.record_start().line;
        let fails_at_once = matches!(fault.kind, Kind::Header | Kind::Cut)
            && fault.line.is_some_and(|line| line <= start + 1);
        line > 0 && completed == self.parser.completed() && (start <= line || fails_at_once)
    }

    /// Goes back to the line behind the record's header.
    fn go_back(&mut self, from: u64, used: usize) -> Result<()> {
        let start = self.parser.record_start();
        let found = memchr(b'\n', &self.trail).filter(|_| start.byte < from);
        match found {
            Some(end) => {
                let no_memory = |_| Error::format(&self.path, self.parser.no_memory());
                let again = self.trail.get(end + 1..).unwrap_or_default();
                self.pieces.put_back(again).map_err(no_memory)?;
                self.parser.seek_from(behind(start, start.byte, end));
            }
            None => self.go_forth(from, used)?,
        }
        self.trail.clear();
        Ok(())
    }

    /// Goes to the end of the header's line, which is in this piece or later.
    fn go_forth(&mut self, from: u64, used: usize) -> Result<()> {
        let start = self.parser.record_start();
        let text = self.pieces.fill();
        let text = text.map_err(|trouble| translate(&self.path, trouble))?;
        let skipped = size(start.byte.saturating_sub(from));
        let end = text.get(skipped..).and_then(|text| memchr(b'\n', text));
        if let Some(end) = end {
            self.pieces.consume(skipped + end + 1);
            let position = behind(start, start.byte.max(from), end);
            self.parser.seek_from(position);
        } else {
            self.pieces.consume(used);
            self.parser.seek();
        }
        Ok(())
    }
}

/// The position behind a line end that stands `end` bytes behind `byte`.
fn behind(start: Position, byte: u64, end: usize) -> Position {
    Position {
        line: start.line + 1,
        byte: byte + as_u64(end) + 1,
    }
}

/// A distance within one piece of text.
fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
