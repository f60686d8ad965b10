//! All of a gzip file's text in order, unpacked by several threads.
//!
//! The index next to the file says where inflating can start. Without one, several threads unpack
//! a file only if this process has read it before: see [`seqloom_compression::parallel`].

mod gzip_index;

use std::path::Path;

use seqloom_compression::input::BufferedInput;
use seqloom_compression::parallel::{is_large, text_again, text_by_spans};
use seqloom_compression::{Compression, Text, UnpackOptions};
use seqloom_core::error::Fault;
use seqloom_core::{Error, Result};
use seqloom_sequences::options::ReaderOptions;
use seqloom_sequences::reader::Reader;

use self::gzip_index::open_index;

/// Opens a file that is read from its beginning.
///
/// All threads unpack a large gzip file if its index exists next to it, or if this
/// process has read all of it before. Otherwise one thread does.
pub fn open_reader(path: &Path, options: &ReaderOptions) -> Result<Reader> {
    match in_parallel(path, &options.unpacking()) {
        Some(text) => Reader::of_text(path, (Compression::Gzip, text), options),
        None => Reader::open(path, options),
    }
}

/// The text of a file that several threads unpack sooner than one.
fn in_parallel(path: &Path, options: &UnpackOptions) -> Option<Box<dyn Text>> {
    let is_named = options.threads > 1 && path != Path::new("-");
    (is_named && is_large(path)).then_some(())?;
    text_by_index(path, options).or_else(|| text_again(path, options))
}

/// Opens a gzip file to read it from a record on, by the index next to it. If there is no index,
/// or the file has changed since it was made, that is an error.
pub fn open_reader_at(path: &Path, options: &ReaderOptions, record: u64) -> Result<Reader> {
    let found = open_index(path).and_then(|index| {
        let begin = index.begin_of(record)?;
        text_by_spans(index.text, begin, None, options.unpacking())
    });
    let text = found.ok_or_else(|| {
        let why =
            format!("has no index beside it that is of the file and leads to record {record}");
        Error::format(path, Fault::whole(why))
    });
    Reader::of_text(path, (Compression::Gzip, Box::new(text?)), options)
}

/// Returns the text of a gzip file, unpacked by several threads with the index next to it;
/// `None` if there is no index or the file has changed since it was made.
pub fn text_by_index(path: &Path, options: &UnpackOptions) -> Option<Box<dyn Text>> {
    let index = open_index(path)?;
    let input = BufferedInput::open(path).ok()?;
    let text = text_by_spans(index.text, 0, Some(input), options.clone())?;
    Some(Box::new(text))
}

#[cfg(test)]
mod tests;
