//! All of a gzip file's text in order, unpacked by several threads.
//!
//! The index next to the file says where inflating can start. Without one, several threads unpack
//! a file only if this process has read it before: see [`seqloom_compression::parallel`].

mod known;

use std::path::Path;

use seqloom_compression as compression;
use seqloom_compression::Compression;
use seqloom_compression::input::BufferedInput;
use seqloom_compression::parallel::{is_large, text_again, text_by_spans};
use seqloom_core::error::Fault;
use seqloom_core::{Error, Result};
use seqloom_sequences::options::ReaderOptions;
use seqloom_sequences::reader::Reader;

use self::known::known;

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
fn in_parallel(path: &Path, options: &compression::UnpackOptions) -> Option<Box<dyn compression::Text>> {
    let is_named = options.threads > 1 && path != Path::new("-");
    (is_named && is_large(path)).then_some(())?;
    text_by_index(path, options).or_else(|| text_again(path, options))
}

/// Opens a gzip file that is read from a record on, by the index that lies
/// beside it. Without one that is of the file as it is, that is an error.
pub fn open_reader_at(path: &Path, options: &ReaderOptions, record: u64) -> Result<Reader> {
    let found = known(path).and_then(|known| {
        let begin = known.begin_of(record)?;
        text_by_spans(known.text, begin, None, options.unpacking())
    });
    let text = found.ok_or_else(|| {
        let why =
            format!("has no index beside it that is of the file and leads to record {record}");
        Error::format(path, Fault::whole(why))
    });
    Reader::of_text(path, (Compression::Gzip, Box::new(text?)), options)
}

/// The text of a gzip file beside which its index lies, unpacked by several
/// threads; nothing where there is no index, or it is of no use.
pub fn text_by_index(
    path: &Path,
    options: &compression::UnpackOptions,
) -> Option<Box<dyn compression::Text>> {
    let known = known(path)?;
    let input = BufferedInput::open(path).ok()?;
    let text = text_by_spans(known.text, 0, Some(input), options.clone())?;
    Some(Box::new(text))
}

#[cfg(test)]
mod tests;
