//! The compression of a file, its decompressed text, and errors.

use std::{fmt, io};

use seqloom_core::error::Fault;

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// No compression.
    None,
    /// Gzip with one member or more.
    Gzip,
    /// Bgzip: gzip in blocks of at most 64 KiB, each with its size (SAM
    /// specification, section 4.1).
    Bgzip,
    /// Bzip2 with one stream or more.
    Bzip2,
    /// Zstandard with one frame or more.
    Zstd,
    /// Xz with one stream or more.
    Xz,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Bgzip => "bgzip",
            Self::Bzip2 => "bzip2",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
        })
    }
}

/// Options for decompression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpackOptions {
    /// Number of threads for decompression and parsing, including the caller's thread.
    /// With one thread, no text is decompressed in advance.
    pub threads: usize,
    /// If true, a bgzip file must end with the empty block that marks the end.
    pub require_eof: bool,
}

impl Default for UnpackOptions {
    fn default() -> Self {
        Self {
            threads: 1,
            require_eof: true,
        }
    }
}

/// The reason why no more text can be read.
#[derive(Debug)]
pub enum ReadError {
    /// The file could not be read.
    Io(io::Error),
    /// The compressed data is truncated or corrupt.
    Damage(Fault),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Returns the error for a read that follows an earlier error.
pub(crate) fn already_failed_error() -> ReadError {
    io::Error::other("cannot be read after an earlier error").into()
}

/// A source of text that is read in pieces.
pub trait TextSource: Send + Sync {
    /// Returns the unread text, which is empty only at the end of the file.
    fn fill_buffer(&mut self) -> Result<&[u8], ReadError>;

    /// Marks the first `count` bytes of the unread text as read.
    fn consume(&mut self, count: usize);
}
