//! Columns of entries of equal size, stored in pages of 64 entries. Each page has a
//! hash, so that a single page can be read and checked.

use std::io::{self, Write};

use seqloom_core::error::Fault;

use super::errors::damaged_index;
use seqloom_compression::index_bytes::IndexBytes;
use seqloom_core::number::{as_u64, u64_at};

/// The number of entries in a page.
const PAGE_ENTRIES: usize = 64;
/// The size of a hash in bytes.
const HASH_BYTES: usize = 8;

/// Returns the size of entries in bytes, including the hashes of pages.
pub(crate) fn size_with_hashes(count: u64, entry: usize) -> Option<u64> {
    let pages = count.div_ceil(as_u64(PAGE_ENTRIES));
    let hashes = pages.checked_mul(as_u64(HASH_BYTES))?;
    count.checked_mul(as_u64(entry))?.checked_add(hashes)
}

/// Writes entries in pages.
pub(crate) struct PageWriter {
    page: Vec<u8>,
    number: u64,
    entry: usize,
}

impl PageWriter {
    pub(crate) fn new(entry: usize) -> Self {
        Self {
            page: Vec::with_capacity(entry * PAGE_ENTRIES),
            number: 0,
            entry,
        }
    }

    pub(crate) fn write_entry(&mut self, entry: &[u8], out: &mut impl Write) -> io::Result<()> {
        self.page.extend_from_slice(entry);
        if self.page.len() == self.entry * PAGE_ENTRIES {
            self.write_last_page(out)?;
        }
        Ok(())
    }

    /// Writes the last page, unless it is empty.
    pub(crate) fn write_last_page(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.page.is_empty() {
            return Ok(());
        }
        let checksum = hash_page(&self.page, self.number);
        self.page.extend_from_slice(&checksum.to_le_bytes());
        out.write_all(&self.page)?;
        self.page.clear();
        self.number += 1;
        Ok(())
    }
}

/// Returns the hash of a page; the hash includes the page number, to detect exchanged
/// pages.
fn hash_page(page: &[u8], number: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(page, number)
}

/// A column of entries in an index, in pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageColumn {
    pub(crate) at: u64,
    pub(crate) count: u64,
    pub(crate) entry: usize,
}

impl PageColumn {
    /// Reads the page of entry `position`; returns the number of its first entry.
    pub(crate) fn page(
        &self,
        image: &IndexBytes,
        position: u64,
        out: &mut Vec<u8>,
    ) -> Result<u64, Fault> {
        if position >= self.count {
            return Err(damaged_index("a number in it"));
        }
        let number_of = position / as_u64(PAGE_ENTRIES);
        let first = number_of * as_u64(PAGE_ENTRIES);
        let count = self.count.saturating_sub(first).min(as_u64(PAGE_ENTRIES));
        let bytes = usize::try_from(count).unwrap_or(PAGE_ENTRIES) * self.entry;
        let at = self.at + number_of * as_u64(PAGE_ENTRIES * self.entry + HASH_BYTES);
        out.resize(bytes + HASH_BYTES, 0);
        let outcome = image.read_at(at, out);
        let (entries, checksum) = out.split_at(bytes);
        if outcome.is_err() || u64_at(checksum, 0) != hash_page(entries, number_of) {
            return Err(damaged_index("a page of it"));
        }
        out.truncate(bytes);
        Ok(first)
    }

    /// Returns an entry if the index is in memory, where all pages have already been
    /// checked.
    pub(crate) fn entry<'a>(&self, image: &'a IndexBytes, position: u64) -> Option<&'a [u8]> {
        if position >= self.count {
            return None;
        }
        let pages = position / as_u64(PAGE_ENTRIES) * as_u64(HASH_BYTES);
        let at = self.at + position * as_u64(self.entry) + pages;
        image.slice(at, self.entry)
    }

    /// Calls `take` with every entry in order.
    pub(crate) fn for_each_entry(
        &self,
        image: &IndexBytes,
        mut take: impl FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut page = Vec::new();
        let mut position = 0;
        while position < self.count {
            self.page(image, position, &mut page)?;
            page.chunks_exact(self.entry).try_for_each(&mut take)?;
            position += as_u64(PAGE_ENTRIES);
        }
        Ok(())
    }
}
