//! Buffers that a thread keeps between calls, so that a kernel need not ask for memory.

use crate::tuned::CACHE_LINE;
use std::cell::RefCell;

use bytemuck::Zeroable;

/// Buffers that nobody is using. There are several because a thread that waits for its
/// helpers may take up another piece of work meanwhile.
pub(crate) struct Spare<T>(RefCell<Vec<Vec<T>>>);

impl<T: Zeroable + Clone> Spare<T> {
    pub(crate) const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    /// Lends so many numbers, the first of them at the start of a cache line.
    pub(crate) fn lend<R>(&self, length: usize, work: impl FnOnce(&mut [T]) -> R) -> R {
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
