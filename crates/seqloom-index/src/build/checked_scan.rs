//! A scan whose records are compared with those of the parser.

use seqloom_core::error::Fault;

use crate::building::RowSink;
use crate::row::{IndexRow, id_of};
use crate::scan::Scan;
use seqloom_compression::Trouble;
use seqloom_compression::checksum::hash;
use seqloom_core::number::as_u64;
use seqloom_sequences::options::{Format, ReaderOptions};
use seqloom_sequences::parser::Parser;
use seqloom_sequences::sink::{Position, RecordSink};

/// Scans and parses the same text.
pub(super) struct CheckedScan {
    scan: Scan,
    parser: Parser,
    notes: ParsedRecords,
}

/// The records that the parser found.
#[derive(Default)]
struct ParsedRecords {
    name: u64,
    length: u64,
    /// Hash of the id and length of each whole record.
    records: Vec<(u64, u64)>,
}

impl RecordSink for ParsedRecords {
    fn begin(&mut self, header: &[u8]) {
        self.name = hash(id_of(header));
        self.length = 0;
    }

    #[inline]
    fn letters(&mut self, letters: &[u8], _: Position) {
        self.length += as_u64(letters.len());
    }

    fn end(&mut self) {
        self.records.push((self.name, self.length));
    }

    fn is_full(&self) -> bool {
        false
    }
}

impl CheckedScan {
    /// Scans text from the position `at`, where a record begins.
    pub(super) fn new(format: Format, at: u64) -> Self {
        Self {
            scan: Scan::new(format, at),
            parser: Parser::new(format, &ReaderOptions::default()),
            notes: ParsedRecords::default(),
        }
    }

    /// Takes the next piece, but no record that begins at `stop` or behind;
    /// says how much was used.
    pub(super) fn feed(&mut self, piece: &[u8], stop: u64) -> Result<usize, Trouble> {
        let used = self.scan.feed(piece, stop);
        let whole = piece.get(..used).ok_or_else(disagreement)?;
        let parsed = self.parser.feed(whole, &mut self.notes);
        match parsed.map_err(Trouble::Damage)? {
            parsed if parsed == used => Ok(used),
            _ => Err(disagreement()),
        }
    }

    /// Ends the text.
    pub(super) fn finish(&mut self, is_all: bool) -> Result<(), Trouble> {
        self.scan.finish();
        let is_nothing = self.scan.rows.is_empty() && self.notes.records.is_empty() && !is_all;
        if !is_nothing {
            self.parser
                .finish(&mut self.notes)
                .map_err(Trouble::Damage)?;
        }
        if self.scan.rows.len() == self.notes.records.len() {
            return Ok(());
        }
        Err(disagreement())
    }

    /// Where the next record begins.
    pub(super) fn at(&self) -> u64 {
        self.scan.at()
    }

    /// Delivers the records that both have found.
    pub(super) fn deliver(&mut self, take: &mut impl RowSink) -> Result<(), Trouble> {
        let count = self.scan.rows.len().min(self.notes.records.len());
        let records = self.notes.records.drain(..count);
        for (row, (name, length)) in self.scan.rows.drain(..count).zip(records) {
            if row.length != length {
                return Err(disagreement());
            }
            take.take(row, name)?;
        }
        Ok(())
    }
}

/// Rows that are kept until those before them are known to be right.
impl RowSink for Vec<(IndexRow, u64)> {
    fn take(&mut self, row: IndexRow, name: u64) -> std::io::Result<()> {
        self.push((row, name));
        Ok(())
    }
}

pub(super) fn disagreement() -> Trouble {
    Trouble::Damage(Fault::whole(
        "its records could not be told apart for an index: please report it",
    ))
}
