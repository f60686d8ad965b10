//! Reads VCF and BCF files in batches.

use std::path::{Path, PathBuf};

use seqloom_compression::input::BufferedInput;
use seqloom_compression::lines::{Lines, append};
use seqloom_compression::{Compression, ReadError, TextSource, UnpackOptions, open_text};
use seqloom_core::error::{Error, Fault, Result};

use crate::bcf::BinaryRecords;
use crate::bcf_text::append_record;
use crate::columns::VariantColumns;
use crate::fields::Field;
use crate::header::{Header, check_start, read_header};
use crate::index::open_regions;
use crate::record::RecordParser;
use crate::report::VariantReport;
use crate::samples::SampleChoice;
use crate::vcf::strip_return;

/// Options of a reader.
#[derive(Clone, Debug, Default)]
pub struct VariantReaderOptions {
    /// The number of threads, including the caller's thread.
    pub threads: usize,
    /// The samples whose genotypes are read.
    pub samples: SampleChoice,
    /// The names of INFO and FORMAT fields, such as `INFO/AF`.
    pub fields: Vec<String>,
    /// The regions to read, such as `chr1:1-2000`; if empty, the whole file is read.
    pub regions: Vec<String>,
}

/// A reader that returns the records of a VCF or BCF file in order.
pub struct VariantReader {
    path: PathBuf,
    compression: Compression,
    source: Records,
    parser: RecordParser,
    records: u64,
    /// The line and the offset of the last record that [`Self::read_text`] returned.
    last: (Option<u64>, u64),
    state: ReaderState,
}

enum ReaderState {
    Reading,
    Finished,
    /// Reading failed, and every further call returns this error.
    Failed(Error),
}

impl VariantReader {
    /// Opens a file or the standard input (`-`), and reads the header.
    pub fn open(path: &Path, options: &VariantReaderOptions) -> Result<Self> {
        if !options.regions.is_empty() && path == Path::new("-") {
            return Err(needs_path(path));
        }
        let input = BufferedInput::open(path).map_err(|error| Error::io(path, &error))?;
        let mut reader = Self::read_start(path, input, options)?;
        if !options.regions.is_empty() {
            let file = (path, reader.compression, &reader.parser.header);
            let report = &mut reader.parser.context.report;
            let (regions, text) = open_regions(file, &options.regions, report)?;
            reader.parser.regions = Some(regions);
            reader.source = match reader.source {
                Records::Text(_) => Records::Text(Lines::new(Box::new(text))),
                Records::Binary(_) => Records::Binary(BinaryRecords::new(Box::new(text))),
            };
        }
        Ok(reader)
    }

    /// Creates a reader of `input`. Error messages contain `path` as the name of the file.
    pub fn new(path: &Path, input: BufferedInput, options: &VariantReaderOptions) -> Result<Self> {
        if options.regions.is_empty() {
            return Self::read_start(path, input, options);
        }
        Err(needs_path(path))
    }

    fn read_start(
        path: &Path,
        input: BufferedInput,
        options: &VariantReaderOptions,
    ) -> Result<Self> {
        let unpack = UnpackOptions {
            threads: options.threads.max(1),
            ..UnpackOptions::default()
        };
        let of_path = |error| to_path_error(path, error);
        let (compression, text) = open_text(input, &unpack).map_err(of_path)?;
        let mut report = VariantReport::default();
        let opened = Records::open(text, &mut report);
        let (records, header) = opened.map_err(of_path)?;
        Ok(Self {
            path: path.to_path_buf(),
            compression,
            source: records,
            parser: RecordParser::new((header, report), (&options.samples, &options.fields))?,
            records: 0,
            last: (None, 0),
            state: ReaderState::Reading,
        })
    }

    /// Returns the path of the file, as the caller gave it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.parser.header
    }

    /// Returns the requested fields.
    pub fn fields(&self) -> &[Field] {
        &self.parser.fields
    }

    /// Returns the indices of the samples that are read, or `None`.
    pub fn selected_samples(&self) -> Option<&[usize]> {
        self.parser
            .samples
            .as_ref()
            .map(|it| it.selected.as_slice())
    }

    /// Returns the names of the chromosomes; the numbers in batches are indices of them.
    pub fn chrom_names(&self) -> &[Vec<u8>] {
        &self.parser.context.chroms.names
    }

    /// Returns the number of records that were read so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the counts of broken rules so far.
    pub fn report(&self) -> &VariantReport {
        &self.parser.context.report
    }

    /// Replaces the records of `columns` by the next ones: at most `max_records`, with about
    /// `max_bytes` bytes. Returns true if a record was read.
    ///
    /// If a record is invalid, this call returns the records before it, and the next call
    /// returns the error.
    pub fn refill_batch(
        &mut self,
        columns: &mut VariantColumns,
        max_records: usize,
        max_bytes: usize,
    ) -> Result<bool> {
        if max_records == 0 || max_bytes == 0 {
            return Err(Error::argument(
                "max_records and max_bytes must be at least 1, got 0",
            ));
        }
        columns.clear(&self.parser.fields);
        while matches!(self.state, ReaderState::Reading)
            && columns.len() < max_records
            && columns.bytes() < max_bytes
        {
            match self.read_record(columns) {
                Ok(true) => {}
                Ok(false) => self.state = ReaderState::Finished,
                Err(error) => self.state = ReaderState::Failed(error),
            }
        }
        match &self.state {
            _ if !columns.is_empty() => Ok(true),
            ReaderState::Failed(error) => Err(error.clone()),
            _ => Ok(false),
        }
    }

    /// Replaces `out` by the text of the next record, without its line end. Returns false at
    /// the end of the file.
    pub(crate) fn read_text(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let read = match &mut self.source {
            Records::Text(lines) => read_line(lines, out, &mut self.last),
            Records::Binary(records) => {
                let read = records.next_record();
                self.last = (None, records.offset);
                read.and_then(|is_more| {
                    if is_more {
                        let appended = append_record(&self.parser.header, records.parts(), out);
                        appended.map_err(ReadError::Damage)?;
                    }
                    Ok(is_more)
                })
            }
        };
        match read {
            Ok(is_more) => {
                self.records += u64::from(is_more);
                Ok(is_more)
            }
            Err(ReadError::Damage(fault)) if fault.byte.is_none() => {
                self.records += 1;
                self.of_record(Err(fault))
            }
            Err(error) => Err(to_path_error(&self.path, error)),
        }
    }

    /// Adds the position of the last record to a fault.
    pub(crate) fn of_record<T>(&self, result: std::result::Result<T, Fault>) -> Result<T> {
        result.map_err(|fault| {
            let (line, byte) = self.last;
            let record = self.records.saturating_sub(1);
            Error::format(&self.path, place_fault(fault, record, line, Some(byte)))
        })
    }

    /// Reads a record. Returns false at the end of the file.
    fn read_record(&mut self, columns: &mut VariantColumns) -> Result<bool> {
        let Records::Text(lines) = &mut self.source else {
            return self.read_binary(columns);
        };
        let next = lines.next_line();
        let next = next.map_err(|error| to_path_error(&self.path, error))?;
        let Some(line) = next else {
            return Ok(false);
        };
        // The line is unknown in a region, so the number of the record replaces it.
        let number = match self.parser.regions {
            None => line.number,
            Some(_) => self.records + 1,
        };
        let report = &mut self.parser.context.report;
        let text = strip_return(line.text, number, report);
        if text.is_empty() {
            report.count("empty_line", number, b"");
            return Ok(true);
        }
        let position = (Some(line.number), line.byte);
        let pushed = self.parser.push_text(text, number, columns);
        self.end_record(pushed, position, columns)
    }

    /// Reads a record of a BCF file.
    fn read_binary(&mut self, columns: &mut VariantColumns) -> Result<bool> {
        let Records::Binary(records) = &mut self.source else {
            return Ok(false);
        };
        let pushed = match records.next_record() {
            Ok(false) => return Ok(false),
            Ok(true) => {
                let parts = records.parts();
                self.parser.push_binary(parts, self.records + 1, columns)
            }
            Err(ReadError::Damage(fault)) if fault.byte.is_none() => Err(fault),
            Err(error) => return Err(to_path_error(&self.path, error)),
        };
        let position = (None, records.offset);
        self.end_record(pushed, position, columns)
    }

    /// Counts a record that was read. For an invalid record, removes its values from the
    /// columns and adds its position to the fault.
    #[inline]
    fn end_record(
        &mut self,
        pushed: std::result::Result<bool, Fault>,
        (line, byte): (Option<u64>, u64),
        columns: &mut VariantColumns,
    ) -> Result<bool> {
        let is_new = pushed.map_err(|fault| {
            self.parser.cancel_record(columns);
            let is_whole = self.parser.regions.is_none();
            let (line, byte) = (line.filter(|_| is_whole), is_whole.then_some(byte));
            Error::format(&self.path, place_fault(fault, self.records, line, byte))
        })?;
        self.records += u64::from(is_new);
        Ok(true)
    }
}

/// Adds a position to a fault. Without a line, the message states the number of the record,
/// as in the column `lines`, and the byte.
fn place_fault(fault: Fault, record: u64, line: Option<u64>, byte: Option<u64>) -> Fault {
    let message = match (line, byte) {
        (Some(_), _) => fault.message,
        (None, Some(byte)) => format!(
            "record {}, byte {byte} of the data: {}",
            record + 1,
            fault.message
        ),
        (None, None) => format!("record {}: {}", record + 1, fault.message),
    };
    Fault {
        record: Some(record),
        line,
        byte,
        message,
        ..fault
    }
}

/// The records of a VCF file (text) or a BCF file (binary).
enum Records {
    Text(Lines),
    Binary(BinaryRecords),
}

impl Records {
    /// Detects the format, and reads the header.
    fn open(
        mut text: Box<dyn TextSource>,
        report: &mut VariantReport,
    ) -> std::result::Result<(Self, Header), ReadError> {
        let start = text.fill_buffer()?;
        if start.first() == Some(&b'B') {
            let mut records = BinaryRecords::new(text);
            let header = records.read_header(report)?;
            return Ok((Self::Binary(records), header));
        }
        check_start(start).map_err(ReadError::Damage)?;
        let mut lines = Lines::new(text);
        let header = read_header(&mut lines, report)?;
        Ok((Self::Text(lines), header))
    }
}

/// Appends the next line that is not empty, without its line end.
fn read_line(
    lines: &mut Lines,
    out: &mut Vec<u8>,
    position: &mut (Option<u64>, u64),
) -> std::result::Result<bool, ReadError> {
    while let Some(line) = lines.next_line()? {
        let text = line.text.strip_suffix(b"\r").unwrap_or(line.text);
        if !text.is_empty() {
            *position = (Some(line.number), line.byte);
            append(out, text)?;
            return Ok(true);
        }
    }
    Ok(false)
}

fn needs_path(path: &Path) -> Error {
    let message = "region= needs the path of a file with an index";
    Error::argument(format!("{}: {message}", path.display()))
}

fn to_path_error(path: &Path, error: ReadError) -> Error {
    match error {
        ReadError::Io(error) => Error::io(path, &error),
        ReadError::Damage(fault) => Error::format(path, fault),
    }
}

#[cfg(test)]
mod tests;
