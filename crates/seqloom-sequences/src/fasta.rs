//! Parses FASTA: records from text that comes in pieces of any size.
//!
//! What is taken and what is an error, the same for every container and every size of the pieces:
//!
//! | input | result |
//! |---|---|
//! | lines that end in `\n` or `\r\n`, a last line without an end | taken |
//! | blank lines anywhere, blanks at a line's end, a byte order mark | taken, left out |
//! | a header without letters | taken: a record of length 0 |
//! | a header that is not UTF-8 | taken as it is |
//! | a header without a word, unless ids are numbered, or longer than 1 MiB | error |
//! | text before the first `>`, a `>` within a line of letters | error |
//! | blanks within or before letters | error, or left out where the options say so |
//! | a line that begins with `;` or `#` | error, or left out where the options say so |
//! | a lone carriage return | error |
//! | NUL and other control bytes, bytes that are not ASCII | error |
//! | a record of more than `max_record` letters, if that is set | error |

mod fast;

use seqloom_core::error::{Fault, Kind};

use crate::bytes::{Class, name};
use crate::cursor::{Cursor, Misfit, line};
use crate::options::{Comments, Format, ReaderOptions, Whitespace};
pub use crate::sink::{Position, RecordSink};
use seqloom_core::number::as_u64;

/// A parser of FASTA, which reads text in pieces.
#[derive(Debug)]
pub struct FastaParser {
    pub(crate) cursor: Cursor,
    within: FastaState,
    /// Whether a header was read whose record is not complete.
    is_open: bool,
    comments: Comments,
    whitespace: Whitespace,
    max_record: u64,
    /// A blank of this line that is an error if a letter follows; the first one.
    blank: Option<(Position, u8)>,
    /// The length of most lines, where the end of the next one is searched first.
    usual_length: usize,
    /// Whether the last line had another length than that.
    differed: bool,
    /// How many records are complete.
    completed: u64,
}

/// What kind of line the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FastaState {
    /// The beginning of the text, where a byte order mark may stand.
    Mark,
    /// The beginning of a line.
    Start,
    Header,
    Letters,
    /// A comment.
    Comment,
    /// A line that is skipped after a fault, up to the next record.
    Lost,
    /// The beginning of a line after a fault; only `>` begins something there.
    Seek,
}

impl Default for FastaParser {
    fn default() -> Self {
        Self::new(&ReaderOptions::default())
    }
}

impl FastaParser {
    /// A parser at the beginning of a text.
    pub fn new(options: &ReaderOptions) -> Self {
        Self {
            cursor: Cursor::new(options.ids),
            within: FastaState::Mark,
            is_open: false,
            comments: options.comments,
            whitespace: options.whitespace,
            max_record: options.limit(Format::Fasta),
            blank: None,
            usual_length: 0,
            differed: true,
            completed: 0,
        }
    }

    /// How many records are complete.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// Reads one piece of text. Says how much of it was used: all, or what
    /// stands before the record with which the sink would be too full.
    pub fn feed(&mut self, text: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        let mut rest = text;
        while let [first, ..] = rest {
            if self.within == FastaState::Start {
                let used = self.whole_lines(rest, sink);
                rest = rest.get(used..).unwrap_or_default();
                self.check_memory(sink)?;
                if used > 0 {
                    continue;
                }
            }
            if matches!(self.within, FastaState::Start | FastaState::Seek) && *first == b'>' {
                self.end_record(sink);
                if sink.is_full() {
                    break;
                }
            }
            let used = self.take_piece(rest, sink)?;
            rest = rest.get(used..).unwrap_or_default();
        }
        Ok(text.len() - rest.len())
    }

    /// Takes one byte or one line, or as much of the line as the text has; returns its size.
    fn take_piece(&mut self, rest: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        let Some(&first) = rest.first() else {
            return Ok(0);
        };
        match (self.within, first) {
            (FastaState::Mark, first) => self.take_mark(first),
            (FastaState::Start | FastaState::Seek, b'>') => Ok(self.begin_record()),
            (FastaState::Start, b';' | b'#') => self.begin_comment(first),
            (FastaState::Header, _) => self.take_header(rest, sink),
            (FastaState::Start | FastaState::Letters, _) => self.take_letters(rest, sink),
            (within, _) => Ok(self.skip_line(rest, within)),
        }
    }

    /// Says that no text follows.
    pub fn finish(&mut self, sink: &mut impl RecordSink) -> Result<(), Fault> {
        if self.within == FastaState::Header {
            self.end_header(sink)?;
        }
        self.end_record(sink);
        let is_lost = matches!(self.within, FastaState::Lost | FastaState::Seek);
        if self.cursor.begun == 0 && !is_lost {
            return Err(Fault::whole(
                "expected FASTA, found no sequence: the text is blank",
            ));
        }
        Ok(())
    }

    /// Takes a byte of the byte order mark, if this is one.
    fn take_mark(&mut self, first: u8) -> Result<usize, Fault> {
        let is_mark = self.cursor.take_mark(first)?;
        if !is_mark {
            self.within = FastaState::Start;
        }
        Ok(usize::from(is_mark))
    }

    /// Takes the `>` of a header.
    fn begin_record(&mut self) -> usize {
        self.cursor.open();
        self.cursor.position.byte += 1;
        self.within = FastaState::Header;
        1
    }

    /// Ends the record that was begun, if there is one.
    fn end_record(&mut self, sink: &mut impl RecordSink) {
        if self.is_open {
            sink.end();
            self.completed += 1;
        }
        self.is_open = false;
    }

    /// Takes the header up to the line's end, or as far as the piece goes.
    fn take_header(&mut self, rest: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        let (piece, ends) = line(rest);
        self.cursor.push_header(piece)?;
        if ends {
            self.end_header(sink)?;
            self.end_line();
        }
        Ok(piece.len() + usize::from(ends))
    }

    /// Checks the header, all of which was taken, and begins its record in the sink.
    fn end_header(&mut self, sink: &mut impl RecordSink) -> Result<(), Fault> {
        self.cursor.end_header('>')?;
        sink.begin(&self.cursor.header);
        self.is_open = true;
        self.within = FastaState::Start;
        self.check_memory(sink)
    }

    /// Takes letters up to the line's end, or as far as the piece goes.
    fn take_letters(&mut self, rest: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        self.within = FastaState::Letters;
        let (piece, ends) = line(rest);
        let (letters, blanks) = piece.split_at(piece.trim_ascii_end().len());
        if self.blank.is_none() && self.is_open && Class::Letter.has_all(letters) {
            self.store(letters, sink)?;
            self.skip_blanks(blanks);
        } else {
            self.take_words(piece, sink)?;
        }
        if ends {
            self.end_line();
        }
        Ok(piece.len() + usize::from(ends))
    }

    /// Takes a line word by word: it has blanks or other bytes that are not letters.
    fn take_words(&mut self, mut piece: &[u8], sink: &mut impl RecordSink) -> Result<(), Fault> {
        while !piece.is_empty() {
            let begin = piece.len() - piece.trim_ascii_start().len();
            let (blanks, behind) = piece.split_at(begin);
            self.skip_blanks(blanks);
            let end = behind.iter().position(u8::is_ascii_whitespace);
            let (word, rest) = behind.split_at(end.unwrap_or(behind.len()));
            self.take_word(word, sink)?;
            piece = rest;
        }
        Ok(())
    }

    /// Skips blanks, and remembers the first that no letter may follow.
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

    /// Takes a word, after a check that it may stand here and has letters only.
    fn take_word(&mut self, letters: &[u8], sink: &mut impl RecordSink) -> Result<(), Fault> {
        let Some(&first) = letters.first() else {
            return Ok(());
        };
        if let Some((position, found)) = self.blank {
            return Err(self.misfit(position, found));
        }
        if !self.is_open {
            return Err(self.misfit(self.cursor.position, first));
        }
        let limit = self.max_record - self.cursor.length;
        if let Err(Misfit::Byte(position, byte)) = self.cursor.admit(letters, Class::Letter, limit)
        {
            return Err(self.misfit(position, byte));
        }
        self.store(letters, sink)
    }

    /// Gives letters to the sink, unless the record gets too long.
    fn store(&mut self, letters: &[u8], sink: &mut impl RecordSink) -> Result<(), Fault> {
        let limit = self.max_record - self.cursor.length;
        if as_u64(letters.len()) > limit {
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            return Err(self
                .cursor
                .too_long(self.cursor.after(limit), self.max_record));
        }
        sink.letters(letters, self.cursor.position);
        self.cursor.length += as_u64(letters.len());
        self.cursor.position = self.cursor.after(letters.len());
        self.check_memory(sink)
    }

    /// Takes the end of a line.
    fn end_line(&mut self) {
        self.cursor.end_line();
        self.within = FastaState::Start;
        self.blank = None;
    }

    fn check_memory(&self, sink: &impl RecordSink) -> Result<(), Fault> {
        if sink.is_exhausted() {
            return Err(self.cursor.no_memory());
        }
        Ok(())
    }

    /// A byte that may not stand where it does.
    fn misfit(&self, position: Position, byte: u8) -> Fault {
        if !self.is_open {
            let message = format!("expected '>' and an id, found {}", name(byte));
            return self.cursor.fault(Kind::Header, position, message);
        }
        let hint = if matches!(byte, b' ' | b'\t') {
            let column = position.byte - self.cursor.line_start + 1;
            format!(
                " in column {column}; whitespace=\"strip\" (--whitespace strip) leaves blanks out"
            )
        } else {
            String::new()
        };
        let message = format!("expected a letter, found {}{hint}", name(byte));
        self.cursor.fault(Kind::Letter, position, message)
    }

    fn begin_comment(&mut self, first: u8) -> Result<usize, Fault> {
        if self.comments == Comments::Skip {
            self.within = FastaState::Comment;
            return Ok(0);
        }
        let expected = if self.is_open {
            "a letter"
        } else {
            "'>' and an id"
        };
        let message = format!(
            "expected {expected}, found {}; comments=\"skip\" (--comments skip) leaves out lines that \
             begin so",
            name(first)
        );
        Err(self
            .cursor
            .fault(Kind::Comment, self.cursor.position, message))
    }
}

/// How the parser goes on after a fault.
impl FastaParser {
    /// Looks for the next record from where the parser stands.
    pub(crate) fn seek(&mut self) {
        let at_start = self.cursor.position.byte == self.cursor.line_start;
        // At the start of a line a record may begin; else the rest of the line is skipped.
        self.within = if at_start {
            FastaState::Seek
        } else {
            FastaState::Lost
        };
        self.is_open = false;
        self.blank = None;
    }

    /// Skips a line, or as much of it as there is: a comment, or text after a fault.
    fn skip_line(&mut self, rest: &[u8], within: FastaState) -> usize {
        let (piece, ends) = line(rest);
        self.cursor.position = self.cursor.after(piece.len());
        self.within = match within {
            FastaState::Comment => FastaState::Comment,
            _ => FastaState::Lost,
        };
        if ends {
            self.end_line();
            self.within = match within {
                FastaState::Comment => FastaState::Start,
                _ => FastaState::Seek,
            };
        }
        piece.len() + usize::from(ends)
    }
}

#[cfg(test)]
mod tests;
