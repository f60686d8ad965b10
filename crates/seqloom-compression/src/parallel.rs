//! Decompresses a gzip file with several threads, and returns the text in order.
//!
//! Decompression can start only at certain positions of the file, and needs the text
//! before them. The positions and the text before them come from one of two sources:
//!
//! ```text
//! spans         the index file
//! remembered    snapshots of the decoder from an earlier read by this process
//! ```
//!
//! Each thread decompresses the range between two positions. The checksums of these
//! ranges are combined into the checksum of each gzip member. An index or snapshots may
//! belong to another file. If the index or snapshots do not match the compressed data,
//! one thread decompresses the file again from its beginning. A corrupt file therefore
//! leads to the same error with and without an index.

mod members;
mod reader;
mod snapshot_text;
mod spans;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use seqloom_core::workers::Job;
use sirocco::{Format, inflate::Decoder};

use self::members::PartMembers;

pub use self::reader::ParallelText;
pub use self::snapshot_text::text_from_snapshots;
pub use self::spans::text_by_spans;
pub use crate::snapshots::MIN_PARALLEL_FILE_BYTES;
use crate::{disk::DiskFile, seekable::changed_file, text::ReadError};

/// Returns true if several threads decompress a file of this size faster than one.
pub fn is_large_file(path: &Path) -> bool {
    let facts = path.metadata();
    facts.is_ok_and(|facts| facts.is_file() && facts.len() >= MIN_PARALLEL_FILE_BYTES)
}

/// Minimal size in bytes of the text that a thread decompresses at a time.
const MIN_PART_TEXT_BYTES: u64 = if cfg!(fuzzing) { 1 << 12 } else { 1 << 20 };

/// The positions in a file where decompression can start, in order.
trait StartPositions: Send + Sync {
    /// Returns the compressed file.
    fn disk(&self) -> &DiskFile;

    /// Returns the end of the part of the file that begins at start position `first`.
    /// The end is the index of another start position. Returns `None` after the last
    /// part of the file.
    fn part_end(&self, first: usize) -> Option<usize>;

    /// Returns the size in bytes of the longest decompressed part of the file.
    fn max_part_text_bytes(&self) -> u64;

    /// Decompresses the part of a file between two start positions.
    fn decode_part(
        &self,
        range: Range<usize>,
        part: &mut PartBuffers,
        decoder: &mut Decoder,
    ) -> Result<PartMembers, ReadError>;
}

/// The buffers for decompressing a part of the file. The next part of the file reuses
/// the buffers.
#[derive(Default)]
struct PartBuffers {
    packed: Vec<u8>,
    /// The text before a part of the file, the text of that part, and some spare bytes.
    out: Vec<u8>,
    /// The range of `out` that was not read yet.
    text: Range<usize>,
}

/// A part of a file, between two start positions.
struct TextPart {
    starts: Arc<dyn StartPositions>,
    range: Range<usize>,
    buffers: PartBuffers,
    /// The gzip members in a part of the file, or an error if the text of that part
    /// does not match the index or snapshots.
    outcome: Result<PartMembers, ReadError>,
}

impl TextPart {
    fn new(starts: &Arc<dyn StartPositions>) -> Self {
        Self {
            starts: Arc::clone(starts),
            range: 0..0,
            buffers: PartBuffers::default(),
            outcome: Ok(PartMembers::default()),
        }
    }

    /// Returns the decompressed text that was not read yet.
    fn unread_text(&self) -> &[u8] {
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

    fn run(&mut self, decoder: &mut Self::Workspace) {
        let range = self.range.clone();
        self.outcome = self.starts.decode_part(range, &mut self.buffers, decoder);
    }

    fn mark_failed(&mut self) {
        self.outcome = Err(changed_file("it could not be unpacked"));
    }
}

#[cfg(test)]
mod tests;
