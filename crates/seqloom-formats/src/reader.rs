//! A file of sequences, read batch by batch.

use std::path::{Path, PathBuf};

use seqloom_core::Error;
use seqloom_core::error::{Fault, Result};

use crate::batch::Batch;
use crate::compression::{Compression, Text, Trouble, unpack};
use crate::fasta::{Parser, Place, Sink};
use crate::input::Input;
use crate::sniff;

/// Reads the records of a FASTA file, in order, each once.
pub struct Reader {
    path: PathBuf,
    compression: Compression,
    text: Box<dyn Text>,
    parser: Parser,
    state: State,
}

enum State {
    Reading,
    /// The end was reached, and all was well.
    Finished,
    /// Nothing can be read any more; every further call says so again.
    Failed(Error),
}

impl Reader {
    /// Opens a file, and checks that it looks like FASTA.
    pub fn open(path: &Path) -> Result<Self> {
        let input = Input::open(path).map_err(|error| Error::io(path, &error))?;
        Self::new(path, input)
    }

    /// Reads from `input`; `path` is what errors call it.
    pub fn new(path: &Path, input: Input) -> Result<Self> {
        let of_path = |trouble| translate(path, trouble);
        let (compression, mut text) = unpack(input).map_err(of_path)?;
        let start = text.fill().map_err(of_path)?;
        if let Some(message) = sniff::objection(start, compression) {
            return Err(Error::format(path, Fault::whole(message)));
        }
        Ok(Self {
            path: path.to_path_buf(),
            compression,
            text,
            parser: Parser::default(),
            state: State::Reading,
        })
    }

    /// What the file is packed in.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads records until there are `max_records`, or at least `max_bytes` of
    /// letters, whichever comes first; `None` after the last.
    ///
    /// Records before a fault are given first; the next call raises it.
    pub fn read(&mut self, max_records: usize, max_bytes: usize) -> Result<Option<Batch>> {
        if max_records == 0 || max_bytes == 0 {
            return Err(Error::argument(
                "max_records and max_bytes must be at least 1, got 0",
            ));
        }
        let mut collect = Collect {
            batch: Batch::default(),
            max_records,
            max_bytes,
        };
        self.drive(&mut collect);
        match &self.state {
            _ if !collect.batch.is_empty() => Ok(Some(collect.finished())),
            State::Failed(error) => Err(error.clone()),
            _ => Ok(None),
        }
    }

    /// Parses until the sink is full, the text ends, or a fault is met.
    pub(crate) fn drive(&mut self, sink: &mut impl Sink) {
        let mut goes_on = matches!(self.state, State::Reading);
        while goes_on {
            goes_on = self.step(sink).unwrap_or_else(|error| {
                self.state = State::Failed(error);
                false
            });
        }
    }

    /// The fault that was met, if any.
    pub(crate) fn failure(&self) -> Option<&Error> {
        match &self.state {
            State::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// Parses one piece of text; says whether to go on. A sink is asked whether
    /// it is full only between records, so that none is left unfinished.
    fn step(&mut self, sink: &mut impl Sink) -> Result<bool> {
        let text = self
            .text
            .fill()
            .map_err(|trouble| translate(&self.path, trouble))?;
        let count = text.len();
        if count == 0 {
            self.state = State::Finished;
            let end = self.parser.finish(sink);
            return end
                .map(|()| false)
                .map_err(|fault| Error::format(&self.path, fault));
        }
        match self.parser.feed(text, sink) {
            Ok(used) => {
                self.text.consume(used);
                Ok(used == count)
            }
            Err(fault) => Err(self.blame(fault)),
        }
    }

    /// Damage to compressed data often shows as bad text first. The rest is
    /// unpacked to see whether its checksum tells so; then that is the error.
    fn blame(&mut self, fault: Fault) -> Error {
        while self.compression != Compression::None {
            match self.text.fill() {
                Ok([]) => break,
                Ok(text) => {
                    let count = text.len();
                    self.text.consume(count);
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

/// Fills a batch.
struct Collect {
    batch: Batch,
    max_records: usize,
    max_bytes: usize,
}

impl Collect {
    /// The batch without what a fault left unfinished.
    fn finished(self) -> Batch {
        let mut batch = self.batch;
        let end = |offsets: &[i64]| offsets.last().and_then(|end| usize::try_from(*end).ok());
        batch.data.truncate(end(&batch.offsets).unwrap_or(0));
        batch
            .headers
            .truncate(end(&batch.header_offsets).unwrap_or(0));
        batch
    }
}

impl Sink for Collect {
    fn begin(&mut self, header: &[u8]) {
        self.batch.headers.extend_from_slice(header);
    }

    fn letters(&mut self, letters: &[u8], _: Place) {
        self.batch.data.extend_from_slice(letters);
    }

    fn end(&mut self) {
        self.batch.offsets.push(offset(self.batch.data.len()));
        self.batch
            .header_offsets
            .push(offset(self.batch.headers.len()));
    }

    fn is_full(&self) -> bool {
        self.batch.len() >= self.max_records || self.batch.data.len() >= self.max_bytes
    }
}

fn offset(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
