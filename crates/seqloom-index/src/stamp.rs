//! Whether a file is the one that was indexed.
//!
//! An index keeps a hash for each 256 KiB of the file. A file of the same size
//! and time is believed after four of them were compared; one of another time
//! is compared as a whole, which takes no longer than reading it. What is left
//! out then: a change that keeps size and time, and misses those four. Each
//! record's own checksum finds that when the record is read.

use std::cell::RefCell;
use std::io;
use std::ops::Range;

use rayon::prelude::*;

use super::building::Building;
use super::head::SourceStamp;
use seqloom_compression::checksum::hash;
use seqloom_compression::disk::Disk;
use seqloom_core::number::as_u64;

/// How much of the file a hash is of.
pub(crate) const CHUNK: u64 = 256 << 10;

/// What became of the file since it was indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// Nothing, though its time is another.
    Touched,
    /// The file ends earlier, and is the same up to there.
    Cut,
    /// It is another.
    Other,
}

/// Hashes a file chunk by chunk.
pub(crate) fn chunks(disk: &Disk, building: &Building) -> io::Result<Vec<u64>> {
    let count = disk.size().div_ceil(CHUNK);
    let one = |number: u64| {
        building
            .check_cancelled()
            .and_then(|()| chunk(disk, number))
    };
    if building.threads < 2 || rayon::current_thread_index().is_none() {
        return (0..count).map(one).collect();
    }
    (0..count).into_par_iter().map(one).collect()
}

/// What a file is like, in three numbers.
pub(crate) fn stamp(disk: &Disk, chunks: &[u64]) -> SourceStamp {
    let bytes: Vec<u8> = chunks
        .iter()
        .flat_map(|chunk| chunk.to_le_bytes())
        .collect();
    SourceStamp {
        size: disk.size(),
        changed: disk.changed(),
        content: hash(&bytes),
    }
}

fn chunk(disk: &Disk, number: u64) -> io::Result<u64> {
    // A fresh vector for each chunk would cost more than the hash.
    thread_local! {
        static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let start = number * CHUNK;
    let size = disk.size().saturating_sub(start).min(CHUNK);
    BYTES.with_borrow_mut(|bytes| {
        bytes.resize(usize::try_from(size).unwrap_or(0), 0);
        disk.read(start, bytes).map(|()| hash(bytes))
    })
}

/// Compares a file with what was kept of it.
pub(crate) fn compare(
    disk: &Disk,
    kept: &SourceStamp,
    chunks: &[u64],
    threads: usize,
) -> io::Result<Change> {
    let is_chunked = as_u64(chunks.len()) == kept.size.div_ceil(CHUNK);
    if !is_chunked {
        return Ok(Change::Other);
    }
    if disk.size() < kept.size {
        let whole = disk.size() / CHUNK;
        let is_same = all_same(disk, chunks, 0..whole, threads)?;
        return Ok(if is_same { Change::Cut } else { Change::Other });
    }
    if disk.size() > kept.size {
        return Ok(Change::Other);
    }
    let count = as_u64(chunks.len());
    if disk.changed() == kept.changed && kept.changed != 0 {
        let is_same = some_same(disk, chunks)?;
        return Ok(if is_same { Change::None } else { Change::Other });
    }
    let is_same = all_same(disk, chunks, 0..count, threads)?;
    Ok(if is_same {
        Change::Touched
    } else {
        Change::Other
    })
}

/// Whether the first, the last and two more chunks are the same.
fn some_same(disk: &Disk, chunks: &[u64]) -> io::Result<bool> {
    let count = chunks.len();
    let positions = [0, count / 3, count * 2 / 3, count.saturating_sub(1)];
    for position in positions {
        if let Some(kept) = chunks.get(position)
            && chunk(disk, as_u64(position))? != *kept
        {
            return Ok(false);
        }
    }
    Ok(true)
}

fn all_same(disk: &Disk, chunks: &[u64], range: Range<u64>, threads: usize) -> io::Result<bool> {
    let is_same = |number: u64| -> io::Result<bool> {
        let kept = usize::try_from(number)
            .ok()
            .and_then(|position| chunks.get(position));
        Ok(kept == Some(&chunk(disk, number)?))
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
