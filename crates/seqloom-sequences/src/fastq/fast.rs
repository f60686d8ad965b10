//! The fast path of the FASTQ parser, for records of four lines that are contained in
//! one chunk of text.
//!
//! All other records are parsed by the slow path, which also reports errors.

#![expect(clippy::inline_always, reason = "compiled for each instruction set")]

use memchr::{memchr, memchr3};
use seqloom_core::simd::dispatch;
use seqloom_macros::vectorized;

use super::FastqParser;
use crate::bytes::{ByteClass, is_one_line};
use crate::cursor::{MAX_HEADER_BYTES, has_id};
use crate::sink::{Position, RecordSink};
use seqloom_core::number::as_u64;

/// A FASTQ record of four lines.
struct FourLines<'a> {
    header: &'a [u8],
    letters: &'a [u8],
    qualities: &'a [u8],
    /// The offset of the residues from the start of the record.
    start: usize,
    size: usize,
}

impl FastqParser {
    /// Reads whole records at the beginning of `text`. Returns the number of bytes that
    /// were read.
    pub(super) fn read_whole_records(&mut self, text: &[u8], sink: &mut impl RecordSink) -> usize {
        read_records(self, text, sink)
    }

    #[inline(always)]
    fn read_records(&mut self, text: &[u8], sink: &mut impl RecordSink) -> usize {
        let (mut at, mut count) = (0, 0);
        let Position { line, byte } = self.cursor.position;
        let quality = ByteClass::Quality(self.lowest_quality);
        while !sink.is_full() {
            let rest = text.get(at..).unwrap_or_default();
            let Some(record) = read_four_lines(rest, quality, self.last_lengths) else {
                break;
            };
            if as_u64(record.letters.len()) > self.max_record {
                break;
            }
            let position = Position {
                line: line + 4 * count + 1,
                byte: byte + as_u64(at + record.start),
            };
            sink.add_record(record.header, (record.letters, position), record.qualities);
            if sink.is_out_of_memory() {
                sink.cancel_record();
                break;
            }
            self.last_lengths = (record.header.len(), record.letters.len());
            at += record.size;
            count += 1;
        }
        self.skip_records(at, count);
        at
    }

    fn skip_records(&mut self, size: usize, count: u64) {
        self.cursor.position.line += 4 * count;
        self.cursor.position.byte += as_u64(size);
        self.cursor.line_start = self.cursor.position.byte;
        self.cursor.begun += count;
        self.completed += count;
    }
}

/// Returns the record at the beginning of a text, or `None` if the slow path must parse
/// it. The parser first looks for line ends at the line lengths of the last record.
#[inline(always)]
fn read_four_lines(
    text: &[u8],
    quality: ByteClass,
    expected_length: (usize, usize),
) -> Option<FourLines<'_>> {
    let after_mark = text.strip_prefix(b"@")?;
    let (header, end) = after_mark.split_at_checked(header_size(after_mark, expected_length.0)?)?;
    match end {
        [b'\n', ..] => read_after_header::<1>(text, header, quality, expected_length.1),
        _ => read_after_header::<2>(text, header, quality, expected_length.1),
    }
}

/// Returns the length of the header at the beginning of a text, or `None` if the header
/// is invalid or incomplete.
#[inline(always)]
fn header_size(text: &[u8], expected_length: usize) -> Option<usize> {
    let has_expected_length = text.get(expected_length) == Some(&b'\n')
        && text.get(..expected_length).is_some_and(is_one_line);
    let size = if has_expected_length {
        expected_length
    } else {
        memchr3(b'\n', b'\r', 0, text)?
    };
    let header = text.get(..size)?;
    (text.get(size) != Some(&0) && has_id(header) && size < MAX_HEADER_BYTES).then_some(size)
}

/// Returns the record that has this header. The line ends of the record must have `END`
/// bytes: 1 for `\n`, 2 for `\r\n`.
#[inline(always)]
fn read_after_header<'a, const END: usize>(
    text: &'a [u8],
    header: &'a [u8],
    quality: ByteClass,
    expected_length: usize,
) -> Option<FourLines<'a>> {
    let start = 1 + header.len() + END;
    let rest = text.get(start..)?;
    let size = match rest.get(expected_length + END - 1) {
        Some(b'\n') => expected_length,
        _ => memchr(b'\n', rest)?.checked_sub(END - 1)?,
    };
    let mut plus = size + END + 1;
    if !is_line_end::<END>(rest, plus) {
        rest.get(plus..)?.strip_prefix(header)?;
        plus += header.len();
    }
    let qualities = plus + END;
    let end = qualities + size;
    let (letters, qualities) = (rest.get(..size)?, rest.get(qualities..end)?);
    let is_valid = is_line_end::<END>(text, start - END)
        && is_line_end::<END>(rest, end)
        && is_line_end::<END>(rest, plus)
        && is_line_end::<END>(rest, size)
        && rest.get(size + END) == Some(&b'+')
        && !matches!(letters.first(), None | Some(b'+' | b'@'))
        && ByteClass::Letter.has_all(letters)
        && quality.has_all(qualities);
    if !is_valid {
        return None;
    }
    Some(FourLines {
        header,
        letters,
        qualities,
        start,
        size: start + end + END,
    })
}

/// Returns true if a line end of `END` bytes is at this offset.
#[inline(always)]
fn is_line_end<const END: usize>(text: &[u8], at: usize) -> bool {
    let has_carriage_return = END == 1 || text.get(at) == Some(&b'\r');
    has_carriage_return && text.get(at + END - 1) == Some(&b'\n')
}

#[vectorized]
fn read_records<Into: RecordSink>(parser: &mut FastqParser, text: &[u8], sink: &mut Into) -> usize {
    parser.read_records(text, sink)
}
