//! Creates an index by scanning a file.

mod checked_scan;
mod gzip;
mod segments;

use std::io::{self, BufWriter, Cursor, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use seqloom_core::error::Fault;
use seqloom_core::{Error, Result};

use self::gzip::scan_gzip;
use self::segments::scan_text;
use super::building::{Building, RowSink};
use super::head::SourceStamp;
use super::row::IndexRow;
use super::stamp::{chunks, stamp};
use super::trouble::to_error;
use super::write::{FileSummary, IndexWriter};
use seqloom_compression::disk::Disk;
use seqloom_compression::image::IndexBytes;
use seqloom_compression::part::PartFile;
use seqloom_compression::seekable::{Container, Seekable, blocks};
use seqloom_compression::{Compression, Trouble};
use seqloom_sequences::options::{Format, ReaderOptions};
use seqloom_sequences::reader::Reader;

/// Creates the index of a file and writes it to `side`. After an error, no index file
/// remains.
pub fn build(path: &Path, side: &Path, building: &Building) -> Result<()> {
    let io = |error: io::Error| Error::io(side, &error);
    let part = PartFile::create(side).map_err(io)?;
    let out = BufWriter::with_capacity(1 << 20, part.file().map_err(io)?);
    drop(write_index(path, out, building)?);
    part.commit(side).map_err(io)
}

/// Creates the index of a file in memory.
pub fn build_in_memory(path: &Path, building: &Building) -> Result<Vec<u8>> {
    write_index(path, Cursor::new(Vec::new()), building).map(Cursor::into_inner)
}

fn write_index<W: Write + Seek + Send>(path: &Path, out: W, building: &Building) -> Result<W> {
    let (format, compression) = detect(path)?;
    let trouble = |trouble| to_error(path, trouble);
    let disk = Disk::open(path).map_err(|error| Error::io(path, &error))?;
    let io = |error: io::Error| trouble(Trouble::Io(error));
    let chunks = chunks(&disk, building).map_err(io)?;
    let source = stamp(&disk, &chunks);
    let mut rows = IndexWriter::new(out, true).map_err(io)?;
    let summary = match compression {
        Compression::Gzip => scan_gzip(path, format, &mut rows, building),
        _ => {
            text_of(disk, compression).and_then(|text| scan_text(text, format, &mut rows, building))
        }
    };
    let summary = summary.map_err(|trouble| {
        if building.check_cancelled().is_err() {
            to_error(path, trouble)
        } else {
            locate_fault(path, trouble)
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
    rows.finish(whole).map_err(io)
}

impl<W: Write + Seek> RowSink for IndexWriter<W> {
    fn take(&mut self, row: IndexRow, name: u64) -> io::Result<()> {
        self.put(row, name)
    }
}

/// Returns the format and compression, or an error if the file does not allow random access.
fn detect(path: &Path) -> Result<(Format, Compression)> {
    Disk::open(path).map_err(|error| Error::io(path, &error))?;
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
pub(super) fn text_of(
    disk: Disk,
    compression: Compression,
) -> std::result::Result<Seekable, Trouble> {
    let (container, size) = match compression {
        Compression::Bgzip => {
            let (blocks, size) = blocks(&disk)?;
            (Container::Bgzip(blocks), size)
        }
        _ => (Container::Plain, disk.size()),
    };
    let image = IndexBytes::Memory(Arc::new(Vec::new()));
    Ok(Seekable {
        disk,
        container,
        size,
        image,
    })
}

/// Reads a file again from the beginning after the scan failed, and returns the error,
/// with the record and line of the fault.
fn locate_fault(path: &Path, trouble: Trouble) -> Error {
    let mut reader = match Reader::open(path, &ReaderOptions::default()) {
        Ok(reader) => reader,
        Err(error) => return error,
    };
    loop {
        match reader.read(1 << 16, 1 << 24) {
            Ok(Some(_)) => {}
            Ok(None) => return to_error(path, trouble),
            Err(error) => return error,
        }
    }
}

fn check_unchanged(path: &Path, before: &SourceStamp) -> Result<()> {
    let now = Disk::open(path).map_err(|error| Error::io(path, &error))?;
    if (now.size(), now.changed()) == (before.size, before.changed) {
        return Ok(());
    }
    Err(Error::format(
        path,
        Fault::of_file("the file was changed while it was being indexed; try again"),
    ))
}
