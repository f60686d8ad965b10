//! A file, read piece by piece.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// How much is asked of the operating system at once.
const PIECE: usize = 128 << 10;

/// Bytes of a file that are waiting to be used, and how many were used before.
///
/// The file is read, never mapped: a mapped file that shrinks kills the process.
pub struct Input {
    file: Box<dyn Read + Send + Sync>,
    buffer: Vec<u8>,
    start: usize,
    stop: usize,
    used: u64,
    at_end: bool,
}

impl Input {
    /// Opens a file, or anything else that can be read from beginning to end.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::Error::new(
                ErrorKind::IsADirectory,
                "is a folder, expected a file",
            ));
        }
        Ok(Self::new(Box::new(file)))
    }

    /// Reads from anything.
    pub fn new(file: Box<dyn Read + Send + Sync>) -> Self {
        Self {
            file,
            buffer: vec![0; PIECE],
            start: 0,
            stop: 0,
            used: 0,
            at_end: false,
        }
    }

    /// How many bytes were used before [`waiting`](Self::waiting).
    pub fn used(&self) -> u64 {
        self.used
    }

    /// How long the file is, once its end was met; until then what is known.
    pub fn seen(&self) -> u64 {
        self.used + as_u64(self.stop - self.start)
    }

    /// Whether the file ends with [`waiting`](Self::waiting).
    pub fn at_end(&self) -> bool {
        self.at_end
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
            self.make_room(count);
            match self.file.read(&mut self.buffer[self.stop..]) {
                Ok(0) => self.at_end = true,
                Ok(read) => self.stop += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.waiting())
    }

    /// Moves what waits to the front, so that `count` bytes fit behind.
    fn make_room(&mut self, count: usize) {
        self.buffer.copy_within(self.start..self.stop, 0);
        self.stop -= self.start;
        self.start = 0;
        if self.buffer.len() < count {
            self.buffer.resize(count, 0);
        }
    }
}

/// A size as a position in a file.
pub(crate) fn as_u64(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// Gives one byte at a time, and is interrupted before each.
    struct Slow(Cursor<Vec<u8>>, bool);

    impl Read for Slow {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(ErrorKind::Interrupted.into());
            }
            let one = out.len().min(1);
            self.0.read(&mut out[..one])
        }
    }

    #[test]
    fn short_and_interrupted_reads_lose_nothing() {
        let mut input = Input::new(Box::new(Slow(Cursor::new(b"ACGT".to_vec()), false)));
        assert_eq!(input.fill(3).unwrap(), b"ACG");
        input.consume(2);
        assert_eq!(input.fill(9).unwrap(), b"GT");
        assert_eq!((input.used(), input.seen(), input.at_end()), (2, 4, true));
    }

    #[test]
    fn a_folder_is_an_error() {
        let error = Input::open(Path::new("/")).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::IsADirectory);
    }
}
