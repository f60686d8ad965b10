//! Decompresses a whole gzip file with several threads.
//!
//! The index next to the file contains positions where decompression can start. Without an index,
//! several threads are used only if this process has read the file before: see [`seqloom_compression::parallel`].

mod gzip_index;

use std::path::Path;

use seqloom_compression::parallel::{is_large_file, text_by_spans, text_from_snapshots};
use seqloom_compression::{Compression, TextSource, UnpackOptions, input::BufferedInput};
use seqloom_core::{Error, Result, error::Fault};
use seqloom_sequences::{options::ReaderOptions, reader::Reader};

use self::gzip_index::open_index;

/// Opens a file to read it from the beginning.
///
/// A large gzip file is decompressed by all threads if its index is next to it or this
/// process has already read the whole file. In all other cases, one thread decompresses
/// the gzip file.
pub fn open_reader(path: &Path, options: &ReaderOptions) -> Result<Reader> {
    match text_by_threads(path, &options.unpack_options()) {
        Some(text) => Reader::from_text(path, (Compression::Gzip, text), options),
        None => Reader::open(path, options),
    }
}

/// Returns the text of a file that is large enough for several threads to decompress it
/// faster than one thread.
fn text_by_threads(path: &Path, options: &UnpackOptions) -> Option<Box<dyn TextSource>> {
    let is_named = options.threads > 1 && path != Path::new("-");
    (is_named && is_large_file(path)).then_some(())?;
    text_by_index(path, options).or_else(|| text_from_snapshots(path, options))
}

/// Opens a gzip file to read it from a record, with the index next to it. Returns an error if there is
/// no index, or the file has changed since it was indexed.
pub fn open_reader_at_record(path: &Path, options: &ReaderOptions, record: u64) -> Result<Reader> {
    let found = open_index(path).and_then(|index| {
        let begin = index.record_offset(record)?;
        text_by_spans(index.text, begin, None, options.unpack_options())
    });
    let text = found.ok_or_else(|| {
        let why = format!("needs an up-to-date index next to it that contains record {record}");
        Error::format(path, Fault::of_file(why))
    });
    Reader::from_text(path, (Compression::Gzip, Box::new(text?)), options)
}

/// Returns the text of a gzip file, decompressed by several threads with the index next to it.
/// Returns `None` if there is no index or the file has changed since it was indexed.
pub fn text_by_index(path: &Path, options: &UnpackOptions) -> Option<Box<dyn TextSource>> {
    let index = open_index(path)?;
    let input = BufferedInput::open(path).ok()?;
    let text = text_by_spans(index.text, 0, Some(input), options.clone())?;
    Some(Box::new(text))
}

#[cfg(test)]
mod tests;
