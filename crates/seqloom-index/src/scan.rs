//! Finds records in text that arrives in chunks.
//!
//! The scan only finds lines and their lengths. The parser, which reads the same text,
//! decides which bytes are residues and which are errors.

use memchr::memchr;
use xxhash_rust::xxh3::Xxh3;

use super::row::IndexRow;
use seqloom_compression::checksum::{hash_32, low_32_bits};
use seqloom_core::number::as_u64;
use seqloom_sequences::options::Format;

const UTF8_BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The state of a scan that finds where records begin.
pub(crate) struct RecordScan {
    format: Format,
    /// The offset of the next chunk.
    at: u64,
    stage: LineKind,
    line: CurrentLine,
    row: IndexRow,
    /// The number of qualities that were read.
    qualities: u64,
    is_open: bool,
    /// True if only empty lines or the end of the record may follow the current line.
    is_last: bool,
    /// The checksum of the bytes of the record in earlier chunks.
    early: Option<Box<Xxh3>>,
    /// The records that were found.
    pub(crate) rows: Vec<IndexRow>,
}

/// The kind of the current line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    /// A line before the first record, or after a complete FASTQ record.
    Between,
    Header,
    Letters,
    Plus,
    Qualities,
}

/// The beginning of the current line, as far as it was read.
#[derive(Clone, Copy, Default)]
struct CurrentLine {
    bytes: u64,
    /// The number of bytes up to the last non-blank byte.
    letters: u64,
}

impl RecordScan {
    /// Creates a scan of text from the offset `offset`, which is the beginning of a line.
    pub(crate) fn new(format: Format, at: u64) -> Self {
        Self {
            format,
            at,
            stage: LineKind::Between,
            line: CurrentLine::default(),
            row: IndexRow::default(),
            qualities: 0,
            is_open: false,
            is_last: false,
            early: None,
            rows: Vec::new(),
        }
    }

    /// Scans the next chunk, except records that begin at `stop` or later. Returns the number of
    /// bytes that were consumed.
    pub(crate) fn scan_chunk(&mut self, chunk: &[u8], stop: u64) -> usize {
        let mut rest = chunk;
        if self.at == 0 {
            rest = rest.strip_prefix(UTF8_BYTE_ORDER_MARK).unwrap_or(rest);
        }
        while let [first, ..] = rest {
            let used = chunk.len() - rest.len();
            if self.line.bytes == 0 && self.is_record_start(*first) {
                let here = self.at + as_u64(used);
                self.end_record(here, chunk.get(..used).unwrap_or_default());
                if here >= stop {
                    self.at = here;
                    return used;
                }
                self.begin_record(here);
            }
            rest = self.read_line(rest);
        }
        self.add_to_checksum(chunk);
        self.at += as_u64(chunk.len());
        chunk.len()
    }

    /// Completes the last record at the end of the text.
    pub(crate) fn finish_last_record(&mut self) {
        if self.line.bytes > 0 {
            self.end_line(0);
        }
        self.end_record(self.at, &[]);
    }

    /// Returns the offset of the next chunk.
    pub(crate) fn offset(&self) -> u64 {
        self.at
    }

    /// Returns whether a line that begins with `first` begins a record.
    fn is_record_start(&mut self, first: u8) -> bool {
        match self.format {
            Format::Fasta => first == b'>',
            Format::Fastq => {
                if self.stage == LineKind::Letters && first == b'+' {
                    self.stage = LineKind::Plus;
                }
                self.stage == LineKind::Between && first == b'@'
            }
        }
    }

    fn begin_record(&mut self, here: u64) {
        self.row = IndexRow {
            begin: here,
            ..IndexRow::default()
        };
        (self.qualities, self.is_open, self.is_last) = (0, true, false);
        self.stage = LineKind::Header;
    }

    /// Completes the record; `recent` ends with the bytes of the record in this chunk.
    fn end_record(&mut self, end: u64, recent: &[u8]) {
        if !self.is_open {
            return;
        }
        self.is_open = false;
        self.row.size = end - self.row.begin;
        self.row.sum = if let Some(mut early) = self.early.take() {
            early.update(recent);
            low_32_bits(early.digest())
        } else {
            let size = usize::try_from(self.row.size).unwrap_or(usize::MAX);
            let bytes_of_record = recent.get(recent.len().saturating_sub(size)..);
            hash_32(bytes_of_record.unwrap_or_default())
        };
        self.rows.push(self.row);
    }

    /// Adds the bytes of this chunk to the checksum of an incomplete record.
    fn add_to_checksum(&mut self, chunk: &[u8]) {
        if !self.is_open {
            return;
        }
        let begun = self.row.begin.saturating_sub(self.at);
        let part = chunk.get(usize::try_from(begun).unwrap_or(0)..);
        let early = self.early.get_or_insert_default();
        early.update(part.unwrap_or_default());
    }

    /// Reads the line up to its end or the end of the chunk; returns the remaining
    /// text.
    fn read_line<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let end = memchr(b'\n', rest);
        let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
        let letters = part.trim_ascii_end().len();
        if letters > 0 {
            self.line.letters = self.line.bytes + as_u64(letters);
        }
        self.line.bytes += as_u64(part.len());
        if end.is_some() {
            self.end_line(1);
        }
        behind.get(1..).unwrap_or_default()
    }

    fn end_line(&mut self, mark: u64) {
        let line = std::mem::take(&mut self.line);
        match self.stage {
            LineKind::Between => {}
            LineKind::Header => {
                self.row.header = u32::try_from(line.bytes + mark).unwrap_or(u32::MAX);
                self.stage = LineKind::Letters;
            }
            LineKind::Letters => self.add_line_layout(line, mark),
            LineKind::Plus => self.expect_qualities(),
            LineKind::Qualities => {
                self.qualities += line.letters;
                self.expect_qualities();
            }
        }
    }

    fn expect_qualities(&mut self) {
        let is_whole = self.qualities >= self.row.length;
        self.stage = if is_whole {
            LineKind::Between
        } else {
            LineKind::Qualities
        };
    }

    /// Updates the line layout of the record: all lines except the last must have equal lengths.
    fn add_line_layout(&mut self, line: CurrentLine, mark: u64) {
        let row = &mut self.row;
        let is_first = row.length == 0 && !self.is_last;
        row.length += line.letters;
        let bytes = line.bytes + mark.max(u64::from(is_first));
        if is_first {
            let both = u32::try_from(line.letters)
                .ok()
                .zip(u32::try_from(bytes).ok());
            let fits = both.filter(|_| line.letters > 0 && bytes - line.letters <= 2);
            (row.line_letters, row.line_bytes) = fits.unwrap_or((0, 0));
            self.is_last = fits.is_none();
            return;
        }
        let whole = u64::from(row.line_letters);
        let is_equal = line.letters == whole && bytes == u64::from(row.line_bytes);
        let end = u64::from(row.line_bytes) - whole;
        let is_short = line.letters <= whole && (mark == 0 || bytes - line.letters == end);
        if self.is_last && line.letters > 0 || !(is_equal || is_short || line.letters == 0) {
            (row.line_letters, row.line_bytes) = (0, 0);
        }
        self.is_last |= !is_equal;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan_in_chunks(format: Format, text: &[u8], chunk: usize) -> Vec<IndexRow> {
        let mut scan = RecordScan::new(format, 0);
        for chunk in text.chunks(chunk) {
            assert_eq!(scan.scan_chunk(chunk, u64::MAX), chunk.len());
        }
        scan.finish_last_record();
        scan.rows
    }

    fn row_layout(row: &IndexRow) -> (u64, u64, u64, u32, u32, u32) {
        let IndexRow {
            begin,
            size,
            length,
            header,
            line_letters,
            line_bytes,
            ..
        } = *row;
        (begin, size, length, header, line_letters, line_bytes)
    }

    #[test]
    fn fasta_records_are_found_for_any_chunk_size() {
        let text = b"\n>a x\nACGT\nACGT\nAC\n>b\r\nAC\r\nG\r\n\r\n>c\n>d\nA\n\nC\n>e\nACG";
        let expected = [
            (1, 18, 10, 5, 4, 5),
            (19, 13, 3, 4, 2, 4),
            (32, 3, 0, 3, 0, 0),
            (35, 8, 2, 3, 0, 0),
            (43, 6, 3, 3, 3, 4),
        ];
        let whole = scan_in_chunks(Format::Fasta, text, text.len());
        assert_eq!(whole.iter().map(row_layout).collect::<Vec<_>>(), expected);
        for chunk in 1..text.len() {
            assert_eq!(scan_in_chunks(Format::Fasta, text, chunk), whole, "{chunk}");
        }
        for row in whole {
            let end = usize::try_from(row.begin + row.size).unwrap();
            assert_eq!(
                row.sum,
                hash_32(&text[usize::try_from(row.begin).unwrap()..end])
            );
        }
    }

    #[test]
    fn a_line_of_qualities_may_begin_with_an_at_sign() {
        let text = b"@a\nAC\nGT\n+\n@@\n+>\n@b\n\n+\n\n@c\nA\n+c\n@";
        let expected = [
            (0, 17, 4, 3, 2, 3),
            (17, 7, 0, 3, 0, 0),
            (24, 9, 1, 3, 1, 2),
        ];
        for chunk in 1..=text.len() {
            let found = scan_in_chunks(Format::Fastq, text, chunk);
            assert_eq!(
                found.iter().map(row_layout).collect::<Vec<_>>(),
                expected,
                "{chunk}"
            );
        }
    }

    #[test]
    fn a_record_that_begins_after_the_stop_offset_is_not_read() {
        let mut scan = RecordScan::new(Format::Fasta, 0);
        assert_eq!(scan.scan_chunk(b">a\nAC\n>b\nG\n>c\n", 6), 6);
        assert_eq!((scan.offset(), scan.rows.len()), (6, 1));
    }
}
