//! Records to a file: text, plain or packed in gzip or bgzip.
//!
//! The same records give the same bytes, whatever the number of threads: no
//! name and no time is written into a header.

mod bgzip;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use seqloom_core::{Error, Result};
use sirocco::deflate;

use crate::options::Format;
use crate::render;
use crate::render::RecordColumns;
use seqloom_compression::{Compression, Trouble};
use seqloom_core::number::as_u64;

pub use bgzip::WriteTarget;

/// How hard gzip can try.
const HIGHEST: u8 = 9;

/// Options for writing records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// What they are written in.
    pub format: Format,
    /// What that is packed in: nothing, gzip or bgzip.
    pub compression: Compression,
    /// How hard to pack, from 0 (not at all) to 9.
    pub level: u8,
    /// How many letters a line of FASTA has; nothing is all of them.
    pub line_width: Option<usize>,
    /// How many threads may pack bgzip, the caller's among them.
    pub threads: usize,
}

impl WriterOptions {
    /// Nothing packed, lines of 60, one thread.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            compression: Compression::None,
            level: 6,
            line_width: Some(60),
            threads: 1,
        }
    }

    fn check(&self) -> Result<()> {
        if self.level > HIGHEST {
            let message = format!("level must be from 0 to {HIGHEST}, got {}", self.level);
            return Err(Error::argument(message));
        }
        if self.line_width == Some(0) {
            return Err(Error::argument("line_width must be at least 1, got 0"));
        }
        Ok(())
    }
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteSummary {
    /// How many records.
    pub records: u64,
    /// How many bytes of text.
    pub text: u64,
    /// Where each block of bgzip but the first begins: in the file, and in the
    /// text. It is what a `.gzi` index holds.
    pub blocks: Vec<(u64, u64)>,
}

/// Writes records. A file is whole only after [`finish`](Self::finish).
pub struct RecordWriter {
    packer: Packer,
    options: WriterOptions,
    /// The text of one call, kept for its memory.
    text: Vec<u8>,
    written: WriteSummary,
}

enum Packer {
    Plain(WriteTarget),
    Gzip(Box<deflate::Writer<WriteTarget>>),
    Bgzip(Box<bgzip::BgzipWriter>),
}

impl RecordWriter {
    /// Writes to `target`, which may well be a file: writes are large.
    pub fn new(target: WriteTarget, options: WriterOptions) -> Result<Self> {
        options.check()?;
        let level = deflate::Level::new(options.level);
        let packer = match options.compression {
            Compression::None => Packer::Plain(target),
            Compression::Gzip => {
                let packer = deflate::Writer::new(sirocco::Format::Gzip, level, target);
                Packer::Gzip(Box::new(packer))
            }
            Compression::Bgzip => {
                let packer = bgzip::BgzipWriter::new(target, level, options.threads);
                Packer::Bgzip(Box::new(packer))
            }
            other => {
                let message = format!("compression must be none, gzip or bgzip, got {other}");
                return Err(Error::argument(message));
            }
        };
        Ok(Self {
            packer,
            options,
            text: Vec::new(),
            written: WriteSummary::default(),
        })
    }

    /// Writes records. One that would not read back as it is is a fault, and
    /// none of this call's records is written then.
    pub fn write(&mut self, columns: &RecordColumns<'_>) -> std::result::Result<(), Trouble> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let rendered = match self.options.format {
            Format::Fasta => render::fasta(columns, self.options.line_width, &mut text),
            Format::Fastq => render::fastq(columns, &mut text),
        };
        rendered.map_err(Trouble::Damage)?;
        self.write_text(&text)?;
        self.written.records += as_u64(columns.sequences.len());
        self.text = text;
        Ok(())
    }

    /// Writes text as it is.
    pub fn write_text(&mut self, text: &[u8]) -> io::Result<()> {
        self.written.text += as_u64(text.len());
        match &mut self.packer {
            Packer::Plain(target) => target.write_all(text),
            Packer::Gzip(packer) => packer.write_all(text),
            Packer::Bgzip(packer) => packer.write(text),
        }
    }

    /// Writes what ends the file, and says what was written.
    pub fn finish(self) -> io::Result<WriteSummary> {
        let mut written = self.written;
        let mut target = match self.packer {
            Packer::Plain(target) => target,
            Packer::Gzip(packer) => packer.finish()?,
            Packer::Bgzip(packer) => packer.finish(&mut written.blocks)?,
        };
        target.flush()?;
        Ok(written)
    }
}
