//! The text of a file, whatever it is packed in.
//!
//! The container is told from the content, never from the name. Every check
//! that a container offers is made: checksum, length, and for bgzip the block
//! that says "this is the end". An error comes after all text that stands
//! before the damage.
//!
//! ```text
//! plain                    plain ──> text                    (helper: a thread that reads ahead)
//! gzip, bzip2, zstd, xz    streams ── unpacked ──> text      (ahead: a helper that unpacks)
//! bgzip                    run ── blocks ──> text            (crew: run by run, on several)
//! ```

mod ahead;
mod bgzip;
mod blocks;
mod bzip2;
pub mod checksum;
pub mod disk;
mod gzip;
mod helper;
pub mod image;
mod inflate;
pub mod input;
pub mod parallel;
mod piece;
mod pipe;
mod places;
mod plain;
mod ring;
mod run;
pub mod seekable;
mod streams;
mod unpacked;
pub mod walk;
mod xz;
mod zstd;

use std::fmt;
use std::io;

use seqloom_core::error::Fault;

use crate::input::{Input, PIECE};
use streams::{Codec, Streams};

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
pub struct Options {
    /// How many threads may unpack and parse, the caller's among them; with
    /// one, nothing runs ahead.
    pub threads: usize,
    /// Whether a bgzip file has to end with the block that marks the end.
    pub require_eof: bool,
}

impl Default for Options {
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

/// What is said to whoever reads on after an error.
pub fn gone() -> Trouble {
    io::Error::other("cannot be read any further: reading it has failed before").into()
}

/// A source of text, piece by piece.
pub trait Text: Send + Sync {
    /// The text that waits to be used; nothing only at the end.
    fn fill(&mut self) -> Result<&[u8], Trouble>;

    /// Uses the first `count` of the bytes that wait.
    fn consume(&mut self, count: usize);
}

/// Tells what a file is packed in, and unpacks it.
pub fn unpack(
    mut input: Input,
    options: &Options,
) -> Result<(Compression, Box<dyn Text>), Trouble> {
    let enough = if input.is_regular() {
        PIECE
    } else {
        ENOUGH_TO_TELL
    };
    let compression = tell(input.fill(enough)?);
    let text: Box<dyn Text> = match compression {
        Compression::None => Box::new(plain::Plain::new(input, options)),
        Compression::Bgzip => Box::new(blocks::Blocks::new(input, options)?),
        Compression::Gzip => {
            let recorder = places::Recorder::of(&input, options);
            streams(input, gzip::Gzip::new(recorder), options)?
        }
        Compression::Bzip2 => streams(input, bzip2::Bzip2::new(), options)?,
        Compression::Zstd => streams(input, zstd::Zstd::new()?, options)?,
        Compression::Xz => streams(input, xz::Xz::new(), options)?,
    };
    Ok((compression, text))
}

fn streams<C: Codec + 'static>(
    input: Input,
    codec: C,
    options: &Options,
) -> io::Result<Box<dyn Text>> {
    let unpacker = Box::new(Streams::new(codec));
    Ok(Box::new(unpacked::Unpacked::new(input, unpacker, options)?))
}

fn tell(start: &[u8]) -> Compression {
    match start {
        [0x1F, 0x8B, ..] if bgzip::block_size(start).is_some() => Compression::Bgzip,
        [0x1F, 0x8B, ..] => Compression::Gzip,
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, ..] => Compression::Bzip2,
        [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Compression::Zstd,
        [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
        _ => Compression::None,
    }
}

#[cfg(test)]
mod tests;
