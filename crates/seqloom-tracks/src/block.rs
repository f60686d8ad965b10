//! Decodes the blocks with the values of a bigWig file.

use std::fmt;

use seqloom_compression::disk::DiskFile;
use seqloom_core::error::{Fault, FaultKind};
use sirocco::Format;
use sirocco::inflate::Decoder;

use crate::bytes::{ByteOrder, damage, read_bytes};
use crate::index::BlockPlace;
use crate::track::Entries;

const BLOCK_HEADER_BYTES: usize = 24;
/// The maximum size of a block: its header, and 65,535 items of at most 12 bytes.
pub(crate) const MAX_BLOCK_BYTES: usize = BLOCK_HEADER_BYTES + 65_535 * 12;

/// The block that was decoded last, and memory for the next block.
#[derive(Default)]
pub(crate) struct BlockBuffer {
    /// The file and offset of the block; several files share a buffer.
    last: Option<(usize, u64)>,
    pub(crate) entries: Entries,
    pub(crate) contig: u32,
    /// The decompressed block, and unused memory.
    text: Vec<u8>,
    decoder: Option<Decoder>,
}

impl fmt::Debug for BlockBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockBuffer")
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

/// The storage of the blocks of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockFormat {
    pub(crate) order: ByteOrder,
    pub(crate) is_compressed: bool,
}

impl BlockBuffer {
    /// Reads and decodes a block, unless it is the last block. `file_number` distinguishes
    /// files.
    pub(crate) fn load(
        &mut self,
        file: &DiskFile,
        file_number: usize,
        place: &BlockPlace,
        format: BlockFormat,
    ) -> Result<(), Fault> {
        let key = Some((file_number, place.offset));
        if self.last == key {
            return Ok(());
        }
        self.last = None;
        let size = usize::try_from(place.size).unwrap_or(usize::MAX);
        if size > 2 * MAX_BLOCK_BYTES {
            return Err(damage(
                place.offset,
                "a block is larger than the format allows",
            ));
        }
        let bytes = read_bytes(file, place.offset, size)?;
        let size = if format.is_compressed {
            self.decompress(&bytes, place.offset)?
        } else {
            self.text = bytes;
            self.text.len()
        };
        self.decode(size, place.offset, format.order)?;
        self.last = key;
        Ok(())
    }

    /// Decompresses a block into `text`, and returns its size.
    fn decompress(&mut self, bytes: &[u8], offset: u64) -> Result<usize, Fault> {
        let decoder = self
            .decoder
            .get_or_insert_with(|| Decoder::new(Format::Zlib));
        decoder.reset();
        self.text.resize(MAX_BLOCK_BYTES, 0);
        match decoder.decompress(bytes, &mut self.text, true) {
            Ok(progress) if progress.done => Ok(progress.output.len()),
            _ => Err(Fault {
                kind: FaultKind::Compression,
                ..damage(offset, "a compressed block is damaged; copy the file again")
            }),
        }
    }

    /// Reads the header and the items of a block.
    fn decode(&mut self, size: usize, offset: u64, order: ByteOrder) -> Result<(), Fault> {
        let bytes = self.text.get(..size).unwrap_or_default();
        let [kind, _, ..] = *bytes.get(20..).unwrap_or_default() else {
            return Err(damage(offset, "a block is shorter than its header"));
        };
        self.contig = order.u32(bytes, 0);
        let [mut start, step, span] = [4, 12, 16].map(|at| order.u32(bytes, at));
        let count = usize::from(order.u16(bytes, 22));
        let item_bytes = match kind {
            1 => 12,
            2 => 8,
            3 => 4,
            _ => {
                let message = format!("expected a block of type 1, 2 or 3, found {kind}");
                return Err(damage(offset, message));
            }
        };
        let items = bytes.get(BLOCK_HEADER_BYTES..).unwrap_or_default();
        if items.len() < count * item_bytes {
            let message = format!(
                "a block declares {count} values, but has space for {}",
                items.len() / item_bytes
            );
            return Err(damage(offset, message));
        }
        let entries = &mut self.entries;
        entries.clear();
        for item in items.chunks_exact(item_bytes).take(count) {
            match kind {
                1 => entries.push(order.u32(item, 0), order.u32(item, 4), order.f32(item, 8)),
                2 => {
                    let first = order.u32(item, 0);
                    entries.push(first, first.saturating_add(span), order.f32(item, 4));
                }
                _ => {
                    entries.push(start, start.saturating_add(span), order.f32(item, 0));
                    start = start.saturating_add(step);
                }
            }
        }
        Ok(())
    }
}
