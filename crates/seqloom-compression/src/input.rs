//! Sequential reading of a file.
//!
//! The file is not memory-mapped, because the system kills a process if a file that it
//! has mapped shrinks. The size and modification time of the file are compared before the
//! first and after the last read; a difference is an error.
//!

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::time::SystemTime;

use seqloom_core::{number::as_u64, process};

use crate::system::{FileId, has_bytes, open_file, open_stdin, wait_for_bytes};

/// Number of bytes to read at a time.
pub(crate) const INPUT_READ_BYTES: usize = 256 << 10;

/// The path that denotes the standard input.
const STDIN_PATH: &str = "-";

/// A buffered reader of a file, a pipe or another stream. The reader counts the bytes
/// that were used.
pub struct BufferedInput {
    source: InputSource,
    buffer: Vec<u8>,
    start: usize,
    stop: usize,
    used: u64,
    at_end: bool,
    /// The process that opened the file. A forked process cannot use the file, because
    /// both processes would share the file position.
    owner: u32,
}

enum InputSource {
    /// A regular file, and its size and modification time before the first read.
    File(File, FileStamp),
    /// A named pipe, a terminal or a device.
    Pipe(File),
    Stream(Box<dyn Read + Send + Sync>),
}

/// The size and modification time of a file, which reveal changes of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileStamp {
    size: u64,
    modified: Option<SystemTime>,
    /// The file position before the first read, which is above 0 if another program has
    /// read from the standard input.
    from: u64,
}

impl BufferedInput {
    /// Opens a file, a named pipe, or the standard input (`-`).
    pub fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new(STDIN_PATH) {
            return Self::from_file(open_stdin()?);
        }
        Self::from_file(open_file(path)?)
    }

    /// Creates a reader of an open file.
    pub fn from_file(file: File) -> io::Result<Self> {
        let facts = file.metadata()?;
        if facts.is_dir() {
            return Err(io::Error::new(
                ErrorKind::IsADirectory,
                "is a folder, expected a file",
            ));
        }
        if !facts.is_file() {
            return Ok(Self::from_source(InputSource::Pipe(file)));
        }
        let stamp = FileStamp::new(&file)?;
        Ok(Self::from_source(InputSource::File(file, stamp)))
    }

    /// Creates a reader of any stream.
    pub fn new(stream: Box<dyn Read + Send + Sync>) -> Self {
        Self::from_source(InputSource::Stream(stream))
    }

    fn from_source(source: InputSource) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            start: 0,
            stop: 0,
            used: 0,
            at_end: false,
            owner: process::process_id(),
        }
    }

    /// Returns the number of bytes that were marked as used.
    pub fn position(&self) -> u64 {
        self.used
    }

    /// Returns the number of bytes read so far, which is the file size at the end of
    /// the file.
    pub fn bytes_read(&self) -> u64 {
        self.used + as_u64(self.stop - self.start)
    }

    /// Returns true if the file has no more bytes after [`buffer`](Self::buffer).
    pub fn at_end(&self) -> bool {
        self.at_end
    }

    /// Returns true if this is a regular file. Reads from a file that is not regular may
    /// have to wait for data.
    pub(crate) fn is_regular(&self) -> bool {
        matches!(self.source, InputSource::File(..))
    }

    /// Returns the identity of a regular file, if the file is read from its beginning.
    pub(crate) fn identity(&self) -> Option<FileId> {
        match &self.source {
            InputSource::File(file, stamp) if stamp.from == 0 => {
                file.metadata().ok().and_then(|facts| FileId::new(&facts))
            }
            _ => None,
        }
    }

    /// Returns true if the next bytes can be read without waiting for a writer.
    pub(crate) fn is_ready(&self) -> bool {
        match &self.source {
            _ if self.start < self.stop => true,
            InputSource::Pipe(file) => has_bytes(file),
            InputSource::File(..) | InputSource::Stream(_) => true,
        }
    }

    /// Returns the bytes that were read but are not yet marked as used.
    pub fn buffer(&self) -> &[u8] {
        &self.buffer[self.start..self.stop]
    }

    /// Marks the first `count` bytes of [`buffer`](Self::buffer) as used.
    pub fn consume(&mut self, count: usize) {
        self.start += count;
        self.used += as_u64(count);
    }

    /// Reads until [`buffer`](Self::buffer) has at least `count` bytes, or the file
    /// ends.
    pub fn fill_to(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.buffer().len() < count && !self.at_end {
            self.reserve_buffer(count)?;
            let mut buffer = std::mem::take(&mut self.buffer);
            let read = self.read_once(&mut buffer[self.stop..]);
            self.buffer = buffer;
            self.stop += read?;
        }
        Ok(self.buffer())
    }

    /// Moves the waiting bytes to `out`. If no bytes are waiting, reads from the file
    /// into `out`. Returns 0 only at the end of the file.
    pub(crate) fn read_some(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.buffer().len().min(out.len());
        if count > 0 {
            out[..count].copy_from_slice(&self.buffer()[..count]);
            self.consume(count);
            return Ok(count);
        }
        let count = if self.at_end { 0 } else { self.read_once(out)? };
        self.used += as_u64(count);
        Ok(count)
    }

    /// Reads from the file once. At the end of the file, checks that the file has not
    /// changed.
    fn read_once(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if process::process_id() != self.owner {
            return Err(fork_error());
        }
        let count = loop {
            let read = match &mut self.source {
                InputSource::File(file, _) => file.read(out),
                InputSource::Pipe(file) => wait_for_bytes(file).and_then(|()| file.read(out)),
                InputSource::Stream(stream) => stream.read(out),
            };
            match read {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if count == 0 && !out.is_empty() {
            self.at_end = true;
            self.check_unchanged()?;
        }
        Ok(count)
    }

    fn check_unchanged(&self) -> io::Result<()> {
        let InputSource::File(file, before) = &self.source else {
            return Ok(());
        };
        let after = FileStamp {
            from: before.from,
            ..FileStamp::new(file)?
        };
        let is_whole = before.from + self.bytes_read() >= before.size;
        if after == *before && is_whole {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "changed while it was being read: it had {} bytes, now it has {}; \
             read it again when nothing writes to it",
            before.size, after.size
        )))
    }

    /// Moves the waiting bytes to the start of the buffer, and resizes the buffer to at
    /// least `count` bytes.
    fn reserve_buffer(&mut self, count: usize) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.stop, 0);
        self.stop -= self.start;
        self.start = 0;
        let size = count.max(INPUT_READ_BYTES);
        if self.buffer.len() < size {
            let mut larger = zeroed_vec(size)?;
            larger[..self.stop].copy_from_slice(&self.buffer[..self.stop]);
            self.buffer = larger;
        }
        Ok(())
    }
}

impl FileStamp {
    fn new(file: &File) -> io::Result<Self> {
        let facts = file.metadata()?;
        Ok(Self {
            size: facts.len(),
            modified: facts.modified().ok(),
            from: io::Seek::stream_position(&mut &*file)?,
        })
    }
}

/// Returns a zeroed buffer. The pages of the buffer take no memory until they are used.
/// Returns an error if the buffer cannot be allocated.
pub(crate) fn zeroed_vec(size: usize) -> io::Result<Vec<u8>> {
    let mut trial: Vec<u8> = Vec::new();
    trial
        .try_reserve_exact(size)
        .map_err(|_| io::Error::from(ErrorKind::OutOfMemory))?;
    drop(trial);
    Ok(vec![0; size])
}

/// Returns the error for a forked process that uses a file opened by its parent.
pub(crate) fn fork_error() -> io::Error {
    io::Error::other(
        "was opened before this process was forked: both processes would share its position; \
         open it again in this process",
    )
}

#[cfg(test)]
mod tests;
