//! The fast path of the FASTA parser, for lines that are contained in one chunk of
//! text.
//!
//! All other lines are parsed by the slow path, which also reports errors.

#![expect(clippy::inline_always, reason = "compiled for each instruction set")]

use memchr::{memchr, memchr3};
use seqloom_core::simd::dispatch;
use seqloom_macros::vectorized;

use super::FastaParser;
use crate::cursor::{MAX_HEADER_BYTES, has_id};
use crate::{bytes::ByteClass, sink::RecordSink};
use seqloom_core::number::as_u64;

impl FastaParser {
    /// Reads whole lines at the beginning of `text`. Returns the number of bytes that
    /// were read.
    pub(super) fn read_whole_lines(&mut self, text: &[u8], sink: &mut impl RecordSink) -> usize {
        read_lines(self, text, sink)
    }

    #[inline(always)]
    fn read_lines(&mut self, text: &[u8], sink: &mut impl RecordSink) -> usize {
        let mut at = 0;
        while !sink.is_out_of_memory() {
            let rest = text.get(at..).unwrap_or_default();
            let read = match rest.first() {
                Some(b'>') => self.read_whole_header(rest, sink),
                Some(_) if self.is_open => self.read_line(rest, sink),
                _ => None,
            };
            let Some(size) = read else {
                break;
            };
            self.cursor.position.line += 1;
            self.cursor.position.byte += as_u64(size);
            self.cursor.line_start = self.cursor.position.byte;
            at += size;
        }
        at
    }

    /// Reads a line of residues. Returns the length of the line including the line end.
    /// The parser first looks for the line end at the length that most lines have.
    #[inline(always)]
    fn read_line(&mut self, text: &[u8], sink: &mut impl RecordSink) -> Option<usize> {
        let size = match text.get(self.common_length) {
            Some(b'\n') => self.common_length,
            _ => memchr(b'\n', text)?,
        };
        let line = text.get(..size)?;
        let letters = line.strip_suffix(b"\r").unwrap_or(line);
        let is_valid = !matches!(letters.first(), None | Some(b';' | b'#'))
            && self.cursor.length + as_u64(size) <= self.max_record
            && ByteClass::Letter.has_all(letters);
        if !is_valid {
            return None;
        }
        sink.add_residues(letters, self.cursor.position);
        self.cursor.length += as_u64(letters.len());
        self.update_common_length(size);
        Some(size + 1)
    }

    /// Updates the common line length, but only after two lines with a different
    /// length. A single line with a different length may be the last line of a record.
    #[inline(always)]
    fn update_common_length(&mut self, size: usize) {
        let differs = size != self.common_length;
        if differs && self.last_differed {
            self.common_length = size;
        }
        self.last_differed = differs;
    }

    /// Reads a header, unless the sink is full. Returns the length of the line.
    fn read_whole_header(&mut self, text: &[u8], sink: &mut impl RecordSink) -> Option<usize> {
        let rest = text.get(1..)?;
        let (header, end) = rest.split_at_checked(memchr3(b'\n', b'\r', 0, rest)?)?;
        let end = match end {
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            _ => return None,
        };
        let is_valid = has_id(header) && header.len() < MAX_HEADER_BYTES;
        if !is_valid || self.cursor.header.try_reserve(header.len()).is_err() {
            return None;
        }
        self.end_record(sink);
        if sink.is_full() {
            return None;
        }
        self.cursor.begin_record();
        self.cursor.header.extend_from_slice(header);
        sink.begin_record(header);
        self.is_open = true;
        Some(1 + header.len() + end)
    }
}

#[vectorized]
fn read_lines<Into: RecordSink>(parser: &mut FastaParser, text: &[u8], sink: &mut Into) -> usize {
    parser.read_lines(text, sink)
}
