//! Reads the text of a plain or compressed file at any offset.

mod block;
mod packed;
mod span;

use std::ops::Range;

use seqloom_core::number::as_u64;

pub use self::block::{BgzipBlock, blocks};
use self::packed::shortened_file;
pub use self::packed::{MAX_TEXT_BYTES, changed, check_positions};
pub(crate) use self::packed::{check_size, packed_bytes};
pub use self::span::{Span, encode};
pub(crate) use self::span::{not_deflate, read_span};
use super::disk::{Disk, try_resize};
use super::image::IndexBytes;
use crate::text::Trouble;

/// The positions of a file at which decompression can start.
#[derive(Clone, Debug)]
pub enum Container {
    /// The file is not compressed.
    Plain,
    /// The blocks of a bgzip file.
    Bgzip(Vec<BgzipBlock>),
    /// Positions at which decompression of a gzip file can start.
    Gzip(Vec<Span>),
}

/// A plain or compressed file whose text can be read at any offset.
#[derive(Debug)]
pub struct Seekable {
    /// The file.
    pub disk: Disk,
    /// The compression of the file, with the positions at which decompression can
    /// start.
    pub container: Container,
    /// The size of the decompressed text in bytes.
    pub size: u64,
    /// The bytes of the index. For a gzip file, the index contains the text before each
    /// position at which decompression can start.
    pub image: IndexBytes,
}

/// Decompressed text and buffers that a thread reuses between reads.
#[derive(Default)]
pub struct TextCache {
    recent: RecentPieces,
    packed: Vec<u8>,
}

impl Seekable {
    /// Appends a range of the decompressed text to `out`.
    pub fn read(
        &self,
        range: Range<u64>,
        out: &mut Vec<u8>,
        cache: &mut TextCache,
    ) -> Result<(), Trouble> {
        self.read_for(range, out, cache, false)
    }

    /// Appends a range of the decompressed text to `out`. If `is_sealed` is true, the
    /// caller verifies a checksum of the requested range, so only this range is
    /// decompressed. The checksums of the compression format cover more text and are then
    /// not verified.
    pub fn read_for(
        &self,
        range: Range<u64>,
        out: &mut Vec<u8>,
        cache: &mut TextCache,
        is_sealed: bool,
    ) -> Result<(), Trouble> {
        if range.start > range.end || range.end > self.size {
            return Err(changed("the index points beyond the end of the file"));
        }
        let size = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let before = out.len();
        match self.container {
            Container::Plain if range.end > self.disk.size() => Err(changed("it is shorter")),
            Container::Plain => {
                try_resize(out, before.saturating_add(size))?;
                let text = out.get_mut(before..).unwrap_or_default();
                self.disk.read(range.start, text).map_err(shortened_file)
            }
            _ => self.unpack(range, out, cache, is_sealed),
        }
    }

    fn unpack(
        &self,
        range: Range<u64>,
        out: &mut Vec<u8>,
        cache: &mut TextCache,
        is_sealed: bool,
    ) -> Result<(), Trouble> {
        let mut at = range.start;
        let mut number = self.piece_at(at);
        while at < range.end {
            let bounds = self.bounds(number);
            let end = range.end.min(bounds.end);
            let position =
                |position: u64| usize::try_from(position - bounds.start).unwrap_or(usize::MAX);
            let (size, whole) = (position(end), position(bounds.end));
            let needed = if is_sealed { size } else { whole };
            let text = if let Some(recent) = cache.recent.find(number, needed) {
                cache.recent.text(recent)
            } else {
                let is_new = !cache.recent.remove(number);
                let size = if is_new { needed } else { whole };
                let text = self.decode(number, size, &mut cache.packed)?;
                cache.recent.put(number, text)
            };
            let slice = text.get(position(at)..position(end));
            out.extend_from_slice(slice.ok_or_else(|| changed("a block is shorter"))?);
            at = end;
            number += 1;
        }
        Ok(())
    }

    /// Returns the number of the block or span that contains the offset `at` of the
    /// decompressed text.
    fn piece_at(&self, at: u64) -> usize {
        let after = match &self.container {
            Container::Plain => 1,
            Container::Bgzip(blocks) => blocks.partition_point(|block| block.text <= at),
            Container::Gzip(spans) => spans.partition_point(|span| span.text <= at),
        };
        after.saturating_sub(1)
    }

    /// Returns the positions at which decompression can start, if this is a gzip file.
    pub fn spans(&self) -> &[Span] {
        match &self.container {
            Container::Gzip(spans) => spans,
            _ => &[],
        }
    }

    /// Returns the number of the span that contains the offset `at` of the decompressed
    /// text, and the offset at which that span begins.
    pub fn span_at(&self, at: u64) -> (usize, u64) {
        let number = self.piece_at(at);
        (number, self.bounds(number).start)
    }

    /// Returns the range of the decompressed text that a block or span contains.
    pub(crate) fn bounds(&self, number: usize) -> Range<u64> {
        let start = |number: usize| match &self.container {
            Container::Plain => None,
            Container::Bgzip(blocks) => blocks.get(number).map(|block| block.text),
            Container::Gzip(spans) => spans.get(number).map(|span| span.text),
        };
        start(number).unwrap_or(self.size)..start(number + 1).unwrap_or(self.size)
    }

    /// Decompresses the first `size` bytes of a block or span. If `size` is the size of
    /// the whole block or span, the checksum is verified.
    fn decode(&self, number: usize, size: usize, packed: &mut Vec<u8>) -> Result<Vec<u8>, Trouble> {
        let bounds = self.bounds(number);
        let is_whole = as_u64(size) == bounds.end - bounds.start;
        match &self.container {
            Container::Plain => Ok(Vec::new()),
            Container::Bgzip(blocks) => {
                block::unpack(&self.disk, blocks, number, (size, is_whole), packed)
            }
            Container::Gzip(_) => span::unpack(self, number, (size, is_whole), packed),
        }
    }
}

/// Maximal size of the cached text in bytes.
const MAX_CACHED_BYTES: usize = 8 << 20;
/// Maximal number of cached blocks or spans. The number is small because the cache is
/// searched linearly.
const MAX_CACHED_PIECES: usize = 256;

/// A cache of the most recently used blocks or spans.
#[derive(Default)]
struct RecentPieces {
    /// The number, the time of the last use and the text of each cached block or span.
    pieces: Vec<(usize, u64, Vec<u8>)>,
    size: usize,
    clock: u64,
}

impl RecentPieces {
    /// Returns the position of a block or span in the cache, if at least `size` bytes
    /// of its text are cached.
    fn find(&mut self, number: usize, size: usize) -> Option<usize> {
        self.clock += 1;
        let mut pieces = self.pieces.iter_mut().enumerate();
        let (position, piece) = pieces.find(|(_, piece)| piece.0 == number)?;
        piece.1 = self.clock;
        (piece.2.len() >= size).then_some(position)
    }

    fn text(&self, position: usize) -> &[u8] {
        self.pieces.get(position).map_or(&[], |piece| &piece.2)
    }

    /// Removes a block or span from the cache. Returns true if the cache contained the
    /// block or span.
    fn remove(&mut self, number: usize) -> bool {
        let position = self.pieces.iter().position(|piece| piece.0 == number);
        if let Some(position) = position {
            self.size -= self.pieces.swap_remove(position).2.len();
        }
        position.is_some()
    }

    fn put(&mut self, number: usize, text: Vec<u8>) -> &[u8] {
        let is_full = |recent: &Self| {
            recent.size + text.len() > MAX_CACHED_BYTES || recent.pieces.len() >= MAX_CACHED_PIECES
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
        let mut recent = RecentPieces::default();
        recent.put(1, vec![1; MAX_CACHED_BYTES / 2]);
        recent.put(2, vec![2; MAX_CACHED_BYTES / 2]);
        assert!(recent.find(1, 1).is_some());
        recent.put(3, vec![3; 9]);
        assert_eq!(
            [1, 2, 3].map(|number| recent.find(number, 1).is_some()),
            [true, false, true]
        );
    }
}
