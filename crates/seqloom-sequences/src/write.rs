//! Writes records to a file, which is uncompressed or compressed as gzip or bgzip.
//!
//! The same records and options produce the same bytes for any number of threads. The
//! gzip headers contain neither a file name nor a time.

mod bgzip;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use seqloom_core::{Error, Result};
use sirocco::deflate;

use crate::{options::Format, render, render::RecordColumns};
use seqloom_compression::{Compression, ReadError};
use seqloom_core::number::as_u64;

pub use bgzip::WriteTarget;

/// The maximum compression level of gzip.
const MAX_GZIP_LEVEL: u8 = 9;

/// Options for writing records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// The text format.
    pub format: Format,
    /// The compression: none, gzip or bgzip.
    pub compression: Compression,
    /// The compression level, from 0 (none) to 9.
    pub level: u8,
    /// The number of residues per line of FASTA, or `None` to write each sequence as
    /// one line.
    pub line_width: Option<usize>,
    /// The number of threads for bgzip compression, including the caller's thread.
    pub threads: usize,
}

impl WriterOptions {
    /// Returns the default options: no compression, lines of 60 residues, one thread.
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
        if self.level > MAX_GZIP_LEVEL {
            let message = format!(
                "level must be from 0 to {MAX_GZIP_LEVEL}, got {}",
                self.level
            );
            return Err(Error::argument(message));
        }
        if self.line_width == Some(0) {
            return Err(Error::argument("line_width must be at least 1, got 0"));
        }
        Ok(())
    }
}

/// A summary of a file that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteSummary {
    /// The number of records.
    pub records: u64,
    /// The number of bytes of text.
    pub text: u64,
    /// The offsets of each bgzip block except the first, in the compressed file and in
    /// the text. A `.gzi` index contains the same offsets.
    pub blocks: Vec<(u64, u64)>,
}

/// A writer of records. The file is complete only after [`finish`](Self::finish).
pub struct RecordWriter {
    compressor: Compressor,
    options: WriterOptions,
    /// The text buffer, which is reused between calls.
    text: Vec<u8>,
    summary: WriteSummary,
}

enum Compressor {
    Plain(WriteTarget),
    Gzip(Box<deflate::Writer<WriteTarget>>),
    Bgzip(Box<bgzip::BgzipWriter>),
}

impl RecordWriter {
    /// Creates a writer. The target needs no buffer, because text is written in large
    /// pieces.
    pub fn new(target: WriteTarget, options: WriterOptions) -> Result<Self> {
        options.check()?;
        let level = deflate::Level::new(options.level);
        let compressor = match options.compression {
            Compression::None => Compressor::Plain(target),
            Compression::Gzip => {
                let compressor = deflate::Writer::new(sirocco::Format::Gzip, level, target);
                Compressor::Gzip(Box::new(compressor))
            }
            Compression::Bgzip => {
                let compressor = bgzip::BgzipWriter::new(target, level, options.threads);
                Compressor::Bgzip(Box::new(compressor))
            }
            other => {
                let message = format!("compression must be none, gzip or bgzip, got {other}");
                return Err(Error::argument(message));
            }
        };
        Ok(Self {
            compressor,
            options,
            text: Vec::new(),
            summary: WriteSummary::default(),
        })
    }

    /// Writes records. If the reader would not return one of the records unchanged, no
    /// record is written and an error is returned.
    pub fn write(&mut self, columns: &RecordColumns<'_>) -> std::result::Result<(), ReadError> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let rendered = match self.options.format {
            Format::Fasta => render::append_fasta(columns, self.options.line_width, &mut text),
            Format::Fastq => render::append_fastq(columns, &mut text),
        };
        rendered.map_err(ReadError::Damage)?;
        self.write_text(&text)?;
        self.summary.records += as_u64(columns.sequences.len());
        self.text = text;
        Ok(())
    }

    /// Writes text to the file unchanged.
    pub fn write_text(&mut self, text: &[u8]) -> io::Result<()> {
        self.summary.text += as_u64(text.len());
        match &mut self.compressor {
            Compressor::Plain(target) => target.write_all(text),
            Compressor::Gzip(compressor) => compressor.write_all(text),
            Compressor::Bgzip(compressor) => compressor.write(text),
        }
    }

    /// Completes the file and returns a summary.
    pub fn finish(self) -> io::Result<WriteSummary> {
        let mut summary = self.summary;
        let mut target = match self.compressor {
            Compressor::Plain(target) => target,
            Compressor::Gzip(compressor) => compressor.finish()?,
            Compressor::Bgzip(compressor) => compressor.finish(&mut summary.blocks)?,
        };
        target.flush()?;
        Ok(summary)
    }
}
