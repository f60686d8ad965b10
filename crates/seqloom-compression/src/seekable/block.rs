//! Finds the offset of each bgzip block in the compressed file and in the decompressed
//! text.

use std::ops::Range;

use sirocco::{Format, inflate::Decoder};

use super::compressed::{MAX_TEXT_BYTES, changed_file, read_packed};
use crate::bgzip::{self, BlockDecoder, MAX_BLOCK_BYTES, MIN_HEADER_BYTES, block_size};
use crate::{disk::DiskFile, text::ReadError};
use seqloom_core::number::{as_u64, u32_at};

/// Size of the trailer of a block, which contains a checksum and a length.
const TRAILER_BYTES: usize = 8;

/// The position of a bgzip block, and the checksum of its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BgzipBlock {
    /// The offset of the block in the compressed file.
    pub at: u64,
    /// The offset of the block in the decompressed text.
    pub text: u64,
    /// The checksum of the decompressed block, from its trailer.
    pub sum: u32,
}

/// Returns the positions of all blocks, and the size of the decompressed text. Only
/// empty blocks are decompressed. The last block must be the empty block that marks the
/// end.
pub fn find_blocks(disk: &DiskFile) -> Result<(Vec<BgzipBlock>, u64), ReadError> {
    let mut blocks = Vec::new();
    let (mut at, mut text) = (0, 0);
    let mut was_empty = false;
    while at < disk.size() {
        let size = block_size_at(disk, at)?;
        let mut tail = [0; TRAILER_BYTES];
        disk.read_at(at + size - as_u64(TRAILER_BYTES), &mut tail)?;
        let length = u32_at(&tail, 4);
        if length as usize > MAX_BLOCK_BYTES || text > MAX_TEXT_BYTES {
            return Err(bad_block(at, "the block has more than 64 KiB of text"));
        }
        blocks.push(BgzipBlock {
            at,
            text,
            sum: u32_at(&tail, 0),
        });
        was_empty = length == 0;
        if was_empty {
            check_block_is_empty(disk, at..at + size)?;
        }
        at += size;
        text += u64::from(length);
    }
    if was_empty {
        return Ok((blocks, text));
    }
    Err(ReadError::Damage(bgzip::missing_end_block(at)))
}

/// Returns the size of the compressed block that begins at `at`.
pub(crate) fn block_size_at(disk: &DiskFile, at: u64) -> Result<u64, ReadError> {
    let rest = disk.size() - at;
    let truncated = || ReadError::Damage(bgzip::truncated_block(disk.size()));
    let mut head = vec![0; MIN_HEADER_BYTES.min(usize::try_from(rest).unwrap_or(MIN_HEADER_BYTES))];
    disk.read_at(at, &mut head)?;
    let Some(fixed) = head.first_chunk::<MIN_HEADER_BYTES>() else {
        return Err(truncated());
    };
    if fixed[..4] != [0x1F, 0x8B, 8, 4] {
        return Err(bad_block(at, "no bgzip block begins there"));
    }
    let extra = usize::from(u16::from_le_bytes([fixed[10], fixed[11]]));
    if as_u64(12 + extra) > rest {
        return Err(truncated());
    }
    head.resize(12 + extra, 0);
    disk.read_at(at, &mut head)?;
    let size = block_size(&head).map(as_u64);
    let size = size.ok_or_else(|| bad_block(at, "no bgzip block begins there"))?;
    match size {
        size if size > rest => Err(truncated()),
        size if size < as_u64(12 + extra + TRAILER_BYTES) => Err(bad_block(at, "block too small")),
        size => Ok(size),
    }
}

/// Checks that a block is really empty if the length in its trailer is 0. A block of
/// length 0 is never decompressed later.
fn check_block_is_empty(disk: &DiskFile, block: Range<u64>) -> Result<(), ReadError> {
    let mut packed = Vec::new();
    read_packed(disk, block.clone(), &mut packed)?;
    match BlockDecoder::new().decode(&packed, &mut [0]) {
        Ok(0) => Ok(()),
        _ => Err(bad_block(block.start, "the size in the header is wrong")),
    }
}

/// Decompresses the first `size` bytes of a block, and checks that the block matches
/// the index. If `size` is the whole block, its checksum is verified.
pub(super) fn decompress_block(
    disk: &DiskFile,
    blocks: &[BgzipBlock],
    number: usize,
    (size, is_whole): (usize, bool),
    packed: &mut Vec<u8>,
) -> Result<Vec<u8>, ReadError> {
    let block = blocks.get(number).copied().unwrap_or_default();
    let end = blocks.get(number + 1).map_or(disk.size(), |next| next.at);
    read_packed(disk, block.at..end, packed)?;
    if packed.len() < TRAILER_BYTES || u32_at(packed, packed.len() - TRAILER_BYTES) != block.sum {
        return Err(changed_file("a different block is at that offset"));
    }
    if size > MAX_BLOCK_BYTES {
        return Err(bad_block(
            block.at,
            "the block has more than 64 KiB of text",
        ));
    }
    let mut text = vec![0; size];
    // A decoder needs much memory, so each thread creates only one.
    thread_local! {
        static DECODER: std::cell::RefCell<Box<Decoder>> =
            std::cell::RefCell::new(Box::new(Decoder::new(Format::Gzip)));
    }
    let outcome = DECODER.with_borrow_mut(|decoder| {
        decoder.reset();
        let progress = decoder.decompress(packed, &mut text, true);
        progress.map(|progress| {
            let is_done = progress.done && progress.consumed == packed.len();
            (is_done || !is_whole, progress.output.len())
        })
    });
    match outcome {
        Ok((true, count)) if count == size => Ok(text),
        Ok(_) => Err(bad_block(block.at, "the size in the header is wrong")),
        Err(error) => Err(bad_block(block.at, &error.to_string())),
    }
}

fn bad_block(at: u64, why: &str) -> ReadError {
    ReadError::Damage(bgzip::bad_block(at, why))
}
