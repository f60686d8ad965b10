//! Decompresses a gzip file with several threads, and returns its text in order, unpacked by several threads.
//!
//! Two things say where inflating can start and what text precedes it:
//!
//! ```text
//! spans         the index next to the file
//! remembered    snapshots of the decoder, taken when this process read the file before
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

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use seqloom_core::workers::Job;
use sirocco::Format;
use sirocco::inflate::Decoder;

use self::members::Members;

pub use self::reader::Parallel;
pub use self::remembered::text_again;
pub use self::spans::text_by_spans;
use crate::disk::Disk;
use crate::seekable::changed;
pub use crate::snapshots::SMALLEST;
use crate::text::Trouble;

/// Whether a file is so large that several threads unpack it sooner than one.
pub fn is_large(path: &Path) -> bool {
    let facts = path.metadata();
    facts.is_ok_and(|facts| facts.is_file() && facts.len() >= SMALLEST)
}

/// How much text a part has, at least.
const ENOUGH: u64 = if cfg!(fuzzing) { 1 << 12 } else { 1 << 20 };

/// Positions in a file where inflating can start, numbered in their order.
trait StartPositions: Send + Sync {
    /// The packed file.
    fn disk(&self) -> &Disk;

    /// The start that ends a part which begins at `first`; nothing after the last part.
    fn end_of(&self, first: usize) -> Option<usize>;

    /// How much text the longest part has.
    fn longest(&self) -> u64;

    /// Unpacks the text from one start to another.
    fn unpack(
        &self,
        range: Range<usize>,
        part: &mut Buffers,
        decoder: &mut Decoder,
    ) -> Result<Members, Trouble>;
}

/// The buffers of a part, which a later part reuses.
#[derive(Default)]
struct Buffers {
    packed: Vec<u8>,
    /// The text before the part, its own text, and spare bytes after it.
    out: Vec<u8>,
    /// The text that was not used.
    text: Range<usize>,
}

/// The text between two starts.
struct TextPart {
    starts: Arc<dyn StartPositions>,
    range: Range<usize>,
    buffers: Buffers,
    /// What its members came to, or why it is not the text that was expected.
    outcome: Result<Members, Trouble>,
}

impl TextPart {
    fn new(starts: &Arc<dyn StartPositions>) -> Self {
        Self {
            starts: Arc::clone(starts),
            range: 0..0,
            buffers: Buffers::default(),
            outcome: Ok(Members::default()),
        }
    }

    /// The text that was not used.
    fn waiting(&self) -> &[u8] {
        &self.buffers.out[self.buffers.text.clone()]
    }

    /// Uses the first `count` bytes of it.
    fn consume(&mut self, count: usize) {
        self.buffers.text.start += count;
    }
}

impl Job for TextPart {
    type Workspace = Box<Decoder>;

    fn workspace(&self) -> Self::Workspace {
        Box::new(Decoder::new(Format::Deflate))
    }

    fn work(&mut self, decoder: &mut Self::Workspace) {
        let range = self.range.clone();
        self.outcome = self.starts.unpack(range, &mut self.buffers, decoder);
    }

    fn fail(&mut self) {
        self.outcome = Err(changed("it could not be unpacked"));
    }
}

#[cfg(test)]
mod tests;
