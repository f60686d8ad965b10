//! FASTQ text to records, fed piece by piece.
//!
//! ```text
//! @read1 lane 3            header: the id, then a description
//! ACGTAC                   letters, in one line or several, up to a line of '+'
//! +                        nothing, or the header again
//! IIIIHH                   a quality for each letter, in one line or several
//! ```
//!
//! A quality may be `@` or `+`, so a record ends where it has as many
//! qualities as letters, never where a line looks like a header. The results,
//! the same for every container and every size of the pieces:
//!
//! | input | verdict |
//! |---|---|
//! | lines that end in `\n` or `\r\n`, a last line without an end | taken |
//! | blank lines between records (blanks may stand in them), a byte order mark | taken, left out |
//! | letters or qualities in several lines | taken |
//! | a record without letters: a blank line of them, and one or none of qualities | taken |
//! | any other blank line inside a record | error |
//! | a header without a word, unless ids are numbered, or longer than 1 MiB | error |
//! | text before `@`, or between the qualities and the next `@` | error |
//! | a line of letters that begins with `@`: qualities are missing | error |
//! | a line of `+` that names another record | error |
//! | more or fewer qualities than letters | error |
//! | blanks among letters or qualities, a lone carriage return | error |
//! | control bytes, bytes that are not ASCII, qualities below the lowest | error |
//! | a record of more than `max_record` letters | error |

mod fast;
mod faults;

use seqloom_core::error::{Fault, Kind};

use crate::bytes::Class;
use crate::cursor::{Cursor, MAX_HEADER, Misfit, line};
use crate::options::{Format, ReaderOptions};
use crate::sink::{Position, RecordSink};
use seqloom_core::number::as_u64;

/// Where in FASTQ text the next piece goes on.
#[derive(Debug)]
pub struct FastqParser {
    pub(crate) cursor: Cursor,
    within: FastqState,
    lowest: u8,
    max_record: u64,
    /// How many qualities the current record still needs.
    missing: u64,
    /// What the line of `+` says so far.
    again: Vec<u8>,
    /// The first empty line of these letters or qualities, and how many there were.
    empty: (Position, u32),
    /// A carriage return that ended a piece: the line must end behind it.
    carriage: Option<Position>,
    /// How long the last header and sequence were, as the next may be too.
    usual: (usize, usize),
    completed: u64,
}

/// What kind of line the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FastqState {
    /// The beginning of the text.
    Mark,
    /// Between two records.
    Between,
    /// A line that is left out, after a fault.
    Lost,
    /// The beginning of a line, after a fault.
    Seek,
    Header,
    /// The beginning of a line of letters.
    Start,
    Letters,
    Plus,
    Quality,
}

impl FastqParser {
    /// A parser at the beginning of a text.
    pub fn new(options: &ReaderOptions) -> Self {
        Self {
            cursor: Cursor::new(options.ids),
            within: FastqState::Mark,
            lowest: options.quality.lowest(),
            max_record: options.limit(Format::Fastq),
            missing: 0,
            again: Vec::new(),
            empty: (Position { line: 1, byte: 0 }, 0),
            carriage: None,
            usual: (0, 0),
            completed: 0,
        }
    }

    /// How many records are complete.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// Whether no record is begun and not complete.
    pub fn is_between(&self) -> bool {
        matches!(
            self.within,
            FastqState::Mark | FastqState::Between | FastqState::Lost | FastqState::Seek
        )
    }

    /// Reads one piece of text. Says how much of it was used: all, or what
    /// stands before the record with which the sink would be too full.
    pub fn feed(&mut self, text: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        let mut rest = text;
        while let [first, ..] = rest {
            if self.within == FastqState::Between && self.begins(*first) && self.carriage.is_none()
            {
                if sink.is_full() {
                    break;
                }
                let used = self.whole_records(rest, sink);
                rest = rest.get(used..).unwrap_or_default();
                if used > 0 {
                    continue;
                }
            }
            let used = self.piece(rest, sink)?;
            rest = rest.get(used..).unwrap_or_default();
        }
        Ok(text.len() - rest.len())
    }

    /// Takes one byte or one line, or as much of it as there is.
    fn piece(&mut self, rest: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        let Some(&first) = rest.first() else {
            return Ok(0);
        };
        if let Some(position) = self.carriage.filter(|_| first != b'\n') {
            return Err(self.lone_carriage(position));
        }
        match (self.within, first) {
            (FastqState::Mark, first) => self.mark(first),
            (FastqState::Between, first) if self.begins(first) => Ok(self.open()),
            (FastqState::Seek, b'@') => Ok(self.open()),
            (FastqState::Start, b'+') => self.open_plus(),
            (FastqState::Start, b'@') => Err(self.no_plus()),
            (FastqState::Lost | FastqState::Seek, _) => Ok(self.lose(rest)),
            (FastqState::Header, _) => self.header_piece(rest, sink),
            (FastqState::Plus, _) => self.plus_piece(rest, sink),
            _ => self.line_piece(rest, sink),
        }
    }

    /// Takes what stands between records, letters or qualities.
    fn line_piece(&mut self, rest: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        let (raw, ends) = line(rest);
        let bare = raw.strip_suffix(b"\r").unwrap_or(raw);
        match self.within {
            FastqState::Between => self.nothing(bare),
            FastqState::Quality => self.qualities(bare, sink),
            _ => self.letters(bare, sink),
        }?;
        if bare.len() < raw.len() {
            self.carriage = Some(self.cursor.after(bare.len()));
        }
        self.cursor.position = self.cursor.after(raw.len());
        if ends {
            self.end_line(sink);
        }
        Ok(raw.len() + usize::from(ends))
    }

    fn end_line(&mut self, sink: &mut impl RecordSink) {
        let size = self.cursor.position.byte - self.cursor.line_start;
        if size == u64::from(self.carriage.is_some()) {
            self.note_empty_line();
        }
        self.cursor.end_line();
        self.carriage = None;
        match self.within {
            FastqState::Quality if self.missing == 0 => self.close(sink),
            FastqState::Letters => self.within = FastqState::Start,
            _ => {}
        }
    }

    fn close(&mut self, sink: &mut impl RecordSink) {
        sink.end();
        self.completed += 1;
        self.within = FastqState::Between;
    }

    fn mark(&mut self, first: u8) -> Result<usize, Fault> {
        let is_mark = self.cursor.take_mark(first)?;
        if !is_mark {
            self.within = FastqState::Between;
        }
        Ok(usize::from(is_mark))
    }

    fn open(&mut self) -> usize {
        self.cursor.open();
        self.cursor.position.byte += 1;
        self.within = FastqState::Header;
        1
    }

    /// A record has letters, or one empty line in their position.
    fn open_plus(&mut self) -> Result<usize, Fault> {
        match (self.cursor.length, self.empty.1) {
            (0, 0) => return Err(self.no_letters()),
            (0, 1) | (1.., 0) => {}
            _ => return Err(self.empty_line()),
        }
        self.again.clear();
        self.cursor.position.byte += 1;
        self.within = FastqState::Plus;
        Ok(1)
    }

    fn note_empty_line(&mut self) {
        if self.empty.1 == 0 {
            self.empty.0 = self.cursor.position;
            self.empty.0.byte = self.cursor.line_start;
        }
        self.empty.1 += 1;
    }

    fn header_piece(&mut self, rest: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        let (piece, ends) = line(rest);
        self.cursor.push_header(piece)?;
        if ends {
            self.cursor.end_header('@')?;
            sink.begin(&self.cursor.header);
            self.check_memory(sink)?;
            self.cursor.end_line();
            self.empty.1 = 0;
            self.within = FastqState::Start;
        }
        Ok(piece.len() + usize::from(ends))
    }

    fn plus_piece(&mut self, rest: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        let (piece, ends) = line(rest);
        // A longer line cannot be the header, and need not be kept.
        let limit = (MAX_HEADER + 2).saturating_sub(self.again.len());
        let (kept, _) = piece.split_at(piece.len().min(limit));
        if self.again.try_reserve(kept.len()).is_err() {
            return Err(self.cursor.no_memory());
        }
        self.again.extend_from_slice(kept);
        self.cursor.position = self.cursor.after(piece.len());
        if ends {
            self.end_plus()?;
            self.end_plus_line(sink);
        }
        Ok(piece.len() + usize::from(ends))
    }

    fn end_plus(&self) -> Result<(), Fault> {
        let again = self.again.trim_ascii_end();
        if again.is_empty() || again == self.cursor.header.trim_ascii_end() {
            return Ok(());
        }
        let byte = self.cursor.line_start;
        let position = Position {
            byte,
            ..self.cursor.position
        };
        let shown: String = String::from_utf8_lossy(again).chars().take(60).collect();
        let message = format!("expected '+' alone or with the header, found {shown:?} behind it");
        Err(self.cursor.fault(Kind::Names, position, message))
    }

    fn end_plus_line(&mut self, sink: &mut impl RecordSink) {
        self.cursor.end_line();
        self.missing = self.cursor.length;
        self.empty.1 = 0;
        self.within = FastqState::Quality;
        if self.missing == 0 {
            self.close(sink);
        }
    }

    /// Nothing but line ends may stand between records.
    /// Whether a byte begins a record: in a line of blanks alone it would not.
    #[inline]
    fn begins(&self, first: u8) -> bool {
        first == b'@' && self.cursor.position.byte == self.cursor.line_start
    }

    /// Takes blanks between records, which fill a line.
    fn nothing(&self, bytes: &[u8]) -> Result<(), Fault> {
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
        Err(self.misfit(Misfit::Byte(position, byte)))
    }

    fn letters(&mut self, letters: &[u8], sink: &mut impl RecordSink) -> Result<(), Fault> {
        if letters.is_empty() {
            return Ok(());
        }
        if self.empty.1 > 0 {
            return Err(self.empty_line());
        }
        let limit = self.max_record - self.cursor.length;
        let admitted = self.cursor.admit(letters, Class::Letter, limit);
        admitted.map_err(|misfit| self.misfit(misfit))?;
        self.within = FastqState::Letters;
        sink.letters(letters, self.cursor.position);
        self.cursor.length += as_u64(letters.len());
        self.check_memory(sink)
    }

    fn qualities(&mut self, qualities: &[u8], sink: &mut impl RecordSink) -> Result<(), Fault> {
        if self.empty.1 > 0 && !qualities.is_empty() {
            return Err(self.empty_line());
        }
        let admitted = self
            .cursor
            .admit(qualities, Class::Quality(self.lowest), self.missing);
        admitted.map_err(|misfit| self.misfit(misfit))?;
        self.missing -= as_u64(qualities.len());
        sink.qualities(qualities);
        self.check_memory(sink)
    }

    fn check_memory(&self, sink: &impl RecordSink) -> Result<(), Fault> {
        if sink.is_exhausted() {
            return Err(self.cursor.no_memory());
        }
        Ok(())
    }

    /// Says that no text follows.
    pub fn finish(&mut self, sink: &mut impl RecordSink) -> Result<(), Fault> {
        if self.within == FastqState::Header {
            self.cursor.check_header_bytes()?;
        }
        let is_whole = match self.within {
            FastqState::Quality => self.missing == 0,
            FastqState::Plus => self.cursor.length == 0 && self.end_plus().is_ok(),
            FastqState::Header | FastqState::Start | FastqState::Letters => false,
            _ => return self.finish_between(),
        };
        if !is_whole {
            return Err(self.cut());
        }
        self.close(sink);
        Ok(())
    }

    fn finish_between(&self) -> Result<(), Fault> {
        if self.cursor.begun == 0 && matches!(self.within, FastqState::Mark | FastqState::Between) {
            let message = "expected FASTQ, found no record: the text is blank";
            return Err(Fault::whole(message));
        }
        Ok(())
    }
}

/// Going on after a fault.
impl FastqParser {
    /// Looks for the next record from where the parser stands.
    pub(crate) fn seek(&mut self) {
        let at_start = self.cursor.position.byte == self.cursor.line_start;
        self.within = if at_start {
            FastqState::Seek
        } else {
            FastqState::Lost
        };
        self.carriage = None;
    }

    /// Leaves out a line, or as much of it as there is.
    fn lose(&mut self, rest: &[u8]) -> usize {
        let (piece, ends) = line(rest);
        self.within = FastqState::Lost;
        self.cursor.position = self.cursor.after(piece.len());
        if ends {
            self.cursor.end_line();
            self.within = FastqState::Seek;
        }
        piece.len() + usize::from(ends)
    }
}

#[cfg(test)]
mod tests;
