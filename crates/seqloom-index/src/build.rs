//! Creates an index by scanning a file.

mod checked_scan;
mod gzip;
mod segments;

use std::io::{self, BufWriter, Cursor, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use seqloom_core::{Error, Result, error::Fault};

use self::{gzip::scan_gzip, segments::scan_text};
use super::build_options::{BuildOptions, RowSink};
use super::errors::path_error;
use super::file_changes::{hash_chunks, source_stamp};
use super::header::SourceStamp;
use super::row::IndexRow;
use super::write::{FileSummary, IndexWriter};
use seqloom_compression::seekable::{AccessPoints, SeekableText, find_blocks};
use seqloom_compression::{Compression, ReadError};
use seqloom_compression::{disk::DiskFile, index_bytes::IndexBytes, temporary_file::TemporaryFile};
use seqloom_sequences::options::{Format, ReaderOptions};
use seqloom_sequences::reader::Reader;

/// Creates the index of a file and writes it to `side`. After an error, no index file
/// remains.
pub fn build_index_file(path: &Path, side: &Path, building: &BuildOptions) -> Result<()> {
    let io = |error: io::Error| Error::io(side, &error);
    let part = TemporaryFile::create(side).map_err(io)?;
    let out = BufWriter::with_capacity(1 << 20, part.file().map_err(io)?);
    drop(write_index(path, out, building)?);
    part.commit(side).map_err(io)
}

/// Creates the index of a file in memory.
pub fn build_in_memory(path: &Path, building: &BuildOptions) -> Result<Vec<u8>> {
    write_index(path, Cursor::new(Vec::new()), building).map(Cursor::into_inner)
}

fn write_index<W: Write + Seek + Send>(path: &Path, out: W, building: &BuildOptions) -> Result<W> {
    let (format, compression) = detect_format(path)?;
    let failure = |failure| path_error(path, failure);
    let disk = DiskFile::open(path).map_err(|error| Error::io(path, &error))?;
    let io = |error: io::Error| failure(ReadError::Io(error));
    let chunks = hash_chunks(&disk, building).map_err(io)?;
    let source = source_stamp(&disk, &chunks);
    let mut rows = IndexWriter::new(out, true).map_err(io)?;
    let summary = match compression {
        Compression::Gzip => scan_gzip(path, format, &mut rows, building),
        _ => seekable_text(disk, compression)
            .and_then(|text| scan_text(text, format, &mut rows, building)),
    };
    let summary = summary.map_err(|failure| {
        if building.check_cancelled().is_err() {
            path_error(path, failure)
        } else {
            locate_fault(path, failure)
        }
    })?;
    check_unchanged(path, &source)?;
    let whole = FileSummary {
        format,
        compression,
        source,
        text: summary.text,
        container: summary.container,
        windows: summary.windows,
        chunks,
    };
    rows.write_tables(whole).map_err(io)
}

impl<W: Write + Seek> RowSink for IndexWriter<W> {
    fn add_row(&mut self, row: IndexRow, name: u64) -> io::Result<()> {
        self.write_row(row, name)
    }
}

/// Returns the format and compression, or an error if the file does not allow random access.
fn detect_format(path: &Path) -> Result<(Format, Compression)> {
    DiskFile::open(path).map_err(|error| Error::io(path, &error))?;
    let reader = Reader::open(path, &ReaderOptions::default())?;
    match reader.compression() {
        Compression::None | Compression::Gzip | Compression::Bgzip => {
            Ok((reader.format(), reader.compression()))
        }
        other => Err(Error::format(
            path,
            Fault::of_file(format!(
                "{other} does not allow random access: convert it to bgzip (seqloom convert)"
            )),
        )),
    }
}

/// Returns the decompressed text of an uncompressed or bgzip file.
pub(super) fn seekable_text(
    disk: DiskFile,
    compression: Compression,
) -> std::result::Result<SeekableText, ReadError> {
    let (container, size) = match compression {
        Compression::Bgzip => {
            let (blocks, size) = find_blocks(&disk)?;
            (AccessPoints::Bgzip(blocks), size)
        }
        _ => (AccessPoints::Plain, disk.size()),
    };
    let image = IndexBytes::Memory(Arc::new(Vec::new()));
    Ok(SeekableText {
        disk,
        container,
        size,
        image,
    })
}

/// Reads a file again from the beginning after the scan failed, and returns the error,
/// with the record and line of the fault.
fn locate_fault(path: &Path, failure: ReadError) -> Error {
    let mut reader = match Reader::open(path, &ReaderOptions::default()) {
        Ok(reader) => reader,
        Err(error) => return error,
    };
    loop {
        match reader.read_batch(1 << 16, 1 << 24) {
            Ok(Some(_)) => {}
            Ok(None) => return path_error(path, failure),
            Err(error) => return error,
        }
    }
}

fn check_unchanged(path: &Path, before: &SourceStamp) -> Result<()> {
    let now = DiskFile::open(path).map_err(|error| Error::io(path, &error))?;
    if (now.size(), now.modification_time()) == (before.size, before.changed) {
        return Ok(());
    }
    Err(Error::format(
        path,
        Fault::of_file("the file was changed while it was being indexed; try again"),
    ))
}
