//! Bytes at any position of a file, without a shared offset.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::UNIX_EPOCH;

use seqloom_core::number::as_u64;
use seqloom_core::system::read_at;

use crate::system::Identity;

/// A file that stays open, read by position: many threads and processes may.
///
/// It is never mapped: a mapped file that shrinks kills the process.
#[derive(Debug)]
pub struct Disk {
    file: File,
    size: u64,
    /// Nanoseconds since 1970; 0 where the system does not say.
    changed: u64,
}

impl Disk {
    /// Opens a regular file; anything else is an error.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let facts = file.metadata()?;
        if !facts.is_file() {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "is no regular file: only such a file can be read at any position",
            ));
        }
        Ok(Self {
            size: facts.len(),
            changed: changed(&facts),
            file,
        })
    }

    /// Whether the file has the size and the time that it was opened with.
    pub fn is_unchanged(&self) -> bool {
        let facts = self.file.metadata();
        facts.is_ok_and(|facts| (facts.len(), changed(&facts)) == (self.size, self.changed))
    }

    /// Which file it is.
    pub(crate) fn identity(&self) -> Option<Identity> {
        let facts = self.file.metadata().ok();
        facts.and_then(|facts| Identity::of(&facts))
    }

    /// How long the file was when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// When the file was changed last, as it was opened.
    pub fn changed(&self) -> u64 {
        self.changed
    }

    /// Fills `out` from `at`; a file that ends before is an error.
    pub fn read(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
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

fn changed(facts: &Metadata) -> u64 {
    let time = facts.modified().ok();
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since
        .and_then(|since| u64::try_from(since.as_nanos()).ok())
        .unwrap_or(0)
}

/// Resizes `out` to at least `size` bytes; fails if there is no memory for them.
pub fn try_resize(out: &mut Vec<u8>, size: usize) -> io::Result<()> {
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
