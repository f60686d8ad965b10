//! The bytes of an index: in memory, or read by position from its file.

use std::io;
use std::sync::Arc;

use crate::disk::{Disk, try_resize};
use seqloom_core::number::as_u64;

/// The bytes of an index.
#[derive(Clone, Debug)]
pub enum IndexBytes {
    /// In memory.
    Memory(Arc<Vec<u8>>),
    /// In a file.
    File(Arc<Disk>),
}

/// An index up to this size is read into memory as a whole.
const SMALL: u64 = 64 << 20;

impl IndexBytes {
    /// A file's bytes: read at once if they are few.
    pub fn of(disk: Disk) -> io::Result<Self> {
        if disk.size() > SMALL {
            return Ok(Self::File(Arc::new(disk)));
        }
        let mut bytes = Vec::new();
        try_resize(
            &mut bytes,
            usize::try_from(disk.size()).unwrap_or(usize::MAX),
        )?;
        disk.read(0, &mut bytes)?;
        Ok(Self::Memory(Arc::new(bytes)))
    }

    /// How many bytes there are.
    pub fn size(&self) -> u64 {
        match self {
            Self::Memory(bytes) => as_u64(bytes.len()),
            Self::File(disk) => disk.size(),
        }
    }

    /// Bytes that are in memory.
    pub fn slice(&self, at: u64, size: usize) -> Option<&[u8]> {
        match self {
            Self::File(_) => None,
            Self::Memory(bytes) => {
                let start = usize::try_from(at).ok()?;
                bytes.get(start..start.checked_add(size)?)
            }
        }
    }

    /// Fills `out` from `at`.
    pub fn read(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        match self {
            Self::File(disk) => disk.read(at, out),
            Self::Memory(_) => {
                let found = self.slice(at, out.len());
                out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }
}
