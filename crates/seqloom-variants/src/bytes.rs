//! Reads little-endian numbers from decompressed binary files.

use std::io::{Error, ErrorKind};

use seqloom_compression::lines::append;
use seqloom_compression::{ReadError, TextSource};
use seqloom_core::number::as_u64;

/// A reader of a binary file. A number beyond the end of the file is an
/// [`UnexpectedEof`](ErrorKind::UnexpectedEof) error.
pub(crate) struct ByteReader {
    source: Box<dyn TextSource>,
    /// The offset of the next byte.
    pub(crate) offset: u64,
}

impl ByteReader {
    pub(crate) fn new(source: Box<dyn TextSource>) -> Self {
        Self { source, offset: 0 }
    }

    pub(crate) fn at_end(&mut self) -> Result<bool, ReadError> {
        self.source.fill_buffer().map(<[u8]>::is_empty)
    }

    pub(crate) fn read<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let mut out = [0; N];
        let mut places = out.iter_mut();
        self.visit(as_u64(N), |chunk| {
            for (byte, place) in chunk.iter().zip(&mut places) {
                *place = *byte;
            }
            Ok(())
        })?;
        Ok(out)
    }

    pub(crate) fn read_u32(&mut self) -> Result<u32, ReadError> {
        self.read().map(u32::from_le_bytes)
    }

    pub(crate) fn read_u64(&mut self) -> Result<u64, ReadError> {
        self.read().map(u64::from_le_bytes)
    }

    pub(crate) fn skip(&mut self, count: u64) -> Result<(), ReadError> {
        self.visit(count, |_| Ok(()))
    }

    /// Appends the next `count` bytes. The memory grows with the bytes that the file has,
    /// so a wrong count allocates nothing.
    pub(crate) fn append_to(&mut self, out: &mut Vec<u8>, count: u64) -> Result<(), ReadError> {
        self.visit(count, |chunk| Ok(append(out, chunk)?))
    }

    /// Passes the next `count` bytes to a function, in pieces.
    fn visit(
        &mut self,
        mut count: u64,
        mut function: impl FnMut(&[u8]) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        while count > 0 {
            let chunk = self.source.fill_buffer()?;
            let most = usize::try_from(count).unwrap_or(usize::MAX);
            let chunk = chunk.get(..most.min(chunk.len())).unwrap_or_default();
            if chunk.is_empty() {
                return Err(Error::from(ErrorKind::UnexpectedEof).into());
            }
            function(chunk)?;
            let size = chunk.len();
            self.source.consume(size);
            self.offset += as_u64(size);
            count -= as_u64(size);
        }
        Ok(())
    }
}

/// Replaces the error of a number beyond the end of the file.
pub(crate) fn replace_end_error(error: ReadError, other: impl FnOnce() -> ReadError) -> ReadError {
    match error {
        ReadError::Io(error) if error.kind() == ErrorKind::UnexpectedEof => other(),
        error => error,
    }
}
