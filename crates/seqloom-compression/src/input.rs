//! A file, read piece by piece.
//!
//! A file is read, never mapped: a mapped file that shrinks kills the process.
//! Its size and time are checked before the first piece and after the last, so that a file
//! which was written meanwhile is an error, never a mixture.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::time::SystemTime;

use seqloom_core::number::as_u64;
use seqloom_core::process;

use crate::system::{Identity, has_bytes, open, standard_input, wait_for_bytes};

/// The number of bytes that are read at once.
pub(crate) const PIECE: usize = 256 << 10;

/// The path that stands for the standard input.
const STDIN: &str = "-";

/// A buffered reader of a file, a pipe or another stream. It counts the bytes that were used.
pub struct BufferedInput {
    source: InputSource,
    buffer: Vec<u8>,
    start: usize,
    stop: usize,
    used: u64,
    at_end: bool,
    /// The process that opened the file: a forked one would share its position.
    owner: u32,
}

enum InputSource {
    /// A regular file, and its size and time before it was read.
    File(File, FileStamp),
    /// A named pipe, a terminal, a device.
    Pipe(File),
    Stream(Box<dyn Read + Send + Sync>),
}

/// The size and time of a file, which change when it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileStamp {
    size: u64,
    modified: Option<SystemTime>,
    /// The position where reading began: the standard input may begin inside its file.
    from: u64,
}

impl BufferedInput {
    /// Opens a file, a named pipe, or the standard input (`-`).
    pub fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new(STDIN) {
            return Self::of_file(standard_input()?);
        }
        Self::of_file(open(path)?)
    }

    /// Reads from an open file.
    pub fn of_file(file: File) -> io::Result<Self> {
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
        let stamp = FileStamp::of(&file)?;
        Ok(Self::from_source(InputSource::File(file, stamp)))
    }

    /// Reads from anything.
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
            owner: process::id(),
        }
    }

    /// How many bytes were used before [`waiting`](Self::waiting).
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Returns the number of bytes read so far: at the end of the file, its size.
    pub fn size_so_far(&self) -> u64 {
        self.used + as_u64(self.stop - self.start)
    }

    /// Whether the file ends with [`waiting`](Self::waiting).
    pub fn at_end(&self) -> bool {
        self.at_end
    }

    /// Returns whether this is a regular file, so that reading does not wait for a writer.
    pub(crate) fn is_regular(&self) -> bool {
        matches!(self.source, InputSource::File(..))
    }

    /// Which file it is, if it is one that is read from its beginning.
    pub(crate) fn identity(&self) -> Option<Identity> {
        match &self.source {
            InputSource::File(file, stamp) if stamp.from == 0 => {
                file.metadata().ok().and_then(|facts| Identity::of(&facts))
            }
            _ => None,
        }
    }

    /// Returns whether the next bytes can be read without waiting for a writer.
    pub(crate) fn is_ready(&self) -> bool {
        match &self.source {
            _ if self.start < self.stop => true,
            InputSource::Pipe(file) => has_bytes(file),
            InputSource::File(..) | InputSource::Stream(_) => true,
        }
    }

    /// The bytes that were read and not used.
    pub fn waiting(&self) -> &[u8] {
        &self.buffer[self.start..self.stop]
    }

    /// Uses the first `count` of the bytes that wait.
    pub fn consume(&mut self, count: usize) {
        self.start += count;
        self.used += as_u64(count);
    }

    /// Reads until at least `count` bytes wait, or the file ends.
    pub fn fill(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.waiting().len() < count && !self.at_end {
            self.reserve(count)?;
            let mut buffer = std::mem::take(&mut self.buffer);
            let read = self.read(&mut buffer[self.stop..]);
            self.buffer = buffer;
            self.stop += read?;
        }
        Ok(self.waiting())
    }

    /// Moves bytes out: those that wait, or else what one reading gives.
    /// Nothing only at the end.
    pub(crate) fn take(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.waiting().len().min(out.len());
        if count > 0 {
            out[..count].copy_from_slice(&self.waiting()[..count]);
            self.consume(count);
            return Ok(count);
        }
        let count = if self.at_end { 0 } else { self.read(out)? };
        self.used += as_u64(count);
        Ok(count)
    }

    /// Reads once; notes the end, and checks there that nothing has changed.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if process::id() != self.owner {
            return Err(forked());
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
            ..FileStamp::of(file)?
        };
        let is_whole = before.from + self.size_so_far() >= before.size;
        if after == *before && is_whole {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "changed while it was being read: it had {} bytes, now it has {}; \
             read it again when nothing writes to it",
            before.size, after.size
        )))
    }

    /// Moves the waiting bytes to the front, and makes the buffer hold at least `count` bytes.
    fn reserve(&mut self, count: usize) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.stop, 0);
        self.stop -= self.start;
        self.start = 0;
        let size = count.max(PIECE);
        if self.buffer.len() < size {
            let mut larger = zeroed(size)?;
            larger[..self.stop].copy_from_slice(&self.buffer[..self.stop]);
            self.buffer = larger;
        }
        Ok(())
    }
}

impl FileStamp {
    fn of(file: &File) -> io::Result<Self> {
        let facts = file.metadata()?;
        Ok(Self {
            size: facts.len(),
            modified: facts.modified().ok(),
            from: io::Seek::stream_position(&mut &*file)?,
        })
    }
}

/// A buffer whose pages are not touched yet; no memory is an error, not the end.
pub(crate) fn zeroed(size: usize) -> io::Result<Vec<u8>> {
    let mut trial: Vec<u8> = Vec::new();
    trial
        .try_reserve_exact(size)
        .map_err(|_| io::Error::from(ErrorKind::OutOfMemory))?;
    drop(trial);
    Ok(vec![0; size])
}

/// The error of a forked process that uses a file which its parent opened.
pub(crate) fn forked() -> io::Error {
    io::Error::other(
        "was opened before this process was forked: the two would share its position; \
         open it again in this process",
    )
}

#[cfg(test)]
mod tests;
