//! Work in shares, by as many threads as the pool has; the first error ends it.

use std::sync::LazyLock;

use rayon::prelude::*;
use seqloom_core::shelf::Shelf;
use seqloom_core::{Error, Result};

/// Memory for the lines of one share, used again by the next one.
static LINES: LazyLock<Shelf<u8>> = LazyLock::new(Shelf::default);

/// Bytes from the shelf, which go back to it.
pub(super) struct Bytes(Vec<u8>);

impl Bytes {
    /// So many bytes, of any content.
    pub(super) fn take(size: usize) -> Result<Self> {
        let mut bytes = LINES.take();
        bytes
            .try_reserve(size.saturating_sub(bytes.len()))
            .map_err(|_| Error::full(format!("no memory for {size} bytes of genotypes")))?;
        bytes.resize(size, 0);
        Ok(Self(bytes))
    }

    pub(super) fn all(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        LINES.put(std::mem::take(&mut self.0));
    }
}

/// Cuts `out` into chunks of `size`, each told its number, and fills them side by side.
/// Outside a pool the calling thread does it: rayon would build its global pool.
pub(super) fn chunks<T: Send, S>(
    out: &mut [T],
    size: usize,
    scratch: impl Fn() -> S + Sync + Send,
    fill: impl Fn(&mut S, usize, &mut [T]) -> Result<()> + Sync + Send,
) -> Result<()> {
    let size = size.max(1);
    if out.len() <= size || rayon::current_thread_index().is_none() {
        let mut scratch = scratch();
        let mut chunks = out.chunks_mut(size).enumerate();
        return chunks.try_for_each(|(number, chunk)| fill(&mut scratch, number, chunk));
    }
    out.par_chunks_mut(size)
        .enumerate()
        .try_for_each_init(scratch, |scratch, (number, chunk)| {
            fill(scratch, number, chunk)
        })
}
