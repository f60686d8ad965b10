//! The lines that lie whole in one piece of text: nearly all.
//!
//! What is not plainly right is left to the careful path, which finds the fault.

#![expect(
    clippy::inline_always,
    reason = "compiled anew for each instruction set"
)]

use memchr::{memchr, memchr3};
use seqloom_core::simd::dispatch;
use seqloom_macros::vectorized;

use super::FastaParser;
use crate::bytes::Class;
use crate::cursor::{MAX_HEADER, has_id};
use crate::sink::RecordSink;
use seqloom_core::number::as_u64;

impl FastaParser {
    /// Takes whole lines from the beginning of `text`; says how much of it.
    pub(super) fn whole_lines(&mut self, text: &[u8], sink: &mut impl RecordSink) -> usize {
        take_whole(self, text, sink)
    }

    #[inline(always)]
    fn take_whole(&mut self, text: &[u8], sink: &mut impl RecordSink) -> usize {
        let mut at = 0;
        while !sink.is_exhausted() {
            let rest = text.get(at..).unwrap_or_default();
            let taken = match rest.first() {
                Some(b'>') => self.whole_header(rest, sink),
                Some(_) if self.is_open => self.whole_line(rest, sink),
                _ => None,
            };
            let Some(size) = taken else {
                break;
            };
            self.cursor.position.line += 1;
            self.cursor.position.byte += as_u64(size);
            self.cursor.line_start = self.cursor.position.byte;
            at += size;
        }
        at
    }

    /// Takes a line of letters; returns its length with its end. Searches the end first where
    /// most lines end.
    #[inline(always)]
    fn whole_line(&mut self, text: &[u8], sink: &mut impl RecordSink) -> Option<usize> {
        let size = match text.get(self.usual_length) {
            Some(b'\n') => self.usual_length,
            _ => memchr(b'\n', text)?,
        };
        let line = text.get(..size)?;
        let letters = line.strip_suffix(b"\r").unwrap_or(line);
        let is_fine = !matches!(letters.first(), None | Some(b';' | b'#'))
            && self.cursor.length + as_u64(size) <= self.max_record
            && Class::Letter.has_all(letters);
        if !is_fine {
            return None;
        }
        sink.letters(letters, self.cursor.position);
        self.cursor.length += as_u64(letters.len());
        self.note_length(size);
        Some(size + 1)
    }

    /// One line of another length may be a record's last; two in a row are the usual ones.
    #[inline(always)]
    fn note_length(&mut self, size: usize) {
        let differs = size != self.usual_length;
        if differs && self.differed {
            self.usual_length = size;
        }
        self.differed = differs;
    }

    /// Takes a header, if the sink takes a record; says how long its line is.
    fn whole_header(&mut self, text: &[u8], sink: &mut impl RecordSink) -> Option<usize> {
        let behind = text.get(1..)?;
        let (header, end) = behind.split_at_checked(memchr3(b'\n', b'\r', 0, behind)?)?;
        let end = match end {
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            _ => return None,
        };
        let is_fine = has_id(header) && header.len() < MAX_HEADER;
        if !is_fine || self.cursor.header.try_reserve(header.len()).is_err() {
            return None;
        }
        self.end_record(sink);
        if sink.is_full() {
            return None;
        }
        self.cursor.open();
        self.cursor.header.extend_from_slice(header);
        sink.begin(header);
        self.is_open = true;
        Some(1 + header.len() + end)
    }
}

#[vectorized]
fn take_whole<Into: RecordSink>(parser: &mut FastaParser, text: &[u8], sink: &mut Into) -> usize {
    parser.take_whole(text, sink)
}
