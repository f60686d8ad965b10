//! Scratch buffers that a thread reuses between calls, so that kernels do not allocate
//! memory.

use crate::tuned::CACHE_LINE;
use std::cell::RefCell;

use bytemuck::Zeroable;

/// The unused buffers of this thread. A thread may need several buffers, because it can
/// start another task while it waits for other threads.
pub(crate) struct ScratchBuffers<T>(RefCell<Vec<Vec<T>>>);

impl<T: Zeroable + Clone> ScratchBuffers<T> {
    pub(crate) const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    /// Calls `work` with a buffer of `length` elements that starts at a cache line
    /// boundary.
    pub(crate) fn with_buffer<R>(&self, length: usize, work: impl FnOnce(&mut [T]) -> R) -> R {
        let mut buffer = self.0.borrow_mut().pop().unwrap_or_default();
        let size = length + CACHE_LINE / size_of::<T>().max(1);
        if buffer.len() < size {
            buffer.resize(size, T::zeroed());
        }
        let before = buffer.as_ptr().align_offset(CACHE_LINE).min(size - length);
        let answer = work(&mut buffer[before..][..length]);
        self.0.borrow_mut().push(buffer);
        answer
    }
}
