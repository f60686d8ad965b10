//! All of a gzip file's text in order, unpacked by several threads.
//!
//! Something says where inflating can start and what stands before:
//!
//! ```text
//! spans     the index that lies beside the file
//! positions    decoders that were put aside when this process read it before
//! guessed   nothing: it is guessed, which costs more than knowing
//! ```
//!
//! Each thread takes a part; the checksum of every member is put together
//! from those of its parts. None of the three is trusted: where one belongs
//! to another file, or differs from what is found, one thread unpacks the file
//! again from its beginning. So a damaged file gives the same error with and
//! without help.

mod guessed;
mod members;
mod reader;
mod remembered;
mod spans;

use std::num::NonZero;
use std::path::Path;
use std::thread::available_parallelism;

use self::guessed::Guessed;
pub use self::reader::{Parallel, Plan};
use self::remembered::Remembered;
pub use self::spans::{Spans, parts_ahead};
use crate::input::Input;
pub use crate::positions::SMALLEST;
use crate::{Options, Text};

/// On how many processors a file of which nothing is known is unpacked by all of
/// them. Not knowing took 2.5 times the processor time of one thread that knows
/// (FASTQ and a genome, three threads on two busy cores of an AMD EPYC, Zen 3), and
/// parsing takes a quarter; two processors may be one core, and worth 1.3 of it.
const GUESSERS: usize = if cfg!(fuzzing) { 1 } else { 6 };
/// How large such a file is at least: threads and their buffers must pay.
const SMALLEST_GUESSED: u64 = if cfg!(fuzzing) { 1 } else { 32 << 20 };
/// How many threads guess, at most: each takes some 12 MB, and 50 MB where a file is
/// packed to a sixteenth.
const MOST_GUESSERS: usize = 16;
/// How much of such a file a thread takes at once.
const GUESSED_PART: u64 = if cfg!(fuzzing) { 1 << 10 } else { 1 << 20 };
/// Whether a file is so large that several threads unpack it sooner than one.
pub fn is_large(path: &Path) -> bool {
    let facts = path.metadata();
    facts.is_ok_and(|facts| facts.is_file() && facts.len() >= SMALLEST)
}

/// The text of a gzip file that this process has read before, unpacked by
/// several threads; nothing where it has not, or the file was written since.
pub fn text_again(path: &Path, options: &Options) -> Option<Box<dyn Text>> {
    let remembered = Remembered::open(path)?;
    let ahead = remembered.ahead(options.threads)?;
    let input = Input::open(path).ok()?;
    let text = Parallel::new(remembered, ahead, Some(input), options.clone());
    Some(Box::new(text))
}

/// The text of a gzip file of which nothing is known, unpacked by several
/// threads; nothing where that takes longer, or the file is an unusual one.
pub fn text_by_guess(path: &Path, options: &Options) -> Option<Box<dyn Text>> {
    let processors = available_parallelism().map_or(1, NonZero::get);
    let size = path.metadata().ok()?.len();
    let pays = guessing_pays(options.threads.min(processors), size);
    let guessed = pays.then(|| Guessed::open(path, GUESSED_PART)).flatten()?;
    let input = Input::open(path).ok()?;
    let threads = options.threads.min(MOST_GUESSERS);
    let options = Options {
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
