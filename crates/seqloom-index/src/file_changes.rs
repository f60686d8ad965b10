//! Detects whether a file has changed since it was indexed.
//!
//! An index contains a hash for each 256 KiB of the file. If size and modification time
//! are unchanged, only four chunks are compared. If the modification time differs, all
//! chunks are compared, which takes as long as reading the file. A change outside the
//! compared chunks is detected later by the checksum of a record.

use std::cell::RefCell;
use std::io;
use std::ops::Range;

use rayon::prelude::*;

use super::build_options::BuildOptions;
use super::header::SourceStamp;
use seqloom_compression::{checksum::hash_64, disk::DiskFile};
use seqloom_core::number::as_u64;

/// The size in bytes of the chunks of a file that are hashed.
pub(crate) const CHUNK_BYTES: u64 = 256 << 10;

/// The kind of change of a file since it was indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The file has not changed.
    None,
    /// Only the modification time of the file changed.
    Touched,
    /// The file was truncated.
    Cut,
    /// The content changed.
    Other,
}

/// Returns the hash of each chunk of a file.
pub(crate) fn hash_chunks(disk: &DiskFile, building: &BuildOptions) -> io::Result<Vec<u64>> {
    let count = disk.size().div_ceil(CHUNK_BYTES);
    let one = |number: u64| {
        building
            .check_cancelled()
            .and_then(|()| hash_chunk(disk, number))
    };
    if building.threads < 2 || rayon::current_thread_index().is_none() {
        return (0..count).map(one).collect();
    }
    (0..count).into_par_iter().map(one).collect()
}

/// Returns the size, time and hash of a file.
pub(crate) fn source_stamp(disk: &DiskFile, chunks: &[u64]) -> SourceStamp {
    let bytes: Vec<u8> = chunks
        .iter()
        .flat_map(|chunk| chunk.to_le_bytes())
        .collect();
    SourceStamp {
        size: disk.size(),
        changed: disk.modification_time(),
        content: hash_64(&bytes),
    }
}

fn hash_chunk(disk: &DiskFile, number: u64) -> io::Result<u64> {
    // The vector is reused, because allocating a vector for each chunk takes longer
    // than computing the hash.
    thread_local! {
        static CHUNK_BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let start = number * CHUNK_BYTES;
    let size = disk.size().saturating_sub(start).min(CHUNK_BYTES);
    CHUNK_BUFFER.with_borrow_mut(|bytes| {
        bytes.resize(usize::try_from(size).unwrap_or(0), 0);
        disk.read_at(start, bytes).map(|()| hash_64(bytes))
    })
}

/// Compares a file with its state when it was indexed.
pub(crate) fn compare_with_stamp(
    disk: &DiskFile,
    before: &SourceStamp,
    chunks: &[u64],
    threads: usize,
) -> io::Result<Change> {
    let is_chunked = as_u64(chunks.len()) == before.size.div_ceil(CHUNK_BYTES);
    if !is_chunked {
        return Ok(Change::Other);
    }
    if disk.size() < before.size {
        let whole = disk.size() / CHUNK_BYTES;
        let is_same = has_same_chunks(disk, chunks, 0..whole, threads)?;
        return Ok(if is_same { Change::Cut } else { Change::Other });
    }
    if disk.size() > before.size {
        return Ok(Change::Other);
    }
    let count = as_u64(chunks.len());
    if disk.modification_time() == before.changed && before.changed != 0 {
        let is_same = has_same_sampled_chunks(disk, chunks)?;
        return Ok(if is_same { Change::None } else { Change::Other });
    }
    let is_same = has_same_chunks(disk, chunks, 0..count, threads)?;
    Ok(if is_same {
        Change::Touched
    } else {
        Change::Other
    })
}

/// Returns whether the first, the last and two other chunks are the same.
fn has_same_sampled_chunks(disk: &DiskFile, chunks: &[u64]) -> io::Result<bool> {
    let count = chunks.len();
    let positions = [0, count / 3, count * 2 / 3, count.saturating_sub(1)];
    for position in positions {
        if let Some(before) = chunks.get(position)
            && hash_chunk(disk, as_u64(position))? != *before
        {
            return Ok(false);
        }
    }
    Ok(true)
}

fn has_same_chunks(
    disk: &DiskFile,
    chunks: &[u64],
    range: Range<u64>,
    threads: usize,
) -> io::Result<bool> {
    let is_same = |number: u64| -> io::Result<bool> {
        let before = usize::try_from(number)
            .ok()
            .and_then(|position| chunks.get(position));
        Ok(before == Some(&hash_chunk(disk, number)?))
    };
    if threads < 2 || rayon::current_thread_index().is_none() {
        return range
            .into_iter()
            .try_fold(true, |all, number| Ok(all && is_same(number)?));
    }
    range
        .into_par_iter()
        .map(is_same)
        .try_reduce(|| true, |a, b| Ok(a && b))
}
