//! Reads a file at any offset without a shared file position.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::UNIX_EPOCH;

use seqloom_core::{number::as_u64, system::read_at};

use crate::system::FileId;

/// An open file that is read by offset, possibly by several threads and processes.
///
/// The file is not memory-mapped, because the system kills a process if a file that it
/// has mapped shrinks.
#[derive(Debug)]
pub struct DiskFile {
    file: File,
    size: u64,
    /// Modification time in nanoseconds since 1970; 0 if the system does not provide
    /// it.
    changed: u64,
}

impl DiskFile {
    /// Opens a regular file. Returns an error for pipes, folders and devices.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let facts = file.metadata()?;
        if !facts.is_file() {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "is not a regular file: only a regular file can be read at any position",
            ));
        }
        Ok(Self {
            size: facts.len(),
            changed: mtime(&facts),
            file,
        })
    }

    /// Returns true if the file still has the size and modification time that it had
    /// when it was opened.
    pub fn is_unchanged(&self) -> bool {
        let facts = self.file.metadata();
        facts.is_ok_and(|facts| (facts.len(), mtime(&facts)) == (self.size, self.changed))
    }

    /// Returns the identity of the file, or `None` if the system does not provide it.
    pub(crate) fn identity(&self) -> Option<FileId> {
        let facts = self.file.metadata().ok();
        facts.and_then(|facts| FileId::new(&facts))
    }

    /// Returns the size of the file when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the modification time of the file when it was opened.
    pub fn modification_time(&self) -> u64 {
        self.changed
    }

    /// Fills `out` with the bytes from offset `at`. Returns an error if the file ends
    /// earlier.
    pub fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < out.len() {
            match read_at(&self.file, at + as_u64(done), &mut out[done..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn mtime(facts: &Metadata) -> u64 {
    let time = facts.modified().ok();
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since
        .and_then(|since| u64::try_from(since.as_nanos()).ok())
        .unwrap_or(0)
}

/// Resizes `out` to at least `size` bytes. Returns an error if the memory cannot be
/// allocated.
pub fn try_resize_buffer(out: &mut Vec<u8>, size: usize) -> io::Result<()> {
    let missing = size.saturating_sub(out.len());
    out.try_reserve(missing).map_err(|_| {
        io::Error::new(
            ErrorKind::OutOfMemory,
            format!("no memory for {size} bytes"),
        )
    })?;
    out.resize(size, 0);
    Ok(())
}
