//! A parser of either format.

use seqloom_core::error::Fault;

use crate::cursor::Cursor;
use crate::options::{Format, ReaderOptions};
use crate::sink::{Position, RecordSink};
use crate::{fasta, fastq};

/// A parser of either format.
#[derive(Debug)]
pub enum Parser {
    /// Of FASTA.
    Fasta(fasta::FastaParser),
    /// Of FASTQ.
    Fastq(fastq::FastqParser),
}

impl Parser {
    /// A parser at the beginning of a text.
    pub fn new(format: Format, options: &ReaderOptions) -> Self {
        match format {
            Format::Fasta => Self::Fasta(fasta::FastaParser::new(options)),
            Format::Fastq => Self::Fastq(fastq::FastqParser::new(options)),
        }
    }

    /// What it parses.
    pub fn format(&self) -> Format {
        match self {
            Self::Fasta(_) => Format::Fasta,
            Self::Fastq(_) => Format::Fastq,
        }
    }

    /// Parses more of the text, up to a position where it needs more; says how much that was.
    pub fn feed(&mut self, text: &[u8], sink: &mut impl RecordSink) -> Result<usize, Fault> {
        match self {
            Self::Fasta(parser) => parser.feed(text, sink),
            Self::Fastq(parser) => parser.feed(text, sink),
        }
    }

    /// Ends the last record, at the end of the text.
    pub fn finish(&mut self, sink: &mut impl RecordSink) -> Result<(), Fault> {
        match self {
            Self::Fasta(parser) => parser.finish(sink),
            Self::Fastq(parser) => parser.finish(sink),
        }
    }

    /// How many records are complete.
    pub fn completed(&self) -> u64 {
        match self {
            Self::Fasta(parser) => parser.completed(),
            Self::Fastq(parser) => parser.completed(),
        }
    }

    /// Where the next byte stands.
    pub fn position(&self) -> Position {
        self.cursor().position
    }

    /// Whether the last record is known to be complete: one of FASTA is so only
    /// when the next begins.
    pub fn is_between(&self) -> bool {
        match self {
            Self::Fasta(_) => false,
            Self::Fastq(parser) => parser.is_between(),
        }
    }

    /// Where the current record begins.
    pub fn record_start(&self) -> Position {
        self.cursor().record_start
    }

    /// The fault of a record for which there is no memory.
    pub fn no_memory(&self) -> Fault {
        self.cursor().no_memory()
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

    /// Looks for the next record from where the parser stands.
    pub fn seek(&mut self) {
        match self {
            Self::Fasta(parser) => parser.seek(),
            Self::Fastq(parser) => parser.seek(),
        }
    }

    /// Looks for the next record from a line's beginning.
    pub fn seek_from(&mut self, position: Position) {
        let cursor = self.cursor_mut();
        cursor.position = position;
        cursor.line_start = position.byte;
        self.seek();
    }

    /// What began the last time was no record.
    pub fn uncount(&mut self) {
        self.cursor_mut().begun -= 1;
    }
}
