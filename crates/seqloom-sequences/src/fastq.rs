//! A parser for FASTQ text that arrives in chunks of any size.
//!
//! ```text
//! @read1 lane 3            header: the id, then a description
//! ACGTAC                   residues, in one or more lines, up to a line that begins with '+'
//! +                        optionally the header again
//! IIIIHH                   a quality for each residue, in one or more lines
//! ```
//!
//! A quality character may be `@` or `+`. Therefore, a line that looks like a header
//! may contain qualities. A record ends when it has a quality for each residue. The
//! parser accepts and rejects the following input, for every compression and chunk
//! size:
//!
//! | input | result |
//! |---|---|
//! | lines that end in `\n` or `\r\n`, and a last line without a line end | accepted |
//! | empty lines and lines of blanks between records, a byte order mark | accepted and ignored |
//! | residues or qualities in several lines | accepted |
//! | a record without residues: an empty residue line, and at most one empty quality line | accepted |
//! | any other empty line inside a record | error |
//! | a header without an id (unless ids are numbered), or longer than 1 MiB | error |
//! | text before `@`, or between the qualities and the next `@` | error |
//! | a line of residues that begins with `@`, because the qualities of the previous record are missing | error |
//! | a `+` line with a different header | error |
//! | more or fewer qualities than residues | error |
//! | blanks between residues or qualities, a lone carriage return | error |
//! | control bytes, bytes that are not ASCII, qualities below the lowest valid byte | error |
//! | a record of more than `max_record` residues | error |

mod fast;
mod faults;

use seqloom_core::error::{Fault, FaultKind};

use crate::bytes::ByteClass;
use crate::cursor::{Cursor, InvalidBytes, MAX_HEADER_BYTES, first_line};
use crate::options::{Format, ReaderOptions};
use crate::sink::{Position, RecordSink};
use seqloom_core::number::as_u64;

/// A parser for FASTQ text in chunks.
#[derive(Debug)]
pub struct FastqParser {
    pub(crate) cursor: Cursor,
    state: FastqState,
    lowest_quality: u8,
    max_record: u64,
    /// The number of qualities that are still missing from the current record.
    missing: u64,
    /// The text of the `+` line that was read so far.
    plus_text: Vec<u8>,
    /// The position of the first empty line within the current residues or qualities,
    /// and the number of empty lines.
    empty_lines: (Position, u32),
    /// The position of a carriage return at the end of a chunk. The next chunk must
    /// begin with a line feed.
    carriage_return: Option<Position>,
    /// The lengths of the last header and the last sequence. The next record often has
    /// the same lengths.
    last_lengths: (usize, usize),
    completed: u64,
}

/// The kind of the line that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FastqState {
    /// The beginning of the text.
    Mark,
    /// A line between two records.
    Between,
    /// A line after an error, which is skipped.
    Lost,
    /// The beginning of a line after an error.
    Seek,
    Header,
    /// The beginning of a line of residues.
    Start,
    Letters,
    Plus,
    Quality,
}

impl FastqParser {
    /// Creates a parser at the beginning of a text.
    pub fn new(options: &ReaderOptions) -> Self {
        Self {
            cursor: Cursor::new(options.ids),
            state: FastqState::Mark,
            lowest_quality: options.quality.lowest_byte(),
            max_record: options.max_residues(Format::Fastq),
            missing: 0,
            plus_text: Vec::new(),
            empty_lines: (Position { line: 1, byte: 0 }, 0),
            carriage_return: None,
            last_lengths: (0, 0),
            completed: 0,
        }
    }

    /// Returns the number of complete records.
    pub fn record_count(&self) -> u64 {
        self.completed
    }

    /// Returns true if there is no incomplete record.
    pub fn is_between_records(&self) -> bool {
        matches!(
            self.state,
            FastqState::Mark | FastqState::Between | FastqState::Lost | FastqState::Seek
        )
    }

    /// Parses a chunk of text. Returns the number of bytes that were consumed: all
    /// bytes, or the bytes before the first record that does not fit in the sink.
    pub fn parse_chunk(&mut self, text: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        let mut rest = text;
        while let [first, ..] = rest {
            if self.state == FastqState::Between
                && self.is_record_start(*first)
                && self.carriage_return.is_none()
            {
                if sink.is_full() {
                    break;
                }
                let used = self.read_whole_records(rest, sink);
                rest = rest.get(used..).unwrap_or_default();
                if used > 0 {
                    continue;
                }
            }
            let used = self.read_part(rest, sink)?;
            rest = rest.get(used..).unwrap_or_default();
        }
        Ok(text.len() - rest.len())
    }

    /// Reads one byte, or the rest of a line up to the end of the chunk.
    fn read_part(&mut self, rest: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        let Some(&first) = rest.first() else {
            return Ok(0);
        };
        if let Some(position) = self.carriage_return.filter(|_| first != b'\n') {
            return Err(self.lone_carriage_return(position));
        }
        match (self.state, first) {
            (FastqState::Mark, first) => self.skip_mark_byte(first),
            (FastqState::Between, first) if self.is_record_start(first) => Ok(self.begin_record()),
            (FastqState::Seek, b'@') => Ok(self.begin_record()),
            (FastqState::Start, b'+') => self.begin_plus_line(),
            (FastqState::Start, b'@') => Err(self.missing_plus_line()),
            (FastqState::Lost | FastqState::Seek, _) => Ok(self.skip_line(rest)),
            (FastqState::Header, _) => self.read_header(rest, sink),
            (FastqState::Plus, _) => self.read_plus_line(rest, sink),
            _ => self.read_line(rest, sink),
        }
    }

    /// Reads a line between records, or a line of residues or qualities.
    fn read_line(&mut self, rest: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        let (raw, ends) = first_line(rest);
        let bare = raw.strip_suffix(b"\r").unwrap_or(raw);
        match self.state {
            FastqState::Between => self.check_blank_line(bare),
            FastqState::Quality => self.add_qualities(bare, sink),
            _ => self.add_residues(bare, sink),
        }?;
        if bare.len() < raw.len() {
            self.carriage_return = Some(self.cursor.after(bare.len()));
        }
        self.cursor.position = self.cursor.after(raw.len());
        if ends {
            self.end_line(sink);
        }
        Ok(raw.len() + usize::from(ends))
    }

    fn end_line(&mut self, sink: &mut impl RecordSink) {
        let size = self.cursor.position.byte - self.cursor.line_start;
        if size == u64::from(self.carriage_return.is_some()) {
            self.count_empty_line();
        }
        self.cursor.end_line();
        self.carriage_return = None;
        match self.state {
            FastqState::Quality if self.missing == 0 => self.complete_record(sink),
            FastqState::Letters => self.state = FastqState::Start,
            _ => {}
        }
    }

    fn complete_record(&mut self, sink: &mut impl RecordSink) {
        sink.end_record();
        self.completed += 1;
        self.state = FastqState::Between;
    }

    fn skip_mark_byte(&mut self, first: u8) -> Result<usize, Fault> {
        let is_mark = self.cursor.skip_mark_byte(first)?;
        if !is_mark {
            self.state = FastqState::Between;
        }
        Ok(usize::from(is_mark))
    }

    fn begin_record(&mut self) -> usize {
        self.cursor.begin_record();
        self.cursor.position.byte += 1;
        self.state = FastqState::Header;
        1
    }

    /// Begins the `+` line, which must follow residues or exactly one empty line.
    fn begin_plus_line(&mut self) -> Result<usize, Fault> {
        match (self.cursor.length, self.empty_lines.1) {
            (0, 0) => return Err(self.missing_residues()),
            (0, 1) | (1.., 0) => {}
            _ => return Err(self.empty_line_fault()),
        }
        self.plus_text.clear();
        self.cursor.position.byte += 1;
        self.state = FastqState::Plus;
        Ok(1)
    }

    fn count_empty_line(&mut self) {
        if self.empty_lines.1 == 0 {
            self.empty_lines.0 = self.cursor.position;
            self.empty_lines.0.byte = self.cursor.line_start;
        }
        self.empty_lines.1 += 1;
    }

    fn read_header(&mut self, rest: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        let (chunk, ends) = first_line(rest);
        self.cursor.append_header(chunk)?;
        if ends {
            self.cursor.end_header('@')?;
            sink.begin_record(&self.cursor.header);
            self.check_memory(sink)?;
            self.cursor.end_line();
            self.empty_lines.1 = 0;
            self.state = FastqState::Start;
        }
        Ok(chunk.len() + usize::from(ends))
    }

    fn read_plus_line(&mut self, rest: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        let (chunk, ends) = first_line(rest);
        // The rest of a longer `+` line is not stored, because such a line cannot equal
        // the header.
        let limit = (MAX_HEADER_BYTES + 2).saturating_sub(self.plus_text.len());
        let (stored, _) = chunk.split_at(chunk.len().min(limit));
        if self.plus_text.try_reserve(stored.len()).is_err() {
            return Err(self.cursor.out_of_memory_fault());
        }
        self.plus_text.extend_from_slice(stored);
        self.cursor.position = self.cursor.after(chunk.len());
        if ends {
            self.check_plus_text()?;
            self.end_plus_line(sink);
        }
        Ok(chunk.len() + usize::from(ends))
    }

    fn check_plus_text(&self) -> Result<(), Fault> {
        let text = self.plus_text.trim_ascii_end();
        if text.is_empty() || text == self.cursor.header.trim_ascii_end() {
            return Ok(());
        }
        let byte = self.cursor.line_start;
        let position = Position {
            byte,
            ..self.cursor.position
        };
        let shown: String = String::from_utf8_lossy(text).chars().take(60).collect();
        let message = format!("expected '+' alone or with the header, found {shown:?} after it");
        Err(self.cursor.fault(FaultKind::Names, position, message))
    }

    fn end_plus_line(&mut self, sink: &mut impl RecordSink) {
        self.cursor.end_line();
        self.missing = self.cursor.length;
        self.empty_lines.1 = 0;
        self.state = FastqState::Quality;
        if self.missing == 0 {
            self.complete_record(sink);
        }
    }

    /// Returns true if a byte is a `@` at the start of a line, where a record may
    /// begin.
    #[inline]
    fn is_record_start(&self, first: u8) -> bool {
        first == b'@' && self.cursor.position.byte == self.cursor.line_start
    }

    /// Checks that a line between records contains only blanks.
    fn check_blank_line(&self, bytes: &[u8]) -> Result<(), Fault> {
        let mut bytes = bytes.iter().enumerate();
        let Some((at, &found)) = bytes.find(|(_, byte)| !matches!(byte, b' ' | b'\t')) else {
            return Ok(());
        };
        let position = self.cursor.after(at);
        let is_first = position.byte == self.cursor.line_start;
        let (position, byte) = if is_first || found != b'@' {
            (position, found)
        } else {
            let byte = self.cursor.line_start;
            (Position { byte, ..position }, b' ')
        };
        Err(self.invalid_bytes(InvalidBytes::Byte(position, byte)))
    }

    fn add_residues(&mut self, residues: &[u8], sink: &mut impl RecordSink) -> Result<(), Fault> {
        if residues.is_empty() {
            return Ok(());
        }
        if self.empty_lines.1 > 0 {
            return Err(self.empty_line_fault());
        }
        let limit = self.max_record - self.cursor.length;
        let checked = self.cursor.check_bytes(residues, ByteClass::Letter, limit);
        checked.map_err(|invalid| self.invalid_bytes(invalid))?;
        self.state = FastqState::Letters;
        sink.add_residues(residues, self.cursor.position);
        self.cursor.length += as_u64(residues.len());
        self.check_memory(sink)
    }

    fn add_qualities(&mut self, qualities: &[u8], sink: &mut impl RecordSink) -> Result<(), Fault> {
        if self.empty_lines.1 > 0 && !qualities.is_empty() {
            return Err(self.empty_line_fault());
        }
        let checked = self.cursor.check_bytes(
            qualities,
            ByteClass::Quality(self.lowest_quality),
            self.missing,
        );
        checked.map_err(|invalid| self.invalid_bytes(invalid))?;
        self.missing -= as_u64(qualities.len());
        sink.add_qualities(qualities);
        self.check_memory(sink)
    }

    fn check_memory(&self, sink: &impl RecordSink) -> Result<(), Fault> {
        if sink.is_out_of_memory() {
            return Err(self.cursor.out_of_memory_fault());
        }
        Ok(())
    }

    /// Completes the last record at the end of the text.
    pub fn finish_text(&mut self, sink: &mut impl RecordSink) -> Result<(), Fault> {
        if self.state == FastqState::Header {
            self.cursor.check_header_bytes()?;
        }
        let is_whole = match self.state {
            FastqState::Quality => self.missing == 0,
            FastqState::Plus => self.cursor.length == 0 && self.check_plus_text().is_ok(),
            FastqState::Header | FastqState::Start | FastqState::Letters => false,
            _ => return self.finish_between_records(),
        };
        if !is_whole {
            return Err(self.truncated_record());
        }
        self.complete_record(sink);
        Ok(())
    }

    fn finish_between_records(&self) -> Result<(), Fault> {
        if self.cursor.begun == 0 && matches!(self.state, FastqState::Mark | FastqState::Between) {
            let message = "expected FASTQ, found no record: the text is blank";
            return Err(Fault::of_file(message));
        }
        Ok(())
    }
}

/// Methods to continue after an invalid record.
impl FastqParser {
    /// Skips the text up to the next record.
    pub(crate) fn seek_record(&mut self) {
        let at_start = self.cursor.position.byte == self.cursor.line_start;
        self.state = if at_start {
            FastqState::Seek
        } else {
            FastqState::Lost
        };
        self.carriage_return = None;
    }

    /// Skips a line after an error, up to the end of the line or chunk.
    fn skip_line(&mut self, rest: &[u8]) -> usize {
        let (chunk, ends) = first_line(rest);
        self.state = FastqState::Lost;
        self.cursor.position = self.cursor.after(chunk.len());
        if ends {
            self.cursor.end_line();
            self.state = FastqState::Seek;
        }
        chunk.len() + usize::from(ends)
    }
}

#[cfg(test)]
mod tests;
