//! Bgzip's blocks: where each begins in the file and in the text.

use std::ops::Range;

use sirocco::Format;
use sirocco::inflate::Decoder;

use super::packed::{MOST_TEXT, changed, packed_bytes};
use crate::bgzip::{self, BlockDecoder, LARGEST, SMALLEST_HEADER, block_size};
use crate::disk::Disk;
use crate::text::Trouble;
use seqloom_core::number::{as_u64, u32_at};

/// Checksum and length at a block's end.
const TAIL: usize = 8;

/// Where a bgzip block begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BgzipBlock {
    /// In the file.
    pub at: u64,
    /// In the text.
    pub text: u64,
    /// The text's checksum, as the block gives it.
    pub sum: u32,
}

/// Walks from block to block without unpacking any that has text; gives them and the size of
/// the text. The last block must be the empty one that says that it is.
pub fn blocks(disk: &Disk) -> Result<(Vec<BgzipBlock>, u64), Trouble> {
    let mut found = Vec::new();
    let (mut at, mut text) = (0, 0);
    let mut was_empty = false;
    while at < disk.size() {
        let size = size_at(disk, at)?;
        let mut tail = [0; TAIL];
        disk.read(at + size - as_u64(TAIL), &mut tail)?;
        let length = u32_at(&tail, 4);
        if length as usize > LARGEST || text > MOST_TEXT {
            return Err(damaged(at, "its text is longer than a block's may be"));
        }
        found.push(BgzipBlock {
            at,
            text,
            sum: u32_at(&tail, 0),
        });
        was_empty = length == 0;
        if was_empty {
            check_empty(disk, at..at + size)?;
        }
        at += size;
        text += u64::from(length);
    }
    if was_empty {
        return Ok((found, text));
    }
    Err(Trouble::Damage(bgzip::no_end(at)))
}

/// The size of the block that begins at `at`.
fn size_at(disk: &Disk, at: u64) -> Result<u64, Trouble> {
    let rest = disk.size() - at;
    let cut = || Trouble::Damage(bgzip::cut(disk.size()));
    let mut head = vec![0; SMALLEST_HEADER.min(usize::try_from(rest).unwrap_or(SMALLEST_HEADER))];
    disk.read(at, &mut head)?;
    let Some(fixed) = head.first_chunk::<SMALLEST_HEADER>() else {
        return Err(cut());
    };
    if fixed[..4] != [0x1F, 0x8B, 8, 4] {
        return Err(damaged(at, "no bgzip block begins there"));
    }
    let extra = usize::from(u16::from_le_bytes([fixed[10], fixed[11]]));
    if as_u64(12 + extra) > rest {
        return Err(cut());
    }
    head.resize(12 + extra, 0);
    disk.read(at, &mut head)?;
    let size = block_size(&head).map(as_u64);
    let size = size.ok_or_else(|| damaged(at, "no bgzip block begins there"))?;
    match size {
        size if size > rest => Err(cut()),
        size if size < as_u64(12 + extra + TAIL) => Err(damaged(at, "it is too small")),
        size => Ok(size),
    }
}

/// Checks that a block is empty, as its tail says. Its text is never read otherwise.
fn check_empty(disk: &Disk, block: Range<u64>) -> Result<(), Trouble> {
    let mut packed = Vec::new();
    packed_bytes(disk, block.clone(), &mut packed)?;
    match BlockDecoder::new().decode(&packed, &mut [0]) {
        Ok(0) => Ok(()),
        _ => Err(damaged(block.start, "its size is not what it says")),
    }
}

/// Unpacks the first `size` bytes of a block, which must be the one that was
/// indexed; as a whole it is checked.
pub(super) fn unpack(
    disk: &Disk,
    blocks: &[BgzipBlock],
    number: usize,
    (size, is_whole): (usize, bool),
    packed: &mut Vec<u8>,
) -> Result<Vec<u8>, Trouble> {
    let block = blocks.get(number).copied().unwrap_or_default();
    let end = blocks.get(number + 1).map_or(disk.size(), |next| next.at);
    packed_bytes(disk, block.at..end, packed)?;
    if packed.len() < TAIL || u32_at(packed, packed.len() - TAIL) != block.sum {
        return Err(changed("another block stands there"));
    }
    if size > LARGEST {
        return Err(damaged(
            block.at,
            "its text is longer than a block's may be",
        ));
    }
    let mut text = vec![0; size];
    // A decoder is large: it is made once for each thread.
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
        Ok(_) => Err(damaged(block.at, "its size is not what it says")),
        Err(error) => Err(damaged(block.at, &error.to_string())),
    }
}

fn damaged(at: u64, why: &str) -> Trouble {
    Trouble::Damage(bgzip::damaged(at, why))
}
