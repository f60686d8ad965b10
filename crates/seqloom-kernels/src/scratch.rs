//! Buffers that a thread keeps between calls, so that a kernel need not ask for memory.

use std::cell::RefCell;

use bytemuck::Zeroable;

/// Buffers that nobody is using. There are several because a thread that waits for its
/// helpers may take up another piece of work meanwhile.
pub(crate) struct Spare<T>(RefCell<Vec<Vec<T>>>);

impl<T: Zeroable + Clone> Spare<T> {
    pub(crate) const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    pub(crate) fn lend<R>(&self, length: usize, work: impl FnOnce(&mut [T]) -> R) -> R {
        let mut buffer = self.0.borrow_mut().pop().unwrap_or_default();
        if buffer.len() < length {
            buffer.resize(length, T::zeroed());
        }
        let answer = work(&mut buffer[..length]);
        self.0.borrow_mut().push(buffer);
        answer
    }
}
