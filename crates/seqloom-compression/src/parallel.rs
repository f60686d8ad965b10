//! All of a gzip file's text in order, unpacked by several threads.
//!
//! Something says where inflating can start and what stands before:
//!
//! ```text
//! spans         the index next to the file
//! remembered    decoders that were put aside when this process read the file before
//! ```
//!
//! Each thread takes a part; the checksum of every member is put together
//! from those of its parts. Neither of the two is trusted: where one belongs
//! to another file, or differs from what is found, one thread unpacks the file
//! again from its beginning. So a damaged file gives the same error with and
//! without help.

mod members;
mod reader;
mod remembered;
mod spans;

use std::path::Path;

pub use self::reader::{Parallel, Plan};
use self::remembered::Remembered;
pub use self::spans::{Spans, parts_ahead};
use crate::input::Input;
pub use crate::positions::SMALLEST;
use crate::{Options, Text};

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

#[cfg(test)]
mod tests;
