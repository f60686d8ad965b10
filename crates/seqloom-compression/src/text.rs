//! What a file is packed in, its text, and why no more of that can be had.

use std::{fmt, io};

use seqloom_core::error::Fault;

/// What a file is packed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Nothing.
    None,
    /// Gzip, of one member or several.
    Gzip,
    /// Bgzip: gzip in blocks of at most 64 KiB, each with its size (SAM
    /// specification, section 4.1).
    Bgzip,
    /// Bzip2, of one stream or several.
    Bzip2,
    /// Zstandard, of one frame or several.
    Zstd,
    /// Xz, of one stream or several.
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

/// How a file is unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpackOptions {
    /// How many threads may unpack and parse, the caller's among them; with
    /// one, nothing runs ahead.
    pub threads: usize,
    /// Whether a bgzip file has to end with the block that marks the end.
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

/// Why no more text can be had.
#[derive(Debug)]
pub enum Trouble {
    /// The file could not be read.
    Io(io::Error),
    /// The compressed data is cut or damaged.
    Damage(Fault),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The error of reading again after an error.
pub(crate) fn gone() -> Trouble {
    io::Error::other("cannot be read any further: reading it has failed before").into()
}

/// A source of text, piece by piece.
pub trait Text: Send + Sync {
    /// The text that waits to be used; nothing only at the end.
    fn fill(&mut self) -> Result<&[u8], Trouble>;

    /// Uses the first `count` of the bytes that wait.
    fn consume(&mut self, count: usize);
}
