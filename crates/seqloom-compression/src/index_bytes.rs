//! The bytes of an index, in memory or in a file.

use std::io;
use std::sync::Arc;

use crate::disk::{DiskFile, try_resize_buffer};
use seqloom_core::number::as_u64;

/// The bytes of an index.
#[derive(Clone, Debug)]
pub enum IndexBytes {
    /// Bytes in memory.
    Memory(Arc<Vec<u8>>),
    /// Bytes in a file, which are read when needed.
    File(Arc<DiskFile>),
}

/// Maximal size in bytes of an index that is read into memory.
const MAX_IN_MEMORY_BYTES: u64 = 64 << 20;

impl IndexBytes {
    /// Creates the index bytes from an open file. A small file is read into memory at
    /// once.
    pub fn from_file(disk: DiskFile) -> io::Result<Self> {
        if disk.size() > MAX_IN_MEMORY_BYTES {
            return Ok(Self::File(Arc::new(disk)));
        }
        let mut bytes = Vec::new();
        try_resize_buffer(
            &mut bytes,
            usize::try_from(disk.size()).unwrap_or(usize::MAX),
        )?;
        disk.read_at(0, &mut bytes)?;
        Ok(Self::Memory(Arc::new(bytes)))
    }

    /// Returns the size of the index in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::Memory(bytes) => as_u64(bytes.len()),
            Self::File(disk) => disk.size(),
        }
    }

    /// Returns a range of the bytes, or `None` if the bytes are in a file.
    pub fn slice(&self, at: u64, size: usize) -> Option<&[u8]> {
        match self {
            Self::File(_) => None,
            Self::Memory(bytes) => {
                let start = usize::try_from(at).ok()?;
                bytes.get(start..start.checked_add(size)?)
            }
        }
    }

    /// Fills `out` with the bytes from offset `at`.
    pub fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        match self {
            Self::File(disk) => disk.read_at(at, out),
            Self::Memory(_) => {
                let bytes = self.slice(at, out.len());
                out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }
}
