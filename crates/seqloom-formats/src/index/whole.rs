//! All of a gzip file's text in order, unpacked by several threads.
//!
//! Something says where inflating can start and what stands before:
//!
//! ```text
//! spans     the index that lies beside the file
//! places    decoders that were put aside when this process read it before
//! pieces    nothing: it is guessed, which costs more than knowing
//! ```
//!
//! Each thread takes a stretch; the checksum of every member is put together
//! from those of its stretches. None of the three is trusted: where one belongs
//! to another file, or differs from what is found, one thread unpacks the file
//! again from its beginning. So a damaged file gives the same error with and
//! without help.

mod guessed;
mod known;
mod parallel;
mod remembered;
mod spans;

use std::num::NonZero;
use std::path::Path;
use std::thread::available_parallelism;

use seqloom_core::error::Fault;
use seqloom_core::{Error, Result};

use self::guessed::Guessed;
use self::known::known;
use self::parallel::Parallel;
use self::remembered::Remembered;
use self::spans::Spans;
use crate::compression::places::SMALLEST;
use crate::compression::{self, Compression};
use crate::input::Input;
use crate::options::Options;
use crate::reader::Reader;

/// On how many processors a file of which nothing is known is unpacked by all of
/// them. Not knowing took 2.5 times the processor time of one thread that knows
/// (FASTQ and a genome, three threads on two busy cores of an AMD EPYC, Zen 3), and
/// parsing takes a quarter; two processors may be one core, and worth 1.3 of it.
const GUESSERS: usize = 6;
/// How large such a file is at least: threads and their buffers must pay.
const SMALLEST_GUESSED: u64 = 32 << 20;
/// How many threads guess, at most: each takes some 12 MB, and 50 MB where a file is
/// packed to a sixteenth.
const MOST_GUESSERS: usize = 16;
/// How much of such a file a thread takes at once.
const PIECE: u64 = 1 << 20;
/// How much text a stretch has, at least.
const ENOUGH: u64 = 1 << 20;
/// How much text all stretches have together that were unpacked and not used, at most.
const MOST: u64 = 256 << 20;

/// Opens a file that is read from its beginning.
///
/// A gzip file of some size is unpacked by as many threads as may read, where its
/// index lies beside it, or where this process has read all of it before; and else
/// where there are so many processors that guessing pays.
pub fn open_reader(path: &Path, options: &Options) -> Result<Reader> {
    match in_parallel(path, &options.unpacking()) {
        Some(text) => Reader::of_text(path, (Compression::Gzip, text), options),
        None => Reader::open(path, options),
    }
}

/// The text of a file that several threads unpack sooner than one.
fn in_parallel(path: &Path, options: &compression::Options) -> Option<Box<dyn compression::Text>> {
    let is_named = options.threads > 1 && path != Path::new("-");
    let facts = is_named.then(|| path.metadata().ok()).flatten()?;
    let is_large = facts.is_file() && facts.len() >= SMALLEST;
    is_large.then_some(())?;
    text_by_index(path, options)
        .or_else(|| text_again(path, options))
        .or_else(|| text_by_guess(path, options))
}

/// Opens a gzip file that is read from a record on, by the index that lies
/// beside it. Without one that is of the file as it is, that is an error.
pub fn open_reader_at(path: &Path, options: &Options, record: u64) -> Result<Reader> {
    let found = known(path, options.threads).and_then(|known| {
        let begin = known.begin_of(record)?;
        let ahead = known.ahead;
        let (spans, skipped) = Spans::new(known, begin);
        let text = Parallel::new(spans, ahead, None, options.unpacking());
        Some(text.from(begin, skipped))
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
    options: &compression::Options,
) -> Option<Box<dyn compression::Text>> {
    let known = known(path, options.threads)?;
    let input = Input::open(path).ok()?;
    let ahead = known.ahead;
    let (spans, _) = Spans::new(known, 0);
    let text = Parallel::new(spans, ahead, Some(input), options.clone());
    Some(Box::new(text))
}

/// The text of a gzip file that this process has read before, unpacked by
/// several threads; nothing where it has not, or the file was written since.
fn text_again(path: &Path, options: &compression::Options) -> Option<Box<dyn compression::Text>> {
    let remembered = Remembered::open(path)?;
    let ahead = remembered.ahead(options.threads)?;
    let input = Input::open(path).ok()?;
    let text = Parallel::new(remembered, ahead, Some(input), options.clone());
    Some(Box::new(text))
}

/// The text of a gzip file of which nothing is known, unpacked by several
/// threads; nothing where that takes longer, or the file is an unusual one.
fn text_by_guess(
    path: &Path,
    options: &compression::Options,
) -> Option<Box<dyn compression::Text>> {
    let processors = available_parallelism().map_or(1, NonZero::get);
    let size = path.metadata().ok()?.len();
    let pays = guessing_pays(options.threads.min(processors), size);
    let guessed = pays.then(|| Guessed::open(path, PIECE)).flatten()?;
    let input = Input::open(path).ok()?;
    let threads = options.threads.min(MOST_GUESSERS);
    let options = compression::Options {
        threads,
        ..options.clone()
    };
    let text = Parallel::new(guessed, threads + 1, Some(input), options);
    Some(Box::new(text))
}

/// Whether so many processors unpack a file of this size sooner than one, though
/// they do not know what stands before the pieces that they take.
fn guessing_pays(processors: usize, size: u64) -> bool {
    processors >= GUESSERS && size >= SMALLEST_GUESSED
}

#[cfg(test)]
mod tests;
