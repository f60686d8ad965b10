//! A parser for FASTA text that arrives in chunks of any size.
//!
//! The parser accepts and rejects the following input, for every compression and chunk
//! size:
//!
//! | input | result |
//! |---|---|
//! | lines that end in `\n` or `\r\n`, and a last line without a line end | accepted |
//! | blank lines, blanks at the end of a line, a byte order mark | accepted and ignored |
//! | a header without residues | accepted as a record of length 0 |
//! | a header that is not UTF-8 | accepted unchanged |
//! | a header without an id (unless ids are numbered), or longer than 1 MiB | error |
//! | text before the first `>`, a `>` within a line of residues | error |
//! | blanks within or before residues | error, or removed with [`Whitespace::Strip`] |
//! | a line that begins with `;` or `#` | error, or skipped with [`Comments::Skip`] |
//! | a lone carriage return | error |
//! | NUL, other control bytes, bytes that are not ASCII | error |
//! | a record of more than `max_record` residues, if `max_record` is set | error |

mod fast;

use seqloom_core::error::{Fault, FaultKind};

use crate::bytes::{ByteClass, describe_byte};
use crate::cursor::{Cursor, InvalidBytes, first_line};
use crate::options::{Comments, Format, ReaderOptions, Whitespace};
pub use crate::sink::{Position, RecordSink};
use seqloom_core::number::as_u64;

/// A parser for FASTA text in chunks.
#[derive(Debug)]
pub struct FastaParser {
    pub(crate) cursor: Cursor,
    state: FastaState,
    /// True if the parser has read the header of a record that is not complete yet.
    is_open: bool,
    comments: Comments,
    whitespace: Whitespace,
    max_record: u64,
    /// The first blank of the current line. A blank is an error if a residue follows.
    blank: Option<(Position, u8)>,
    /// The length that most lines have. The parser first looks for a line end after
    /// this number of characters.
    common_length: usize,
    /// True if the length of the last line was not the common length.
    last_differed: bool,
    /// The number of complete records.
    completed: u64,
}

/// The kind of the line that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FastaState {
    /// The beginning of the text, where a byte order mark is allowed.
    Mark,
    /// The beginning of a line.
    Start,
    Header,
    Letters,
    /// A comment line.
    Comment,
    /// A line after an error, which is skipped.
    Lost,
    /// The beginning of a line after an error. Only `>` begins a record.
    Seek,
}

impl Default for FastaParser {
    fn default() -> Self {
        Self::new(&ReaderOptions::default())
    }
}

impl FastaParser {
    /// Creates a parser at the beginning of a text.
    pub fn new(options: &ReaderOptions) -> Self {
        Self {
            cursor: Cursor::new(options.ids),
            state: FastaState::Mark,
            is_open: false,
            comments: options.comments,
            whitespace: options.whitespace,
            max_record: options.max_residues(Format::Fasta),
            blank: None,
            common_length: 0,
            last_differed: true,
            completed: 0,
        }
    }

    /// Returns the number of complete records.
    pub fn record_count(&self) -> u64 {
        self.completed
    }

    /// Parses a chunk of text. Returns the number of bytes that were consumed: all
    /// bytes, or the bytes before the first record that does not fit in the sink.
    pub fn parse_chunk(&mut self, text: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        let mut rest = text;
        while let [first, ..] = rest {
            if self.state == FastaState::Start {
                let used = self.read_whole_lines(rest, sink);
                rest = rest.get(used..).unwrap_or_default();
                self.check_memory(sink)?;
                if used > 0 {
                    continue;
                }
            }
            if matches!(self.state, FastaState::Start | FastaState::Seek) && *first == b'>' {
                self.end_record(sink);
                if sink.is_full() {
                    break;
                }
            }
            let used = self.read_part(rest, sink)?;
            rest = rest.get(used..).unwrap_or_default();
        }
        Ok(text.len() - rest.len())
    }

    /// Reads one byte, or the rest of a line up to the end of the chunk. Returns the
    /// number of bytes that were read.
    fn read_part(&mut self, rest: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        let Some(&first) = rest.first() else {
            return Ok(0);
        };
        match (self.state, first) {
            (FastaState::Mark, first) => self.skip_mark_byte(first),
            (FastaState::Start | FastaState::Seek, b'>') => Ok(self.begin_record()),
            (FastaState::Start, b';' | b'#') => self.begin_comment(first),
            (FastaState::Header, _) => self.read_header(rest, sink),
            (FastaState::Start | FastaState::Letters, _) => self.read_residues(rest, sink),
            (state, _) => Ok(self.skip_line(rest, state)),
        }
    }

    /// Completes the last record at the end of the text.
    pub fn finish_text(&mut self, sink: &mut impl RecordSink) -> Result<(), Fault> {
        if self.state == FastaState::Header {
            self.end_header(sink)?;
        }
        self.end_record(sink);
        let is_lost = matches!(self.state, FastaState::Lost | FastaState::Seek);
        if self.cursor.begun == 0 && !is_lost {
            return Err(Fault::of_file(
                "expected FASTA, found no sequence: the text is blank",
            ));
        }
        Ok(())
    }

    /// Skips a byte if it belongs to the byte order mark.
    fn skip_mark_byte(&mut self, first: u8) -> Result<usize, Fault> {
        let is_mark = self.cursor.skip_mark_byte(first)?;
        if !is_mark {
            self.state = FastaState::Start;
        }
        Ok(usize::from(is_mark))
    }

    /// Reads the `>` of a header.
    fn begin_record(&mut self) -> usize {
        self.cursor.begin_record();
        self.cursor.position.byte += 1;
        self.state = FastaState::Header;
        1
    }

    /// Completes the current record, if there is one.
    fn end_record(&mut self, sink: &mut impl RecordSink) {
        if self.is_open {
            sink.end_record();
            self.completed += 1;
        }
        self.is_open = false;
    }

    /// Reads a header up to the end of the line or chunk.
    fn read_header(&mut self, rest: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        let (chunk, ends) = first_line(rest);
        self.cursor.append_header(chunk)?;
        if ends {
            self.end_header(sink)?;
            self.end_line();
        }
        Ok(chunk.len() + usize::from(ends))
    }

    /// Checks a complete header, and begins a record in the sink.
    fn end_header(&mut self, sink: &mut impl RecordSink) -> Result<(), Fault> {
        self.cursor.end_header('>')?;
        sink.begin_record(&self.cursor.header);
        self.is_open = true;
        self.state = FastaState::Start;
        self.check_memory(sink)
    }

    /// Reads residues up to the end of the line or chunk.
    fn read_residues(&mut self, rest: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        self.state = FastaState::Letters;
        let (chunk, ends) = first_line(rest);
        let (letters, blanks) = chunk.split_at(chunk.trim_ascii_end().len());
        if self.blank.is_none() && self.is_open && ByteClass::Letter.has_all(letters) {
            self.store_residues(letters, sink)?;
            self.skip_blanks(blanks);
        } else {
            self.read_words(chunk, sink)?;
        }
        if ends {
            self.end_line();
        }
        Ok(chunk.len() + usize::from(ends))
    }

    /// Reads a line word by word. Only lines that contain blanks or invalid bytes are
    /// read word by word.
    fn read_words(&mut self, mut chunk: &[u8], sink: &mut impl RecordSink) -> Result<(), Fault> {
        while !chunk.is_empty() {
            let begin = chunk.len() - chunk.trim_ascii_start().len();
            let (blanks, rest_of_line) = chunk.split_at(begin);
            self.skip_blanks(blanks);
            let end = rest_of_line.iter().position(u8::is_ascii_whitespace);
            let (word, rest) = rest_of_line.split_at(end.unwrap_or(rest_of_line.len()));
            self.read_word(word, sink)?;
            chunk = rest;
        }
        Ok(())
    }

    /// Skips blanks. If no residue may follow, the position of the first blank is
    /// stored.
    fn skip_blanks(&mut self, blanks: &[u8]) {
        let is_fault = |byte: u8| byte == b'\r' || self.whitespace == Whitespace::Error;
        let mut faults = blanks
            .iter()
            .enumerate()
            .filter(|(_, byte)| is_fault(**byte));
        if let (None, Some((at, byte))) = (self.blank, faults.next()) {
            self.blank = Some((self.cursor.after(at), *byte));
        }
        self.cursor.position = self.cursor.after(blanks.len());
    }

    /// Checks that a word contains only residues and is allowed at this position, and
    /// passes the word to the sink.
    fn read_word(&mut self, letters: &[u8], sink: &mut impl RecordSink) -> Result<(), Fault> {
        let Some(&first) = letters.first() else {
            return Ok(());
        };
        if let Some((position, found)) = self.blank {
            return Err(self.invalid_byte_fault(position, found));
        }
        if !self.is_open {
            return Err(self.invalid_byte_fault(self.cursor.position, first));
        }
        let limit = self.max_record - self.cursor.length;
        if let Err(InvalidBytes::Byte(position, byte)) =
            self.cursor.check_bytes(letters, ByteClass::Letter, limit)
        {
            return Err(self.invalid_byte_fault(position, byte));
        }
        self.store_residues(letters, sink)
    }

    /// Passes residues to the sink, or returns an error if the record has too many
    /// residues.
    fn store_residues(&mut self, letters: &[u8], sink: &mut impl RecordSink) -> Result<(), Fault> {
        let limit = self.max_record - self.cursor.length;
        if as_u64(letters.len()) > limit {
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            return Err(self
                .cursor
                .long_record_fault(self.cursor.after(limit), self.max_record));
        }
        sink.add_residues(letters, self.cursor.position);
        self.cursor.length += as_u64(letters.len());
        self.cursor.position = self.cursor.after(letters.len());
        self.check_memory(sink)
    }

    /// Reads the end of a line.
    fn end_line(&mut self) {
        self.cursor.end_line();
        self.state = FastaState::Start;
        self.blank = None;
    }

    fn check_memory(&self, sink: &impl RecordSink) -> Result<(), Fault> {
        if sink.is_out_of_memory() {
            return Err(self.cursor.out_of_memory_fault());
        }
        Ok(())
    }

    /// Returns the error for an invalid byte.
    fn invalid_byte_fault(&self, position: Position, byte: u8) -> Fault {
        if !self.is_open {
            let message = format!("expected '>' and an id, found {}", describe_byte(byte));
            return self.cursor.fault(FaultKind::Header, position, message);
        }
        let hint = if matches!(byte, b' ' | b'\t') {
            let column = position.byte - self.cursor.line_start + 1;
            format!(" in column {column}; whitespace=\"strip\" (--whitespace strip) removes blanks")
        } else {
            String::new()
        };
        let message = format!("expected a residue, found {}{hint}", describe_byte(byte));
        self.cursor.fault(FaultKind::Letter, position, message)
    }

    fn begin_comment(&mut self, first: u8) -> Result<usize, Fault> {
        if self.comments == Comments::Skip {
            self.state = FastaState::Comment;
            return Ok(0);
        }
        let expected = if self.is_open {
            "a residue"
        } else {
            "'>' and an id"
        };
        let message = format!(
            "expected {expected}, found {}; comments=\"skip\" (--comments skip) skips lines that \
             begin with it",
            describe_byte(first)
        );
        Err(self
            .cursor
            .fault(FaultKind::Comment, self.cursor.position, message))
    }
}

/// Methods to continue after an invalid record.
impl FastaParser {
    /// Skips the text up to the next record.
    pub(crate) fn seek_record(&mut self) {
        let at_start = self.cursor.position.byte == self.cursor.line_start;
        // A record can begin only at the start of a line, so the rest of any other line
        // is skipped.
        self.state = if at_start {
            FastaState::Seek
        } else {
            FastaState::Lost
        };
        self.is_open = false;
        self.blank = None;
    }

    /// Skips a comment or a line after an error, up to the end of the line or chunk.
    fn skip_line(&mut self, rest: &[u8], state: FastaState) -> usize {
        let (chunk, ends) = first_line(rest);
        self.cursor.position = self.cursor.after(chunk.len());
        self.state = match state {
            FastaState::Comment => FastaState::Comment,
            _ => FastaState::Lost,
        };
        if ends {
            self.end_line();
            self.state = match state {
                FastaState::Comment => FastaState::Start,
                _ => FastaState::Seek,
            };
        }
        chunk.len() + usize::from(ends)
    }
}

#[cfg(test)]
mod tests;
