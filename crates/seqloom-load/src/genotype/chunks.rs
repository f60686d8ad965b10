//! Splits work between the threads of a pool. After the first error, no thread starts
//! new work.

use std::path::Path;
use std::sync::LazyLock;

use rayon::prelude::*;
use seqloom_core::{Error, Result, buffer_pool::BufferPool, interrupt::CancelToken};

/// Reusable buffers for the `.bed` rows of one chunk.
static LINE_BUFFERS: LazyLock<BufferPool<u8>> = LazyLock::new(BufferPool::default);

/// A buffer that returns to the buffer pool when it is dropped.
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    /// Takes a buffer of `size` bytes, whose content is unspecified.
    pub(super) fn of_size(size: usize) -> Result<Self> {
        let mut bytes = LINE_BUFFERS.take();
        bytes
            .try_reserve(size.saturating_sub(bytes.len()))
            .map_err(|_| Error::full(format!("no memory for {size} bytes of genotypes")))?;
        bytes.resize(size, 0);
        Ok(Self(bytes))
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        LINE_BUFFERS.put(std::mem::take(&mut self.0));
    }
}

/// A row or position number, and the slice where its data is written.
pub(super) type RowSlot<'a, T> = (usize, &'a mut [T]);

/// Returns row or position numbers with the slices where their data is written, sorted by
/// number.
pub(super) fn numbered_slices<'a, T>(
    numbers: &[usize],
    rows: impl Iterator<Item = &'a mut [T]>,
) -> Vec<RowSlot<'a, T>> {
    let mut rows: Vec<_> = numbers.iter().copied().zip(rows).collect();
    if !numbers.is_sorted() {
        rows.sort_unstable_by_key(|(number, _)| *number);
    }
    rows
}

/// Fills chunks of `size` elements in parallel; `fill` receives the index of each chunk.
/// Outside a thread pool, the calling thread fills all chunks, because rayon would create
/// its global pool. The function checks for cancellation before each chunk.
pub(super) fn fill_chunks<T: Send, S>(
    out: &mut [T],
    size: usize,
    scratch: impl Fn() -> S + Sync + Send,
    fill: impl Fn(&mut S, usize, &mut [T]) -> Result<()> + Sync + Send,
) -> Result<()> {
    let (size, stop) = (size.max(1), CancelToken::current());
    let fill = |scratch: &mut S, number: usize, chunk: &mut [T]| {
        let running = stop.check_cancelled();
        running.map_err(|error| Error::io(Path::new("genotypes"), &error))?;
        fill(scratch, number, chunk)
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelled_work_ends_before_the_next_chunk() {
        let (stop, mut done) = (CancelToken::default(), [0; 100]);
        let handle = stop.clone();
        let ended = stop.run(|| {
            fill_chunks(
                &mut done,
                1,
                || (),
                |(), number, chunk| {
                    chunk.fill(1);
                    if number == 2 {
                        handle.cancel();
                    }
                    Ok(())
                },
            )
        });
        assert!(ended.is_err());
        assert_eq!(done.iter().sum::<i32>(), 3);
    }
}
