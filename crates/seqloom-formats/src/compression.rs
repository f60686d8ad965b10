//! The text of a file, whatever it is packed in.
//!
//! The container is told from the content, never from the name. Every check
//! that a container offers is made: checksum, length, and for bgzip the block
//! that says "this is the end".

mod bgzip;
mod gzip;
mod plain;

use std::fmt;
use std::io;

use seqloom_core::error::Fault;

use crate::input::Input;

/// How much of a file is looked at to tell what it is.
const ENOUGH_TO_TELL: usize = 4096;

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
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Bgzip => "bgzip",
        })
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

/// A source of text, piece by piece.
pub trait Text: Send + Sync {
    /// The text that waits to be used; nothing only at the end.
    fn fill(&mut self) -> Result<&[u8], Trouble>;

    /// Uses the first `count` of the bytes that wait.
    fn consume(&mut self, count: usize);
}

/// Tells what a file is packed in, and unpacks it.
pub fn unpack(mut input: Input) -> Result<(Compression, Box<dyn Text>), Trouble> {
    let compression = tell(input.fill(ENOUGH_TO_TELL)?);
    let text: Box<dyn Text> = match compression {
        Compression::None => Box::new(plain::Plain::new(input)),
        Compression::Gzip => Box::new(gzip::Gzip::new(input)),
        Compression::Bgzip => Box::new(bgzip::Bgzip::new(input)),
    };
    Ok((compression, text))
}

fn tell(start: &[u8]) -> Compression {
    match start {
        [0x1F, 0x8B, ..] if bgzip::block_size(start).is_some() => Compression::Bgzip,
        [0x1F, 0x8B, ..] => Compression::Gzip,
        _ => Compression::None,
    }
}

#[cfg(test)]
mod tests;
