//! The text of ranges of a bgzip file, which an index of records states.

use std::vec;

use seqloom_core::error::Fault;

use crate::bgzip::{BlockDecoder, MAX_BLOCK_BYTES, bad_block};
use crate::disk::DiskFile;
use crate::input::zeroed_vec;
use crate::seekable::{block_size_at, read_packed};
use crate::text::{ReadError, TextSource};

/// Two virtual offsets: of the first byte, and after the last byte. A virtual offset is
/// `block << 16 | offset`: the offset of a block in the file, and an offset in its text.
pub type VirtualRange = (u64, u64);

/// The text of the ranges of a bgzip file, one after the other.
pub struct BgzipRanges {
    disk: DiskFile,
    ranges: vec::IntoIter<VirtualRange>,
    /// The unread part of the current range, from the block that is decompressed next.
    range: VirtualRange,
    decoder: BlockDecoder,
    packed: Vec<u8>,
    text: Vec<u8>,
    /// The offset, the end and the text size of the block in `text`.
    block: Option<(u64, u64, usize)>,
    /// The unread part of `text`.
    start: usize,
    stop: usize,
}

impl BgzipRanges {
    /// Creates a reader of ranges, which should ascend.
    pub fn new(disk: DiskFile, ranges: Vec<VirtualRange>) -> std::io::Result<Self> {
        Ok(Self {
            disk,
            ranges: ranges.into_iter(),
            range: (0, 0),
            decoder: BlockDecoder::new(),
            packed: Vec::new(),
            text: zeroed_vec(MAX_BLOCK_BYTES)?,
            block: None,
            start: 0,
            stop: 0,
        })
    }

    /// Makes the next block of the current range the unread text.
    fn read_block(&mut self) -> Result<(), ReadError> {
        let (from, to) = self.range;
        let (at, skipped) = (from >> 16, text_offset(from));
        let (end, size) = self.load(at)?;
        let last = to >> 16;
        let (stop, next) = if at == last {
            (text_offset(to), to)
        } else {
            (size, end << 16)
        };
        let is_inside = at < last && last < end;
        if skipped > stop || stop > size || is_inside {
            return Err(mismatch(last));
        }
        (self.start, self.stop) = (skipped, stop);
        self.range.0 = next;
        Ok(())
    }

    /// Decompresses the block at an offset. Returns its end and the size of its text.
    fn load(&mut self, at: u64) -> Result<(u64, usize), ReadError> {
        if let Some((start, end, size)) = self.block
            && start == at
        {
            return Ok((end, size));
        }
        self.block = None;
        if at >= self.disk.size() {
            return Err(mismatch(at));
        }
        let end = at + block_size_at(&self.disk, at)?;
        read_packed(&self.disk, at..end, &mut self.packed)?;
        let size = self.decoder.decode(&self.packed, &mut self.text);
        let size = size.map_err(|why| ReadError::Damage(bad_block(at, &why)))?;
        self.block = Some((at, end, size));
        Ok((end, size))
    }
}

impl TextSource for BgzipRanges {
    fn fill_buffer(&mut self) -> Result<&[u8], ReadError> {
        while self.start >= self.stop {
            if self.range.0 < self.range.1 {
                self.read_block()?;
            } else if let Some(range) = self.ranges.next() {
                self.range = range;
            } else if self.disk.is_unchanged() {
                return Ok(&[]);
            } else {
                let message = "changed while it was being read; read it again";
                return Err(std::io::Error::other(message).into());
            }
        }
        Ok(self.text.get(self.start..self.stop).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
    }
}

fn text_offset(position: u64) -> usize {
    usize::try_from(position & 0xFFFF).unwrap_or_default()
}

fn mismatch(at: u64) -> ReadError {
    ReadError::Damage(Fault::of_file(format!(
        "the file does not match its index, which refers to byte {at}: the file has changed, \
         or the index belongs to another file; create the index again"
    )))
}
