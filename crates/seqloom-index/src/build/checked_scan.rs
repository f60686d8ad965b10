//! Scans a text, and compares the records with those of the parser.

use seqloom_core::error::Fault;

use crate::row::{IndexRow, id_of};
use crate::{build_options::RowSink, scan::RecordScan};
use seqloom_compression::{ReadError, checksum::hash_64};
use seqloom_core::number::as_u64;
use seqloom_sequences::options::{Format, ReaderOptions};
use seqloom_sequences::parser::Parser;
use seqloom_sequences::sink::{Position, RecordSink};

/// A scan and a parser that process the same text.
pub(super) struct CheckedScan {
    scan: RecordScan,
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
    fn begin_record(&mut self, header: &[u8]) {
        self.name = hash_64(id_of(header));
        self.length = 0;
    }

    #[inline]
    fn add_residues(&mut self, letters: &[u8], _: Position) {
        self.length += as_u64(letters.len());
    }

    fn end_record(&mut self) {
        self.records.push((self.name, self.length));
    }

    fn is_full(&self) -> bool {
        false
    }
}

impl CheckedScan {
    /// Scans text from the position `next_record_offset`, where a record begins.
    pub(super) fn new(format: Format, at: u64) -> Self {
        Self {
            scan: RecordScan::new(format, at),
            parser: Parser::new(format, &ReaderOptions::default()),
            parsed_records: ParsedRecords::default(),
        }
    }

    /// Scans the next chunk, except records that begin at `stop` or later. Returns the number of
    /// bytes that were consumed.
    pub(super) fn scan_chunk(&mut self, chunk: &[u8], stop: u64) -> Result<usize, ReadError> {
        let used = self.scan.scan_chunk(chunk, stop);
        let whole = chunk.get(..used).ok_or_else(disagreement_error)?;
        let parsed = self.parser.parse_chunk(whole, &mut self.parsed_records);
        match parsed.map_err(ReadError::Damage)? {
            parsed if parsed == used => Ok(used),
            _ => Err(disagreement_error()),
        }
    }

    /// Completes the last record at the end of the text.
    pub(super) fn finish_last_record(&mut self, is_all: bool) -> Result<(), ReadError> {
        self.scan.finish_last_record();
        let is_empty =
            self.scan.rows.is_empty() && self.parsed_records.records.is_empty() && !is_all;
        if !is_empty {
            self.parser
                .finish_text(&mut self.parsed_records)
                .map_err(ReadError::Damage)?;
        }
        if self.scan.rows.len() == self.parsed_records.records.len() {
            return Ok(());
        }
        Err(disagreement_error())
    }

    /// Returns the offset of the next record.
    pub(super) fn next_record_offset(&self) -> u64 {
        self.scan.offset()
    }

    /// Passes to a sink the records that both the scan and the parser have found.
    pub(super) fn send_rows(&mut self, take: &mut impl RowSink) -> Result<(), ReadError> {
        let count = self.scan.rows.len().min(self.parsed_records.records.len());
        let records = self.parsed_records.records.drain(..count);
        for (row, (name, length)) in self.scan.rows.drain(..count).zip(records) {
            if row.length != length {
                return Err(disagreement_error());
            }
            take.add_row(row, name)?;
        }
        Ok(())
    }
}

/// Index rows that are kept in memory until all previous rows are confirmed.
impl RowSink for Vec<(IndexRow, u64)> {
    fn add_row(&mut self, row: IndexRow, name: u64) -> std::io::Result<()> {
        self.push((row, name));
        Ok(())
    }
}

pub(super) fn disagreement_error() -> ReadError {
    ReadError::Damage(Fault::of_file(
        "the scan and the parser found different records: please report it",
    ))
}
