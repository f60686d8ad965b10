//! Reads the text of a plain or compressed file at any offset.

mod block;
mod compressed;
mod span;

use std::ops::Range;

use seqloom_core::number::as_u64;

pub(crate) use self::block::block_size_at;
pub use self::block::{BgzipBlock, find_blocks};
use self::compressed::shortened_file;
pub use self::compressed::{MAX_TEXT_BYTES, changed_file, check_start_positions};
pub(crate) use self::compressed::{check_text_size, read_packed};
pub use self::span::{Span, compress_window};
pub(crate) use self::span::{invalid_deflate, read_span};
use super::disk::{DiskFile, try_resize_buffer};
use super::index_bytes::IndexBytes;
use crate::text::ReadError;

/// The positions of a file at which decompression can start.
#[derive(Clone, Debug)]
pub enum AccessPoints {
    /// The file is not compressed.
    Plain,
    /// The blocks of a bgzip file.
    Bgzip(Vec<BgzipBlock>),
    /// Positions at which decompression of a gzip file can start.
    Gzip(Vec<Span>),
}

/// A plain or compressed file whose text can be read at any offset.
#[derive(Debug)]
pub struct SeekableText {
    /// The file.
    pub disk: DiskFile,
    /// The compression of the file, with the positions at which decompression can
    /// start.
    pub container: AccessPoints,
    /// The size of the decompressed text in bytes.
    pub size: u64,
    /// The bytes of the index. For a gzip file, the index contains the text before each
    /// position at which decompression can start.
    pub image: IndexBytes,
}

/// Decompressed text and buffers that a thread reuses between reads.
#[derive(Default)]
pub struct TextCache {
    recent: RecentBlocks,
    packed: Vec<u8>,
}

impl SeekableText {
    /// Appends a range of the decompressed text to `out`.
    pub fn read_range(
        &self,
        range: Range<u64>,
        out: &mut Vec<u8>,
        cache: &mut TextCache,
    ) -> Result<(), ReadError> {
        self.read_bytes(range, out, cache, false)
    }

    /// Appends a range of the decompressed text to `out`. If `is_sealed` is true, the
    /// caller verifies a checksum of the requested range, so only this range is
    /// decompressed. The checksums of the compression format cover more text and are then
    /// not verified.
    pub fn read_bytes(
        &self,
        range: Range<u64>,
        out: &mut Vec<u8>,
        cache: &mut TextCache,
        is_sealed: bool,
    ) -> Result<(), ReadError> {
        if range.start > range.end || range.end > self.size {
            return Err(changed_file("the index points beyond the end of the file"));
        }
        let size = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let before = out.len();
        match self.container {
            AccessPoints::Plain if range.end > self.disk.size() => {
                Err(changed_file("it is shorter"))
            }
            AccessPoints::Plain => {
                try_resize_buffer(out, before.saturating_add(size))?;
                let text = out.get_mut(before..).unwrap_or_default();
                self.disk.read_at(range.start, text).map_err(shortened_file)
            }
            _ => self.decompress_range(range, out, cache, is_sealed),
        }
    }

    fn decompress_range(
        &self,
        range: Range<u64>,
        out: &mut Vec<u8>,
        cache: &mut TextCache,
        is_sealed: bool,
    ) -> Result<(), ReadError> {
        let mut at = range.start;
        let mut number = self.block_number_at(at);
        while at < range.end {
            let bounds = self.text_range(number);
            let end = range.end.min(bounds.end);
            let position =
                |position: u64| usize::try_from(position - bounds.start).unwrap_or(usize::MAX);
            let (size, whole) = (position(end), position(bounds.end));
            let needed = if is_sealed { size } else { whole };
            let text = if let Some(recent) = cache.recent.find_block(number, needed) {
                cache.recent.block_text(recent)
            } else {
                let is_new = !cache.recent.remove_block(number);
                let size = if is_new { needed } else { whole };
                let text = self.decompress_block(number, size, &mut cache.packed)?;
                cache.recent.add_block(number, text)
            };
            let slice = text.get(position(at)..position(end));
            out.extend_from_slice(slice.ok_or_else(|| changed_file("a block is shorter"))?);
            at = end;
            number += 1;
        }
        Ok(())
    }

    /// Returns the number of the block or span that contains the offset `at` of the
    /// decompressed text.
    fn block_number_at(&self, at: u64) -> usize {
        let after = match &self.container {
            AccessPoints::Plain => 1,
            AccessPoints::Bgzip(blocks) => blocks.partition_point(|block| block.text <= at),
            AccessPoints::Gzip(spans) => spans.partition_point(|span| span.text <= at),
        };
        after.saturating_sub(1)
    }

    /// Returns the positions at which decompression can start, if this is a gzip file.
    pub fn spans(&self) -> &[Span] {
        match &self.container {
            AccessPoints::Gzip(spans) => spans,
            _ => &[],
        }
    }

    /// Returns the number of the span that contains the offset `at` of the decompressed
    /// text, and the offset at which that span begins.
    pub fn span_at(&self, at: u64) -> (usize, u64) {
        let number = self.block_number_at(at);
        (number, self.text_range(number).start)
    }

    /// Returns the range of the decompressed text that a block or span contains.
    pub(crate) fn text_range(&self, number: usize) -> Range<u64> {
        let start = |number: usize| match &self.container {
            AccessPoints::Plain => None,
            AccessPoints::Bgzip(blocks) => blocks.get(number).map(|block| block.text),
            AccessPoints::Gzip(spans) => spans.get(number).map(|span| span.text),
        };
        start(number).unwrap_or(self.size)..start(number + 1).unwrap_or(self.size)
    }

    /// Decompresses the first `size` bytes of a block or span. If `size` is the size of
    /// the whole block or span, the checksum is verified.
    fn decompress_block(
        &self,
        number: usize,
        size: usize,
        packed: &mut Vec<u8>,
    ) -> Result<Vec<u8>, ReadError> {
        let bounds = self.text_range(number);
        let is_whole = as_u64(size) == bounds.end - bounds.start;
        match &self.container {
            AccessPoints::Plain => Ok(Vec::new()),
            AccessPoints::Bgzip(blocks) => {
                block::decompress_block(&self.disk, blocks, number, (size, is_whole), packed)
            }
            AccessPoints::Gzip(_) => span::decompress_span(self, number, (size, is_whole), packed),
        }
    }
}

/// Maximal size of the cached text in bytes.
const MAX_CACHED_BYTES: usize = 8 << 20;
/// Maximal number of cached blocks or spans. The number is small because the cache is
/// searched linearly.
const MAX_CACHED_BLOCKS: usize = 256;

/// A cache of the most recently used blocks or spans.
#[derive(Default)]
struct RecentBlocks {
    /// The number, the time of the last use and the text of each cached block or span.
    pieces: Vec<(usize, u64, Vec<u8>)>,
    size: usize,
    clock: u64,
}

impl RecentBlocks {
    /// Returns the position of a block or span in the cache, if at least `size` bytes
    /// of its text are cached.
    fn find_block(&mut self, number: usize, size: usize) -> Option<usize> {
        self.clock += 1;
        let mut pieces = self.pieces.iter_mut().enumerate();
        let (position, piece) = pieces.find(|(_, piece)| piece.0 == number)?;
        piece.1 = self.clock;
        (piece.2.len() >= size).then_some(position)
    }

    fn block_text(&self, position: usize) -> &[u8] {
        self.pieces.get(position).map_or(&[], |piece| &piece.2)
    }

    /// Removes a block or span from the cache. Returns true if the cache contained the
    /// block or span.
    fn remove_block(&mut self, number: usize) -> bool {
        let position = self.pieces.iter().position(|piece| piece.0 == number);
        if let Some(position) = position {
            self.size -= self.pieces.swap_remove(position).2.len();
        }
        position.is_some()
    }

    fn add_block(&mut self, number: usize, text: Vec<u8>) -> &[u8] {
        let is_full = |recent: &Self| {
            recent.size + text.len() > MAX_CACHED_BYTES || recent.pieces.len() >= MAX_CACHED_BLOCKS
        };
        while is_full(self) && self.drop_oldest() {}
        self.size += text.len();
        self.pieces.push((number, self.clock, text));
        self.pieces.last().map_or(&[], |piece| &piece.2)
    }

    fn drop_oldest(&mut self) -> bool {
        let pieces = self.pieces.iter().enumerate();
        let oldest = pieces.min_by_key(|(_, piece)| piece.1);
        let oldest = oldest.map(|(position, _)| position);
        if let Some(position) = oldest {
            self.size -= self.pieces.swap_remove(position).2.len();
        }
        oldest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_piece_is_dropped_first() {
        let mut recent = RecentBlocks::default();
        recent.add_block(1, vec![1; MAX_CACHED_BYTES / 2]);
        recent.add_block(2, vec![2; MAX_CACHED_BYTES / 2]);
        assert!(recent.find_block(1, 1).is_some());
        recent.add_block(3, vec![3; 9]);
        assert_eq!(
            [1, 2, 3].map(|number| recent.find_block(number, 1).is_some()),
            [true, false, true]
        );
    }
}
