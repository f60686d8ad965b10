//! Scans a text, and compares the records with those of the parser.

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

/// A scan and a parser that process the same text.
pub(super) struct CheckedScan {
    scan: Scan,
    parser: Parser,
    parsed_records: ParsedRecords,
}

/// The records that the parser found.
#[derive(Default)]
struct ParsedRecords {
    name: u64,
    length: u64,
    /// The id hash and the length of each complete record.
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
            parsed_records: ParsedRecords::default(),
        }
    }

    /// Scans the next chunk, except records that begin at `stop` or later. Returns the number of
    /// bytes that were consumed.
    pub(super) fn feed(&mut self, chunk: &[u8], stop: u64) -> Result<usize, Trouble> {
        let used = self.scan.feed(chunk, stop);
        let whole = chunk.get(..used).ok_or_else(disagreement_error)?;
        let parsed = self.parser.feed(whole, &mut self.parsed_records);
        match parsed.map_err(Trouble::Damage)? {
            parsed if parsed == used => Ok(used),
            _ => Err(disagreement_error()),
        }
    }

    /// Completes the last record at the end of the text.
    pub(super) fn finish(&mut self, is_all: bool) -> Result<(), Trouble> {
        self.scan.finish();
        let is_empty =
            self.scan.rows.is_empty() && self.parsed_records.records.is_empty() && !is_all;
        if !is_empty {
            self.parser
                .finish(&mut self.parsed_records)
                .map_err(Trouble::Damage)?;
        }
        if self.scan.rows.len() == self.parsed_records.records.len() {
            return Ok(());
        }
        Err(disagreement_error())
    }

    /// Returns the offset of the next record.
    pub(super) fn at(&self) -> u64 {
        self.scan.at()
    }

    /// Passes to a sink the records that both the scan and the parser have found.
    pub(super) fn deliver(&mut self, take: &mut impl RowSink) -> Result<(), Trouble> {
        let count = self.scan.rows.len().min(self.parsed_records.records.len());
        let records = self.parsed_records.records.drain(..count);
        for (row, (name, length)) in self.scan.rows.drain(..count).zip(records) {
            if row.length != length {
                return Err(disagreement_error());
            }
            take.take(row, name)?;
        }
        Ok(())
    }
}

/// Index rows that are kept in memory until all previous rows are confirmed.
impl RowSink for Vec<(IndexRow, u64)> {
    fn take(&mut self, row: IndexRow, name: u64) -> std::io::Result<()> {
        self.push((row, name));
        Ok(())
    }
}

pub(super) fn disagreement_error() -> Trouble {
    Trouble::Damage(Fault::of_file(
        "the scan and the parser found different records: please report it",
    ))
}
