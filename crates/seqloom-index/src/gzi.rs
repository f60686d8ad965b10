//! Reads and writes the `.gzi` files of htslib: the offsets of bgzip blocks.
//!
//! ```text
//! u64        number of entries
//! u64 u64    the offset of a block in the file and in the text; the first block has no entry
//! ```

use seqloom_core::error::Fault;

use seqloom_compression::seekable::BgzipBlock;
use seqloom_core::number::{as_u64, u64_at};

/// Parses a `.gzi` file; returns the offsets in the file and in the text.
pub fn parse_gzi(bytes: &[u8]) -> Result<Vec<(u64, u64)>, Fault> {
    let Some((count, pairs)) = bytes.split_first_chunk() else {
        return Err(Fault::of_file("is not a .gzi file: fewer than 8 bytes"));
    };
    let count = u64::from_le_bytes(*count);
    let size = count.checked_mul(16).and_then(|size| size.checked_add(8));
    if size != Some(as_u64(bytes.len())) {
        return Err(Fault::of_file(format!(
            "should contain {count} entries, but has a different size: {} bytes",
            bytes.len()
        )));
    }
    let pair = |entry: &[u8]| (u64_at(entry, 0), u64_at(entry, 8));
    let entries: Vec<_> = pairs.chunks_exact(16).map(pair).collect();
    let mut last = (0, 0);
    for (position, entry) in entries.iter().enumerate() {
        if entry.0 <= last.0 || entry.1 < last.1 {
            return Err(Fault::of_file(format!(
                "entry {position} is before the previous entry"
            )));
        }
        last = *entry;
    }
    Ok(entries)
}

/// Returns the bytes of a `.gzi` file.
pub(crate) fn write_gzi(blocks: &[BgzipBlock]) -> Vec<u8> {
    let rest = blocks.get(1..).unwrap_or_default();
    let count = as_u64(rest.len()).to_le_bytes().to_vec();
    let pairs = rest
        .iter()
        .flat_map(|block| [block.at.to_le_bytes(), block.text.to_le_bytes()]);
    pairs.fold(count, |mut bytes, value| {
        bytes.extend_from_slice(&value);
        bytes
    })
}

/// Returns whether the entries are the offsets of all blocks of a file except the
/// first, with or without the empty block at the end.
pub(crate) fn match_blocks(entries: &[(u64, u64)], blocks: &[BgzipBlock]) -> bool {
    let rest = blocks.get(1..).unwrap_or_default();
    let is_long_enough = entries.len() == rest.len() || entries.len() + 1 == rest.len();
    let same = |(entry, block): (&(u64, u64), &BgzipBlock)| *entry == (block.at, block.text);
    is_long_enough && entries.iter().zip(rest).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_bytes_are_errors_without_large_allocations() {
        let whole = [2_u64, 100, 500, 200, 900].map(u64::to_le_bytes).concat();
        assert_eq!(parse_gzi(&whole), Ok(vec![(100, 500), (200, 900)]));
        for end in 0..whole.len() {
            assert!(parse_gzi(&whole[..end]).is_err());
        }
        let many = [1_u64 << 60, 100, 500].map(u64::to_le_bytes).concat();
        assert!(parse_gzi(&many).is_err());
        let unsorted = [2_u64, 200, 900, 100, 500].map(u64::to_le_bytes).concat();
        assert!(parse_gzi(&unsorted).is_err());
    }

    #[test]
    fn gzi_entries_match_all_blocks_except_the_first_and_an_empty_last_block() {
        let blocks: Vec<BgzipBlock> = [(0, 0), (100, 500), (200, 900), (300, 900)]
            .map(|(at, text)| BgzipBlock { at, text, sum: 0 })
            .into();
        let entries = [(100, 500), (200, 900), (300, 900), (400, 950)];
        for (count, ok) in [(0, false), (1, false), (2, true), (3, true), (4, false)] {
            assert_eq!(match_blocks(&entries[..count], &blocks), ok, "{count}");
        }
        assert!(!match_blocks(&[(100, 500), (200, 901)], &blocks));
        assert!(!match_blocks(&[(101, 500), (200, 900)], &blocks));
    }
}
