//! A parser for FASTA or FASTQ.

use seqloom_core::error::Fault;

use crate::options::{Format, ReaderOptions};
use crate::sink::{Position, RecordSink};
use crate::{cursor::Cursor, fasta, fastq};

/// A parser for FASTA or FASTQ.
#[derive(Debug)]
pub enum Parser {
    /// The FASTA parser.
    Fasta(fasta::FastaParser),
    /// The FASTQ parser.
    Fastq(fastq::FastqParser),
}

impl Parser {
    /// Creates a parser at the beginning of a text.
    pub fn new(format: Format, options: &ReaderOptions) -> Self {
        match format {
            Format::Fasta => Self::Fasta(fasta::FastaParser::new(options)),
            Format::Fastq => Self::Fastq(fastq::FastqParser::new(options)),
        }
    }

    /// Returns the format that the parser expects.
    pub fn format(&self) -> Format {
        match self {
            Self::Fasta(_) => Format::Fasta,
            Self::Fastq(_) => Format::Fastq,
        }
    }

    /// Parses a chunk of text. Returns the number of bytes that were consumed.
    pub fn parse_chunk(&mut self, text: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        match self {
            Self::Fasta(parser) => parser.parse_chunk(text, sink),
            Self::Fastq(parser) => parser.parse_chunk(text, sink),
        }
    }

    /// Completes the last record at the end of the text.
    pub fn finish_text(&mut self, sink: &mut impl RecordSink) -> Result<(), Fault> {
        match self {
            Self::Fasta(parser) => parser.finish_text(sink),
            Self::Fastq(parser) => parser.finish_text(sink),
        }
    }

    /// Returns the number of complete records.
    pub fn record_count(&self) -> u64 {
        match self {
            Self::Fasta(parser) => parser.record_count(),
            Self::Fastq(parser) => parser.record_count(),
        }
    }

    /// Returns the position of the next byte to parse.
    pub fn position(&self) -> Position {
        self.cursor().position
    }

    /// Returns true if the last record is complete. For FASTA, the result is always
    /// false, because a record is complete only when the next record begins.
    pub fn is_between_records(&self) -> bool {
        match self {
            Self::Fasta(_) => false,
            Self::Fastq(parser) => parser.is_between_records(),
        }
    }

    /// Returns the position at which the current record begins.
    pub fn record_start(&self) -> Position {
        self.cursor().record_start
    }

    /// Returns the error for a record that does not fit in memory.
    pub fn out_of_memory_fault(&self) -> Fault {
        self.cursor().out_of_memory_fault()
    }

    fn cursor(&self) -> &Cursor {
        match self {
            Self::Fasta(parser) => &parser.cursor,
            Self::Fastq(parser) => &parser.cursor,
        }
    }

    fn cursor_mut(&mut self) -> &mut Cursor {
        match self {
            Self::Fasta(parser) => &mut parser.cursor,
            Self::Fastq(parser) => &mut parser.cursor,
        }
    }

    /// Skips the text up to the next record.
    pub fn seek_record(&mut self) {
        match self {
            Self::Fasta(parser) => parser.seek_record(),
            Self::Fastq(parser) => parser.seek_record(),
        }
    }

    /// Skips the text up to the next record. `position` must be the beginning of a
    /// line, and is the position of the next byte.
    pub fn seek_record_from(&mut self, position: Position) {
        let cursor = self.cursor_mut();
        cursor.position = position;
        cursor.line_start = position.byte;
        self.seek_record();
    }

    /// Decreases the number of records by one, because the last text that looked like a
    /// record was not a record.
    pub fn uncount_last_record(&mut self) {
        self.cursor_mut().begun -= 1;
    }
}
