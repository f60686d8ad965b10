//! Entries of one size, 64 to a page, each page with a hash: one is read and
//! checked without the others.

use std::io::{self, Write};

use seqloom_core::error::Fault;

use super::trouble::damaged;
use seqloom_compression::image::IndexBytes;
use seqloom_core::number::{as_u64, u64_at};

/// How many entries a page holds.
const COUNT: usize = 64;
const HASH: usize = 8;

/// The bytes that so many entries take, pages' hashes included.
pub(crate) fn size(count: u64, entry: usize) -> Option<u64> {
    let pages = count.div_ceil(as_u64(COUNT));
    let hashes = pages.checked_mul(as_u64(HASH))?;
    count.checked_mul(as_u64(entry))?.checked_add(hashes)
}

/// Writes entries page by page.
pub(crate) struct Pages {
    page: Vec<u8>,
    number: u64,
    entry: usize,
}

impl Pages {
    pub(crate) fn new(entry: usize) -> Self {
        Self {
            page: Vec::with_capacity(entry * COUNT),
            number: 0,
            entry,
        }
    }

    pub(crate) fn put(&mut self, entry: &[u8], out: &mut impl Write) -> io::Result<()> {
        self.page.extend_from_slice(entry);
        if self.page.len() == self.entry * COUNT {
            self.finish(out)?;
        }
        Ok(())
    }

    /// Writes the last page, if it holds anything.
    pub(crate) fn finish(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.page.is_empty() {
            return Ok(());
        }
        let own = seal(&self.page, self.number);
        self.page.extend_from_slice(&own.to_le_bytes());
        out.write_all(&self.page)?;
        self.page.clear();
        self.number += 1;
        Ok(())
    }
}

/// A page's hash: pages that changed positions are found by their number.
fn seal(page: &[u8], number: u64) -> u64 {
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
    /// Reads the page that holds entry `position`; gives its first entry's number.
    pub(crate) fn page(
        &self,
        image: &IndexBytes,
        position: u64,
        out: &mut Vec<u8>,
    ) -> Result<u64, Fault> {
        if position >= self.count {
            return Err(damaged("a number in it"));
        }
        let number_of = position / as_u64(COUNT);
        let first = number_of * as_u64(COUNT);
        let count = self.count.saturating_sub(first).min(as_u64(COUNT));
        let bytes = usize::try_from(count).unwrap_or(COUNT) * self.entry;
        let at = self.at + number_of * as_u64(COUNT * self.entry + HASH);
        out.resize(bytes + HASH, 0);
        let outcome = image.read(at, out);
        let (entries, own) = out.split_at(bytes);
        if outcome.is_err() || u64_at(own, 0) != seal(entries, number_of) {
            return Err(damaged("a page of it"));
        }
        out.truncate(bytes);
        Ok(first)
    }

    /// An entry, if the index is in memory, where every page was checked once.
    pub(crate) fn entry<'a>(&self, image: &'a IndexBytes, position: u64) -> Option<&'a [u8]> {
        if position >= self.count {
            return None;
        }
        let pages = position / as_u64(COUNT) * as_u64(HASH);
        let at = self.at + position * as_u64(self.entry) + pages;
        image.slice(at, self.entry)
    }

    /// Hands every entry over, in order.
    pub(crate) fn each(
        &self,
        image: &IndexBytes,
        mut take: impl FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut page = Vec::new();
        let mut position = 0;
        while position < self.count {
            self.page(image, position, &mut page)?;
            page.chunks_exact(self.entry).try_for_each(&mut take)?;
            position += as_u64(COUNT);
        }
        Ok(())
    }
}
