//! Decompresses a gzip file with several threads and returns its text in order.
//!
//! Decompression can start only at certain positions, and needs the text before them.
//! Both come from one of two sources:
//!
//! ```text
//! spans         the index file
//! remembered    snapshots of the decoder from an earlier read by this process
//! ```
//!
//! Each thread decompresses a part. The checksum of every member is combined from its
//! parts. A source may belong to another file. If it differs from the data, one thread
//! decompresses the file again from its beginning. A corrupt file therefore gives the
//! same error with and without a source.

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
pub use crate::snapshots::MIN_PARALLEL_FILE_BYTES;
use crate::text::Trouble;

/// Returns true if several threads decompress a file of this size faster than one.
pub fn is_large(path: &Path) -> bool {
    let facts = path.metadata();
    facts.is_ok_and(|facts| facts.is_file() && facts.len() >= MIN_PARALLEL_FILE_BYTES)
}

/// Minimal size of the text of a part.
const MIN_PART_TEXT_BYTES: u64 = if cfg!(fuzzing) { 1 << 12 } else { 1 << 20 };

/// Positions in a file where decompression can start, numbered in order.
trait StartPositions: Send + Sync {
    /// Returns the compressed file.
    fn disk(&self) -> &Disk;

    /// Returns the start position at which a part that begins at `first` ends; `None`
    /// after the last part.
    fn end_of(&self, first: usize) -> Option<usize>;

    /// Returns the size of the text of the longest part.
    fn max_part_text(&self) -> u64;

    /// Decompresses the text between two start positions.
    fn unpack(
        &self,
        range: Range<usize>,
        part: &mut Buffers,
        decoder: &mut Decoder,
    ) -> Result<Members, Trouble>;
}

/// The buffers of a part; a later part reuses them.
#[derive(Default)]
struct Buffers {
    packed: Vec<u8>,
    /// The text before the part, the text of the part, and spare bytes after it.
    out: Vec<u8>,
    /// The range of unread text.
    text: Range<usize>,
}

/// The text between two start positions.
struct TextPart {
    starts: Arc<dyn StartPositions>,
    range: Range<usize>,
    buffers: Buffers,
    /// The members of the part, or the reason why its text is not the expected one.
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

    /// Returns the unread text.
    fn waiting(&self) -> &[u8] {
        &self.buffers.out[self.buffers.text.clone()]
    }

    /// Marks the first `count` bytes of the text as read.
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
