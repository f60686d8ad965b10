//! The records that lie in one piece of text, of four lines each: nearly all.
//!
//! What is not plainly right is left to the careful path, which finds the fault.

#![expect(
    clippy::inline_always,
    reason = "compiled anew for each instruction set"
)]

use memchr::{memchr, memchr3};
use seqloom_core::simd::dispatch;
use seqloom_macros::vectorized;

use super::FastqParser;
use crate::bytes::{Class, is_one_line};
use crate::cursor::{MAX_HEADER, has_id};
use crate::sink::{Position, RecordSink};
use seqloom_core::number::as_u64;

/// A record of four lines.
struct FourLines<'a> {
    header: &'a [u8],
    letters: &'a [u8],
    qualities: &'a [u8],
    /// Where the letters begin.
    start: usize,
    size: usize,
}

impl FastqParser {
    /// Takes whole records from the beginning of `text`; says how much of it.
    pub(super) fn whole_records(&mut self, text: &[u8], sink: &mut impl RecordSink) -> usize {
        take_whole(self, text, sink)
    }

    #[inline(always)]
    fn take_whole(&mut self, text: &[u8], sink: &mut impl RecordSink) -> usize {
        let (mut at, mut count) = (0, 0);
        let Position { line, byte } = self.cursor.position;
        let quality = Class::Quality(self.lowest);
        while !sink.is_full() {
            let rest = text.get(at..).unwrap_or_default();
            let Some(record) = four_lines(rest, quality, self.usual) else {
                break;
            };
            if as_u64(record.letters.len()) > self.max_record {
                break;
            }
            let position = Position {
                line: line + 4 * count + 1,
                byte: byte + as_u64(at + record.start),
            };
            sink.record(record.header, (record.letters, position), record.qualities);
            if sink.is_exhausted() {
                sink.cancel();
                break;
            }
            self.usual = (record.header.len(), record.letters.len());
            at += record.size;
            count += 1;
        }
        self.pass(at, count);
        at
    }

    fn pass(&mut self, size: usize, count: u64) {
        self.cursor.position.line += 4 * count;
        self.cursor.position.byte += as_u64(size);
        self.cursor.line_start = self.cursor.position.byte;
        self.cursor.begun += count;
        self.completed += count;
    }
}

/// Returns the record at the beginning of a text if it has four complete lines and needs no
/// special treatment. Searches line ends first where those of the last record were.
#[inline(always)]
fn four_lines(text: &[u8], quality: Class, usual: (usize, usize)) -> Option<FourLines<'_>> {
    let behind = text.strip_prefix(b"@")?;
    let (header, end) = behind.split_at_checked(header_size(behind, usual.0)?)?;
    match end {
        [b'\n', ..] => rest_of::<1>(text, header, quality, usual.1),
        _ => rest_of::<2>(text, header, quality, usual.1),
    }
}

/// How long the header is that text begins with, if it is sound and all there.
#[inline(always)]
fn header_size(text: &[u8], usual: usize) -> Option<usize> {
    let is_usual = text.get(usual) == Some(&b'\n') && text.get(..usual).is_some_and(is_one_line);
    let size = if is_usual {
        usual
    } else {
        memchr3(b'\n', b'\r', 0, text)?
    };
    let header = text.get(..size)?;
    (text.get(size) != Some(&0) && has_id(header) && size < MAX_HEADER).then_some(size)
}

/// The same, with line ends of `END` bytes.
#[inline(always)]
fn rest_of<'a, const END: usize>(
    text: &'a [u8],
    header: &'a [u8],
    quality: Class,
    usual: usize,
) -> Option<FourLines<'a>> {
    let start = 1 + header.len() + END;
    let rest = text.get(start..)?;
    let size = match rest.get(usual + END - 1) {
        Some(b'\n') => usual,
        _ => memchr(b'\n', rest)?.checked_sub(END - 1)?,
    };
    let mut plus = size + END + 1;
    if !ends_line::<END>(rest, plus) {
        rest.get(plus..)?.strip_prefix(header)?;
        plus += header.len();
    }
    let qualities = plus + END;
    let end = qualities + size;
    let (letters, qualities) = (rest.get(..size)?, rest.get(qualities..end)?);
    let is_fine = ends_line::<END>(text, start - END)
        && ends_line::<END>(rest, end)
        && ends_line::<END>(rest, plus)
        && ends_line::<END>(rest, size)
        && rest.get(size + END) == Some(&b'+')
        && !matches!(letters.first(), None | Some(b'+' | b'@'))
        && Class::Letter.has_all(letters)
        && quality.has_all(qualities);
    if !is_fine {
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

/// Whether the line ends at this byte, with `END` bytes.
#[inline(always)]
fn ends_line<const END: usize>(text: &[u8], at: usize) -> bool {
    let is_carried = END == 1 || text.get(at) == Some(&b'\r');
    is_carried && text.get(at + END - 1) == Some(&b'\n')
}

#[vectorized]
fn take_whole<Into: RecordSink>(parser: &mut FastqParser, text: &[u8], sink: &mut Into) -> usize {
    parser.take_whole(text, sink)
}
