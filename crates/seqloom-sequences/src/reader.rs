//! A file of sequences, read batch by batch.

mod recover;

use std::path::{Path, PathBuf};

use seqloom_core::Error;
use seqloom_core::error::{Fault, Kind, Result};
use seqloom_core::interrupt::Stop;

use crate::batch::{Batch, Collect};
use crate::options::{Format, OnError, ReaderOptions};
use crate::parser::Parser;
use crate::pieces::TextPieces;
use crate::report::Report;
use crate::sink::RecordSink;
use crate::sniff;
use seqloom_compression::input::BufferedInput;
use seqloom_compression::{Compression, Text, Trouble, unpack};

/// Bytes of text that are unpacked after a fault, to find a wrong checksum.
const CHECKED_AFTER_FAULT: usize = 64 << 20;

/// Reads the records of a file, in order, each once.
pub struct Reader {
    path: PathBuf,
    options: ReaderOptions,
    compression: Compression,
    pieces: TextPieces,
    parser: Parser,
    state: ReaderState,
    report: Report,
    /// The text of the record that has begun, where it may be read again.
    trail: Vec<u8>,
    /// The line of the last fault that was counted, and how many records had
    /// ended then.
    last_fault: (u64, u64),
}

enum ReaderState {
    Reading,
    /// The end was reached, and all was well.
    Finished,
    /// Nothing can be read any more; every further call says so again.
    Failed(Error),
}

impl Reader {
    /// Opens a file, and detects its compression and its format.
    pub fn open(path: &Path, options: &ReaderOptions) -> Result<Self> {
        let input = BufferedInput::open(path).map_err(|error| Error::io(path, &error))?;
        Self::new(path, input, options)
    }

    /// Reads from `input`; `path` is what errors call it.
    pub fn new(path: &Path, input: BufferedInput, options: &ReaderOptions) -> Result<Self> {
        let unpacked = unpack(input, &options.unpacking());
        let unpacked = unpacked.map_err(|trouble| translate(path, trouble))?;
        Self::of_text(path, unpacked, options)
    }

    /// Reads text that was packed so.
    pub fn of_text(
        path: &Path,
        (compression, text): (Compression, Box<dyn Text>),
        options: &ReaderOptions,
    ) -> Result<Self> {
        let of_path = |trouble| translate(path, trouble);
        let mut pieces = TextPieces::new(text);
        let start = pieces.peek(sniff::is_enough).map_err(of_path)?;
        let packed = Some(compression).filter(|_| !start.is_empty());
        let format = sniff::format(start, options)
            .map_err(|fault| Error::format(path, add_compression(fault, packed)))?;
        Ok(Self {
            path: path.to_path_buf(),
            options: options.clone(),
            compression,
            pieces,
            parser: Parser::new(format, options),
            state: ReaderState::Reading,
            report: Report::default(),
            trail: Vec::new(),
            last_fault: (0, 0),
        })
    }

    /// What the file is packed in.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// What the records are written in.
    pub fn format(&self) -> Format {
        self.parser.format()
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was read and what was left out so far.
    pub fn report(&self) -> Report {
        Report {
            records: self.parser.completed(),
            ..self.report.clone()
        }
    }

    /// Reads records until there are `max_records`, or at least `max_bytes` of
    /// letters, whichever comes first; `None` after the last.
    ///
    /// Records before a fault are given first; the next call raises it.
    pub fn read(&mut self, max_records: usize, max_bytes: usize) -> Result<Option<Batch>> {
        let mut batch = Batch::default();
        let is_more = self.read_into(&mut batch, max_records, max_bytes)?;
        Ok(is_more.then_some(batch))
    }

    /// Does the same with the memory of a batch, whose records are forgotten;
    /// says whether there was one.
    pub fn read_into(
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
        let mut sink = Collect::new(batch, max_records, max_bytes);
        self.drive(&mut sink);
        sink.finish();
        match &self.state {
            _ if !batch.is_empty() => Ok(true),
            ReaderState::Failed(error) => Err(error.clone()),
            _ => Ok(false),
        }
    }

    /// Parses until the sink is full, the text ends, or a fault is met.
    pub fn drive(&mut self, sink: &mut impl RecordSink) {
        let mut continues = matches!(self.state, ReaderState::Reading);
        while continues {
            continues = self.step(sink).unwrap_or_else(|error| {
                self.state = ReaderState::Failed(error);
                false
            });
        }
    }

    /// The fault that was met, if any.
    pub fn failure(&self) -> Option<&Error> {
        match &self.state {
            ReaderState::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// Parses one piece of text; returns whether to continue. Checks whether the sink is full
    /// only between records, so that none is left unfinished.
    fn step(&mut self, sink: &mut impl RecordSink) -> Result<bool> {
        if self.parser.is_between() && sink.is_full() {
            return Ok(false);
        }
        let from = self.parser.position().byte;
        let filled = self.pieces.fill();
        let text = filled.map_err(|trouble| translate(&self.path, trouble))?;
        let count = text.len();
        if count == 0 {
            return self.end(sink);
        }
        let used = match self.parser.feed(text, sink) {
            Ok(used) => used,
            Err(fault) => return self.pass_over(fault, from, sink),
        };
        if !self.keep_trail(from, used)? {
            return self.pass_over(self.parser.no_memory(), from, sink);
        }
        self.pieces.consume(used);
        Ok(used == count)
    }

    fn end(&mut self, sink: &mut impl RecordSink) -> Result<bool> {
        let from = self.parser.position().byte;
        if let Err(fault) = self.parser.finish(sink) {
            return self.pass_over(fault, from, sink);
        }
        self.state = ReaderState::Finished;
        self.check_count()?;
        Ok(false)
    }

    /// Whether as many records were there as were expected.
    fn check_count(&self) -> Result<()> {
        let (found, left_out) = (self.parser.completed(), self.report.count());
        match self.options.expect {
            Some(expected) if expected != found + left_out => {
                let message = match left_out {
                    0 => format!("expected {expected} records, found {found}"),
                    _ => format!(
                        "expected {expected} records, found {found} and left out {left_out}"
                    ),
                };
                let fault = Fault {
                    kind: Kind::Count,
                    ..Fault::whole(message)
                };
                Err(Error::format(&self.path, fault))
            }
            _ => Ok(()),
        }
    }

    /// Raises a fault as an error, or skips to the next record; returns whether to continue.
    fn pass_over(&mut self, fault: Fault, from: u64, sink: &mut impl RecordSink) -> Result<bool> {
        if self.options.on_error == OnError::Raise || fault.kind == Kind::Memory {
            return Err(self.check_rest(fault));
        }
        sink.cancel();
        self.recover(fault, from)?;
        Ok(true)
    }

    /// Damage to compressed data often shows as bad text first. Some of the rest is
    /// unpacked: if a checksum is wrong, that is the error. Ctrl-C ends it.
    fn check_rest(&mut self, fault: Fault) -> Error {
        let stop = Stop::with_signals();
        let is_packed = self.compression != Compression::None && fault.kind != Kind::Memory;
        let mut left = if is_packed { CHECKED_AFTER_FAULT } else { 0 };
        while left > 0 {
            if let Err(error) = stop.check() {
                return Error::io(&self.path, &error);
            }
            match self.pieces.fill() {
                Ok([]) => break,
                Ok(text) => {
                    let count = text.len();
                    left = left.saturating_sub(count);
                    self.pieces.consume(count);
                }
                Err(trouble) => return translate(&self.path, trouble),
            }
        }
        Error::format(&self.path, fault)
    }
}

fn translate(path: &Path, trouble: Trouble) -> Error {
    match trouble {
        Trouble::Io(error) => Error::io(path, &error),
        Trouble::Damage(fault) => Error::format(path, fault),
    }
}

/// Adds the compression to the message about a file's content.
fn add_compression(mut fault: Fault, compression: Option<Compression>) -> Fault {
    if let Some(packed) = compression.filter(|packed| *packed != Compression::None) {
        fault.message = format!("{} (inside {packed})", fault.message);
    }
    fault
}

#[cfg(test)]
mod tests;
