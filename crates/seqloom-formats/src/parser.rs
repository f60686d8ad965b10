//! A parser of either format.

use seqloom_core::error::Fault;

use crate::cursor::Cursor;
use crate::options::{Format, Options};
use crate::sink::{Place, Sink};
use crate::{fasta, fastq};

/// A parser of either format.
#[derive(Debug)]
pub(crate) enum Parser {
    Fasta(fasta::Parser),
    Fastq(fastq::Parser),
}

impl Parser {
    pub(crate) fn new(format: Format, options: &Options) -> Self {
        match format {
            Format::Fasta => Self::Fasta(fasta::Parser::new(options)),
            Format::Fastq => Self::Fastq(fastq::Parser::new(options)),
        }
    }

    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Fasta(_) => Format::Fasta,
            Self::Fastq(_) => Format::Fastq,
        }
    }

    pub(crate) fn feed(&mut self, text: &[u8], sink: &mut impl Sink) -> Result<usize, Fault> {
        match self {
            Self::Fasta(parser) => parser.feed(text, sink),
            Self::Fastq(parser) => parser.feed(text, sink),
        }
    }

    pub(crate) fn finish(&mut self, sink: &mut impl Sink) -> Result<(), Fault> {
        match self {
            Self::Fasta(parser) => parser.finish(sink),
            Self::Fastq(parser) => parser.finish(sink),
        }
    }

    /// How many records are complete.
    pub(crate) fn ended(&self) -> u64 {
        match self {
            Self::Fasta(parser) => parser.ended(),
            Self::Fastq(parser) => parser.ended(),
        }
    }

    /// Where the next byte stands.
    pub(crate) fn place(&self) -> Place {
        self.cursor().place
    }

    /// Whether the last record is known to be complete: one of FASTA is so only
    /// when the next begins.
    pub(crate) fn is_between(&self) -> bool {
        match self {
            Self::Fasta(_) => false,
            Self::Fastq(parser) => parser.is_between(),
        }
    }

    /// Where the current record begins.
    pub(crate) fn record_start(&self) -> Place {
        self.cursor().record_start
    }

    pub(crate) fn no_memory(&self) -> Fault {
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
    pub(crate) fn seek(&mut self) {
        match self {
            Self::Fasta(parser) => parser.seek(),
            Self::Fastq(parser) => parser.seek(),
        }
    }

    /// Looks for the next record from a line's beginning.
    pub(crate) fn seek_from(&mut self, place: Place) {
        let cursor = self.cursor_mut();
        cursor.place = place;
        cursor.line_start = place.byte;
        self.seek();
    }

    /// What began the last time was no record.
    pub(crate) fn uncount(&mut self) {
        self.cursor_mut().begun -= 1;
    }
}
