//! Reads FASTA and FASTQ files in batches.

mod recover;

use std::path::{Path, PathBuf};

use seqloom_core::error::{Fault, FaultKind, Result};
use seqloom_core::{Error, interrupt::CancelToken};

use crate::batch::{Batch, BatchSink};
use crate::options::{Format, OnError, ReaderOptions};
use crate::{parser::Parser, pushback::PushbackText, report::ReadReport, sink::RecordSink, sniff};
use seqloom_compression::{Compression, ReadError, TextSource, input::BufferedInput, open_text};

/// The number of bytes that are decompressed after a format error, to find out whether
/// the compressed data is corrupt.
const MAX_CHECKED_BYTES: usize = 64 << 20;

/// A reader that returns the records of a file in order.
pub struct Reader {
    path: PathBuf,
    options: ReaderOptions,
    compression: Compression,
    text: PushbackText,
    parser: Parser,
    state: ReaderState,
    report: ReadReport,
    /// The text of the current record, if it may have to be read again.
    record_text: Vec<u8>,
    /// The line of the last counted error, and the number of complete records at that
    /// time.
    last_fault: (u64, u64),
}

enum ReaderState {
    Reading,
    /// The file was read to its end without an error.
    Finished,
    /// Reading failed, and every further call returns this error.
    Failed(Error),
}

impl Reader {
    /// Opens a file, and detects its compression and its format.
    pub fn open(path: &Path, options: &ReaderOptions) -> Result<Self> {
        let input = BufferedInput::open(path).map_err(|error| Error::io(path, &error))?;
        Self::new(path, input, options)
    }

    /// Creates a reader of `input`. Error messages contain `path` as the name of the
    /// file.
    pub fn new(path: &Path, input: BufferedInput, options: &ReaderOptions) -> Result<Self> {
        let unpacked = open_text(input, &options.unpack_options());
        let unpacked = unpacked.map_err(|error| to_path_error(path, error))?;
        Self::from_text(path, unpacked, options)
    }

    /// Creates a reader of decompressed text. `compression` is the compression of the
    /// original file.
    pub fn from_text(
        path: &Path,
        (compression, text): (Compression, Box<dyn TextSource>),
        options: &ReaderOptions,
    ) -> Result<Self> {
        let of_path = |error| to_path_error(path, error);
        let mut text = PushbackText::new(text);
        let start = text.peek(sniff::is_long_enough).map_err(of_path)?;
        let packed = Some(compression).filter(|_| !start.is_empty());
        let format = sniff::detect_format(start, options)
            .map_err(|fault| Error::format(path, add_compression(fault, packed)))?;
        Ok(Self {
            path: path.to_path_buf(),
            options: options.clone(),
            compression,
            text,
            parser: Parser::new(format, options),
            state: ReaderState::Reading,
            report: ReadReport::default(),
            record_text: Vec::new(),
            last_fault: (0, 0),
        })
    }

    /// Returns the compression of the file.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Returns the format of the records.
    pub fn format(&self) -> Format {
        self.parser.format()
    }

    /// Returns the path of the file, as the caller gave it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the numbers of records that were read and skipped so far.
    pub fn report(&self) -> ReadReport {
        ReadReport {
            records: self.parser.record_count(),
            ..self.report.clone()
        }
    }

    /// Reads records until the batch has `max_records` records or at least `max_bytes`
    /// residues. Returns `None` at the end of the file.
    ///
    /// If a record is invalid, the records before it are returned first, and the next
    /// call returns the error.
    pub fn read_batch(&mut self, max_records: usize, max_bytes: usize) -> Result<Option<Batch>> {
        let mut batch = Batch::default();
        let is_more = self.refill_batch(&mut batch, max_records, max_bytes)?;
        Ok(is_more.then_some(batch))
    }

    /// Does the same as [`read_batch`](Self::read_batch), but replaces the records of an existing
    /// batch. Returns true if a record was read.
    pub fn refill_batch(
        &mut self,
        batch: &mut Batch,
        max_records: usize,
        max_bytes: usize,
    ) -> Result<bool> {
        if max_records == 0 || max_bytes == 0 {
            return Err(Error::argument(
                "max_records and max_bytes must be at least 1, got 0",
            ));
        }
        batch.has_qualities = self.options.with_qualities && self.format() == Format::Fastq;
        let mut sink = BatchSink::new(batch, max_records, max_bytes);
        self.parse_to_sink(&mut sink);
        sink.finish();
        match &self.state {
            _ if !batch.is_empty() => Ok(true),
            ReaderState::Failed(error) => Err(error.clone()),
            _ => Ok(false),
        }
    }

    /// Parses text until the sink is full, the text ends, or a record is invalid.
    pub fn parse_to_sink(&mut self, sink: &mut impl RecordSink) {
        let mut continues = matches!(self.state, ReaderState::Reading);
        while continues {
            continues = self.parse_chunk(sink).unwrap_or_else(|error| {
                self.state = ReaderState::Failed(error);
                false
            });
        }
    }

    /// Returns the error that has ended reading, if any.
    pub fn failure(&self) -> Option<&Error> {
        match &self.state {
            ReaderState::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// Parses a chunk of text. Returns true if parsing should continue. The sink can be
    /// full only between records, so no record remains incomplete.
    fn parse_chunk(&mut self, sink: &mut impl RecordSink) -> Result<bool> {
        if self.parser.is_between_records() && sink.is_full() {
            return Ok(false);
        }
        let from = self.parser.position().byte;
        let filled = self.text.fill_buffer();
        let text = filled.map_err(|error| to_path_error(&self.path, error))?;
        let count = text.len();
        if count == 0 {
            return self.end_file(sink);
        }
        let used = match self.parser.parse_chunk(text, sink) {
            Ok(used) => used,
            Err(fault) => return self.skip_fault(fault, from, sink),
        };
        if !self.keep_record_text(from, used)? {
            return self.skip_fault(self.parser.out_of_memory_fault(), from, sink);
        }
        self.text.consume(used);
        Ok(used == count)
    }

    fn end_file(&mut self, sink: &mut impl RecordSink) -> Result<bool> {
        let from = self.parser.position().byte;
        if let Err(fault) = self.parser.finish_text(sink) {
            return self.skip_fault(fault, from, sink);
        }
        self.state = ReaderState::Finished;
        self.check_record_count()?;
        Ok(false)
    }

    /// Returns an error if the number of records is not the required number.
    fn check_record_count(&self) -> Result<()> {
        let (found, left_out) = (self.parser.record_count(), self.report.count());
        match self.options.expect {
            Some(expected) if expected != found + left_out => {
                let message = match left_out {
                    0 => format!("expected {expected} records, found {found}"),
                    _ => {
                        format!("expected {expected} records, found {found} and skipped {left_out}")
                    }
                };
                let fault = Fault {
                    kind: FaultKind::Count,
                    ..Fault::of_file(message)
                };
                Err(Error::format(&self.path, fault))
            }
            _ => Ok(()),
        }
    }

    /// Returns the error for an invalid record, or skips to the next record and returns
    /// true.
    fn skip_fault(&mut self, fault: Fault, from: u64, sink: &mut impl RecordSink) -> Result<bool> {
        if self.options.on_error == OnError::Raise || fault.kind == FaultKind::Memory {
            return Err(self.check_checksum(fault));
        }
        sink.cancel_record();
        self.skip_invalid_record(fault, from)?;
        Ok(true)
    }

    /// Decompresses more text after a format error to verify the checksum, because
    /// corrupt compressed data often appears as invalid text first. Returns the
    /// checksum error if there is one, and otherwise the format error. Ctrl-C
    /// interrupts this check.
    fn check_checksum(&mut self, fault: Fault) -> Error {
        let stop = CancelToken::with_signals();
        let is_packed = self.compression != Compression::None && fault.kind != FaultKind::Memory;
        let mut left = if is_packed { MAX_CHECKED_BYTES } else { 0 };
        while left > 0 {
            if let Err(error) = stop.check_cancelled() {
                return Error::io(&self.path, &error);
            }
            match self.text.fill_buffer() {
                Ok([]) => break,
                Ok(text) => {
                    let count = text.len();
                    left = left.saturating_sub(count);
                    self.text.consume(count);
                }
                Err(error) => return to_path_error(&self.path, error),
            }
        }
        Error::format(&self.path, fault)
    }
}

fn to_path_error(path: &Path, error: ReadError) -> Error {
    match error {
        ReadError::Io(error) => Error::io(path, &error),
        ReadError::Damage(fault) => Error::format(path, fault),
    }
}

/// Adds the compression to an error message about the content of a file.
fn add_compression(mut fault: Fault, compression: Option<Compression>) -> Fault {
    if let Some(packed) = compression.filter(|packed| *packed != Compression::None) {
        fault.message = format!("{} (inside {packed})", fault.message);
    }
    fault
}

#[cfg(test)]
mod tests;
