//! A pool of vectors for reuse.
//!
//! The operating system clears each fresh page at its first use, so new memory costs
//! several times as much as reused memory. Code that needs a vector takes it from a
//! [`BufferPool`], and code that no longer needs the vector puts it back.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread;

/// The maximum number of vectors in the pool. Without a maximum, the memory of many
/// batches that are dropped at once would never be released.
const MAX_VECTORS: usize = 16;

/// The maximum number of attempts to lock a pool. In a forked child, the lock may belong to
/// a thread of the parent process and is then never released.
const LOCK_ATTEMPTS: usize = 100;

/// Vectors that can be reused. The vectors keep their old content, so the code that takes a
/// vector must clear or overwrite it.
#[derive(Debug)]
pub struct BufferPool<T>(Arc<Mutex<Vec<Vec<T>>>>);

impl<T> Clone for BufferPool<T> {
    /// Returns another handle of the same pool.
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for BufferPool<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> BufferPool<T> {
    /// Takes the vector that was put back last, with its content, or a new vector if
    /// the pool is empty.
    pub fn take(&self) -> Vec<T> {
        let reused = self.lock().and_then(|mut vectors| vectors.pop());
        reused.unwrap_or_default()
    }

    /// Puts a vector back into the pool, or drops the vector if it has no allocated
    /// memory.
    pub fn put(&self, vector: Vec<T>) {
        let has_place = |vectors: &MutexGuard<'_, Vec<Vec<T>>>| vectors.len() < MAX_VECTORS;
        let vectors = self.lock().filter(has_place);
        let vectors = vectors.filter(|_| vector.capacity() > 0);
        if let Some(mut vectors) = vectors {
            vectors.push(vector);
        }
    }

    /// Returns the number of vectors in the pool.
    pub fn len(&self) -> usize {
        self.lock().map_or(0, |vectors| vectors.len())
    }

    /// Returns whether the pool is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Locks the pool; returns `None` if another thread does not release the lock.
    fn lock(&self) -> Option<MutexGuard<'_, Vec<Vec<T>>>> {
        (0..LOCK_ATTEMPTS).find_map(|_| match self.0.try_lock() {
            Ok(vectors) => Some(vectors),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => {
                thread::yield_now();
                None
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_returned_to_the_pool_is_reused() {
        let buffer_pool = BufferPool::default();
        let mut first: Vec<u8> = buffer_pool.take();
        first.extend(b"ACGT");
        let (address, capacity) = (first.as_ptr(), first.capacity());
        buffer_pool.clone().put(first);
        let second = buffer_pool.take();
        assert_eq!((second.as_ptr(), second.capacity()), (address, capacity));
        assert!(buffer_pool.is_empty());
    }

    #[test]
    fn taking_from_a_locked_pool_does_not_block() {
        let buffer_pool: BufferPool<u8> = BufferPool::default();
        buffer_pool.put(vec![1]);
        let guard = buffer_pool.lock();
        let other = buffer_pool.clone();
        let taken = thread::spawn(move || {
            other.put(vec![2]);
            other.take()
        });
        assert_eq!(taken.join().unwrap(), Vec::new());
        drop(guard);
        assert_eq!(buffer_pool.take(), [1]);
    }

    #[test]
    fn a_pool_stores_a_limited_number_of_vectors() {
        let buffer_pool = BufferPool::default();
        for _ in 0..2 * MAX_VECTORS {
            buffer_pool.put(vec![0_u8]);
        }
        assert_eq!(buffer_pool.len(), MAX_VECTORS);
    }
}
